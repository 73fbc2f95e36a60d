"""Facts as lines for a model, with those that fit a question first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, timedelta
from operator import itemgetter
from typing import Final, NamedTuple

from recollect.answers import Fact
from recollect.flow.days import written
from recollect.flow.facts.found import VALUED
from recollect.flow.facts.people import ABOUT, MANY, SEVERAL
from recollect.flow.facts.remarks import readings
from recollect.recent import remembered

_ASKED_BY: Final = {
    "name": "called who",
    "place": "live living lives home city country town address move moved stay weather local",
    "hometown": "from born grew raised come native",
    "role": "job work profession occupation career do",
    "company": "job work employer working office",
    "age": "old years",
    "birthday": "born birth celebrate gift",
    "diet": "eat food meal recipe restaurant cook dinner lunch",
    "allergy": "eat food meal recipe restaurant cook dinner lunch allergic",
    "avoids": "eat food meal recipe restaurant cook dinner lunch drink",
    "speaks": "language speak",
    "plays": "play instrument sport game music hobby",
    "teaches": "teach job work teacher subject",
    "learning": "learn study practice",
    "studies": "study student university degree subject",
    "school": "study studied university college degree graduate graduated",
    "drives": "car drive vehicle",
    "household": "live living lives home family alone",
    "habit": "usually routine often morning day week schedule",
    "timezone": "time zone clock meeting hour",
    "email": "mail address contact reach",
    "phone": "number mobile cell call contact reach",
    "username": "user id handle login account name",
    "likes": "like love enjoy hobby interest favorite favourite recommend suggest fun",
    "dislikes": "like hate dislike avoid recommend suggest",
    "favorite": "favorite favourite like best",
    "todo": "remind reminder plan todo due deadline schedule need calendar week tomorrow",
    "uses": "use tool",
    "prefers": "prefer preference",
    "asked": "never always allowed",
    "citizenship": "passport nationality citizen visa travel",
}
"""Words of questions that a key answers, besides the key itself."""
_ALWAYS: Final = frozenset(
    {"name", "allergy", "avoids", "diet", "asked", "answer_length", "answer_style", "language", "units"}
)
"""Keys that matter to every answer."""
KEPT: Final = 4_096
"""For how many facts the lines are remembered, and for how many keys the labels."""
LABELS: Final = {"todo": "to do"}
"""Keys that are written in other words than their own."""
HOLDS_SEVERAL: Final = VALUED | {*SEVERAL.values(), *MANY.values()}
"""Those with several values, and the relatives, friends and pets of whom a user may have several: "sister:nadia"."""


class Told(NamedTuple):
    """A fact as a line, its section, and how well it fits; `out` says why it is left out, if it is."""

    fact: Fact
    section: str
    score: float
    out: str

    @property
    def line(self) -> str:
        """The fact as the model reads it."""
        return line(self.fact)


def tell(
    facts: Iterable[Fact],
    asked: frozenset[str],
    at: datetime,
    words: Callable[[Fact], frozenset[str]],
    asked_for: Callable[[Fact], bool],
    most: Callable[[Fact], int],
) -> Iterator[Told]:
    """The facts, best first: by the words that they share with the question, then by confidence and recency.

    Facts of the kind that the question asks for count as if they shared one more word. If two share as many, a fact
    about the user comes before one about someone else. Facts that are past their day, or come after `most` others of
    their section, are marked as left out.
    """
    scored = [(-_score(fact, len(asked & words(fact)) + asked_for(fact), at), fact.key, fact) for fact in facts]
    taken = Counter[str]()
    for score, _, fact in sorted(scored, key=itemgetter(0, 1)):
        section = "profile" if fact.type == "user_profile" else "facts"
        past = fact.valid_to and fact.valid_to <= at
        out = "past its day" if past else "limit" if taken[section] >= most(fact) else ""
        taken[section] += not out
        yield Told(fact, section, -score, out)


def _score(fact: Fact, shared: int, at: datetime) -> float:
    days = max(0.0, (at - fact.updated_at).total_seconds() / 86_400)
    of_another = _matters(fact.key)[1]
    more = any(_matters(key)[0] for key, _ in readings(fact)) - (shared > 0 and of_another)
    return round(shared + 0.5 * more + 0.5 * fact.confidence + 0.4 / (1 + days / 30), 6)


@remembered(KEPT)
def _matters(key: str) -> tuple[bool, bool]:
    """Whether facts with that key matter to every answer, and whether they are about someone else."""
    first, *rest = key.split(":")
    return first in _ALWAYS, bool(rest) and rest[-1] in ABOUT


def asked_by(fact: Fact) -> str:
    """The words of the questions that a fact answers: its own, and those that its keys stand for."""
    keys = " ".join(key for key, _ in readings(fact))
    hints = " ".join(_ASKED_BY.get(part, "") for key, _ in readings(fact) for part in key.split(":"))
    return f"{keys.replace('_', ' ')} {fact.value} {hints}"


@remembered(KEPT)
def line(fact: Fact) -> str:
    """A fact as a model reads it: "sister Nadia, place: Oslo (said 12 May 2025)"; "noted" if no user said it."""
    how = "said" if fact.origin == "user" else "noted"
    return " ".join(f"{label(fact.key)}: {with_due(fact)} ({how} {written(fact.updated_at)})".split())


def with_due(fact: Fact) -> str:
    """The value of a fact; for a plan, with its day: "call Bob by 16 May 2025"."""
    day = due(fact)
    return f"{fact.value} by {written(day)}" if day else fact.value


def due(fact: Fact) -> date | None:
    """The day by which something is to be done."""
    return (fact.valid_to - timedelta(days=1)).date() if fact.type == "action_item" and fact.valid_to else None


def label(key: str) -> str:
    """A key in words: "favorite color", "sister Nadia, place", "likes"."""
    first, *rest = key.replace("_", " ").split(":")
    if first in VALUED:
        return LABELS.get(first, first)
    if first == "favorite" and rest:
        return f"{first} {rest[0]}"
    if len(rest) == 2:
        return f"{first} {rest[0].title()}, {rest[1]}"
    return f"{first}, {rest[0]}" if rest and rest[0] in ABOUT else first
