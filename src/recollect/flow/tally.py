"""Counts what happened, in numbers that can be added: any split of a log into parts gives the same total."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from recollect.flow.sentences import QUESTION_MARKS
from recollect.types import Message

Words: TypeAlias = Callable[[str], Sequence[tuple[str, str]]]
"""A function that returns the telling words of a text, each as its stem and as written."""

SHORT, LONG = 100, 400
"""An answer with fewer tokens is short, one with more is long."""
PASTED: Final = 200
"""A message of more words is taken for pasted text: its words are not the user's topics or questions."""
FOLLOW_UP_WORDS: Final = 14
QUESTION_WORDS: Final = 40
MAX_LOOKED_AT: Final = 4_000
"""How many characters of a message are looked at for words."""
THOUSANDTHS: Final = 1_000
"""Scores are added as whole thousandths, because a sum of floats depends on their order."""

_FENCED: Final = re.compile(r"```.*?(?:```|\Z)|^[ \t]*>[^\n]*$", re.DOTALL | re.MULTILINE)
_SENTENCE_END: Final = re.compile("(?<=[.!?\u3002\uff01\uff1f\u061f])\\s+|(?<=[\u3002\uff01\uff1f])|\n")
_ASKS: Final = re.compile(r"(how|what|why|when|where|which|who|can|could|do|does|is|are|should)\b", re.IGNORECASE)
_NOT: Final = re.compile(r"\b(don'?t|do not|no need|not|never|without)\b")
_FOLLOW_UPS: Final = {
    kind: re.compile(rf"\b(?:{'|'.join(phrases.strip().splitlines())})\b")
    for kind, phrases in {
        "shorter": r"""
(?:make|keep) (?:it|that|this) (?:\w+ ){0,2}(?:shorter|short|brief)
shorter,? please
^(?:a (?:bit|little) )?shorter$
shorter (?:version|answer|reply|response)
tl;?dr
(?:that|it|this|answer)(?:'s| is| was)(?: \w+)? too (?:long|wordy)
(?:be |more )(?:brief|concise)
too (?:wordy|verbose)
less detail
(?:get|straight) to the point
in (?:a|one|1) (?:sentence|line|paragraph)
in a few words
summari[sz]e (?:that|it|this)
""",
        "simpler": r"""
(?:explain|say|put) (?:it|that|this)(?: \w+)? simpl[ey]r?
simpler,? please
^(?:a (?:bit|little) )?simpler$
in (?:plain|simple|simpler|layman'?s) (?:english|words|terms|language)
eli5
like i'?m (?:five|5)
too (?:technical|complicated)
dumb (?:it|that) down
you(?:'ve)? lost me
(?:don'?t|do not|didn'?t) (?:get it|follow)
i (?:don'?t|do not|didn'?t|still don'?t) understand
""",
        "more": r"""
(?:tell|give) me (?:a (?:bit|little) )?more(?! \w+s\b)
explain (?:\w+ ){0,2}(?:more|further)
(?:more|greater) detail
more (?:details|detailed|depth|in[ -]depth)
elaborate
expand on (?:that|this|it)
(?:go|dig)(?: \w+)? deeper
in[ -]depth
in detail
make (?:it|that|this) longer
longer (?:version|answer|reply|response)
longer,? please
what do you mean
""",
        "example": r"""
(?:give|show|have|need|see|with)(?: \w+)? (?:an?|another|some) (?:\w+ )?examples?
^(?:an )?example$
for example$
""",
    }.items()
}
_THANKS: Final = re.compile(
    r"(?:(?:ok|okay|great|perfect|awesome|nice|cool|ah|oh|wow|yes)\W+)*(?:many thanks|thanks|thank you|thx|cheers)\b"
    r"|(?:perfect|awesome|great|brilliant|excellent|exactly)\W*$|that'?s (?:perfect|great|exactly|very helpful|helpful)"
)
_WRONG: Final = re.compile(
    r"\b(?:(?:that|this|it|you)(?:'?s| is|'?re| are)(?: just)? (?:wrong|incorrect|not (?:right|correct|true|what i))"
    r"|(?:that|it|this) (?:does not|doesn'?t|did not|didn'?t) work|still (?:broken|not working|fails|failing|wrong))\b"
)
_ITEM: Final = r"^[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]"
_TRAITS: Final = {
    "with a list": re.compile(rf"{_ITEM}[^\n]*\n+{_ITEM}", re.MULTILINE),
    "with code": re.compile("```"),
    "with an example": re.compile(r"\b(?:for example|for instance|e\.g\.)", re.IGNORECASE),
    "with a table": re.compile(r"^(?=[^\n]*\|)(?=[^\n]*---)[ \t:|-]+$", re.MULTILINE),
}


@dataclass(slots=True)
class Recurring:
    """A question or topic: its first wording, the message and session of that, and all sessions in which it came up.

    `session` is empty in counts stored before sessions were noted.
    """

    text: str
    source: str
    sessions: set[str]
    session: str = ""


@dataclass(slots=True)
class Tally:
    """The counts. `scores` has, by trait of the answer, how many were scored, their sum, and the sum of squares.

    `hours` has every hour in which the user said something, numbered from year 1, in the time zone of the message.
    """

    turns: Counter[str] = field(default_factory=Counter)
    hours: set[int] = field(default_factory=set)
    questions: dict[str, Recurring] = field(default_factory=dict)
    topics: dict[str, Recurring] = field(default_factory=dict)
    follow_ups: Counter[str] = field(default_factory=Counter)
    answers: int = 0
    answer_tokens: int = 0
    scores: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    def said(self, session: str, message: Message, before: Message | None, words: Words) -> None:
        """Count what the user said; `before` is the previous message of the session."""
        self.turns[session] += 1
        if message.at is not None:
            self.hours.add(message.at.toordinal() * 24 + message.at.hour)
        kind = follow_up(message.text) if before is not None and before.role == "assistant" else ""
        if kind:
            self.follow_ups[kind] += 1
            if kind != "thanks" or not _goes_on(message.text):
                return
        own = _FENCED.sub(" ", message.text[:MAX_LOOKED_AT])
        if len(own.split()) > PASTED:
            return
        for stem, word in words(own):
            _note(self.topics, stem, word, message, session)
        for question in asked(own):
            if bag := " ".join(sorted({stem for stem, _ in words(question)})):
                _note(self.questions, bag, question, message, session)

    def answered(self, message: Message, tokens: int) -> None:
        """Count an answer and its score."""
        self.answers += 1
        self.answer_tokens += tokens
        given = message.metadata.get("score")
        if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given <= 10:
            return
        points = round(given * THOUSANDTHS)
        for trait in traits(message.text, tokens):
            self._add_score(trait, (1, points, points * points))

    def add(self, other: Tally) -> None:
        """Add the counts of what happened later."""
        self.turns.update(other.turns)
        self.hours |= other.hours
        for mine, theirs in ((self.questions, other.questions), (self.topics, other.topics)):
            for key, said in theirs.items():
                known = mine.setdefault(key, Recurring(said.text, said.source, set(), said.session))
                known.sessions |= said.sessions
        self.follow_ups.update(other.follow_ups)
        self.answers += other.answers
        self.answer_tokens += other.answer_tokens
        for trait, counted in other.scores.items():
            self._add_score(trait, counted)

    def _add_score(self, trait: str, counted: Iterable[int]) -> None:
        known = self.scores.get(trait, (0, 0, 0))
        n, total, squares = (a + b for a, b in zip(known, counted, strict=True))
        self.scores[trait] = (n, total, squares)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data that `from_dict` turns back into an equal tally; each session's name is written once."""
        names = {name: n for n, name in enumerate(self.turns)}
        return {
            "turns": [[name, turns] for name, turns in self.turns.items()],
            "hours": sorted(self.hours),
            **{
                kind: [
                    [k, s.text, s.source, sorted(names[n] for n in s.sessions), *(names[n] for n in (s.session,) if n)]
                    for k, s in table.items()
                ]
                for kind, table in (("questions", self.questions), ("topics", self.topics))
            },
            "follow_ups": dict(self.follow_ups),
            "answers": [self.answers, self.answer_tokens],
            "scores": {trait: list(counted) for trait, counted in self.scores.items()},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tally:
        """The tally that `to_dict` turned into data."""
        names = [name for name, _ in data["turns"]]
        questions, topics = (
            {
                key: Recurring(text, source, {names[n] for n in places}, *(names[n] for n in first))
                for key, text, source, places, *first in data[kind]
            }
            for kind in ("questions", "topics")
        )
        scores = {trait: (n, total, squares) for trait, (n, total, squares) in data["scores"].items()}
        turns, follow_ups = Counter(dict(data["turns"])), Counter(data["follow_ups"])
        answers, tokens = data["answers"]
        return cls(turns, set(data["hours"]), questions, topics, follow_ups, answers, tokens, scores)


def _note(table: dict[str, Recurring], key: str, text: str, message: Message, session: str) -> None:
    if key in table:
        table[key].sessions.add(session)
    else:
        table[key] = Recurring(text, message.id, {session}, session)


def asked(text: str) -> list[str]:
    """The questions in a text: sentences that end in a question mark, else the whole text if it starts like one."""
    sentences = [" ".join(sentence.split()) for sentence in _SENTENCE_END.split(text)]
    found = [sentence for sentence in sentences if sentence.endswith(QUESTION_MARKS)]
    if not found and _ASKS.match(text.strip()):
        found = [" ".join(text.split())]
    return [question for question in found if len(question.split()) <= QUESTION_WORDS]


def follow_up(text: str) -> str:
    """The kind of a reaction to an answer: shorter, simpler, more, example, thanks, wrong; "" if it is none of them."""
    said = " ".join(text[:MAX_LOOKED_AT].replace("\u2019", "'").lower().split()).rstrip(" .!?")
    if _THANKS.match(said):
        return "thanks"
    if len(said.split()) > FOLLOW_UP_WORDS:
        return ""
    if _WRONG.search(said):
        return "wrong"
    for kind, pattern in _FOLLOW_UPS.items():
        if (match := pattern.search(said)) and not _NOT.search(said[: match.start()]):
            return kind
    return ""


def _goes_on(thanks: str) -> bool:
    """Whether a message that begins with thanks goes on with something else."""
    return len(thanks.split()) > FOLLOW_UP_WORDS or any(mark in thanks for mark in QUESTION_MARKS)


def traits(text: str, tokens: int) -> list[str]:
    """What kind of answer a text is: its length, and whether it has lists, code, examples."""
    length = "short" if tokens < SHORT else "long" if tokens > LONG else "medium"
    asks = ["that ask back"] if text.rstrip().endswith(QUESTION_MARKS) else []
    return ["any", length, *asks, *(name for name, pattern in _TRAITS.items() if pattern.search(text))]
