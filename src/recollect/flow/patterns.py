"""Patterns: what the counts show about a user, and the hints that a model gets. No claim without enough evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import NormalDist
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recollect.flow.tally import THOUSANDTHS, Recurring, Tally
from recollect.frozen import EMPTY, freeze_dict
from recollect.patterns import Mention, Patterns, Worked

Meanings: TypeAlias = Mapping[str, NDArray[np.float32]]
"""The vectors of questions, by their words as a tally keys them."""

CONVERSATIONS: Final = 3
"""How many conversations a question or a topic must have come up in."""
SHARE: Final = 0.05
"""The share of all conversations that a topic must also have come up in."""
REACTIONS: Final = 5
"""How often the user must have asked for shorter, simpler or longer answers."""
REACTION_SHARE: Final = 0.02
"""The share of all answers after which they must also have asked for it."""
SCORED: Final = 5
"""How many scored answers there must be on each side of a comparison."""
APART: Final = 1.0
"""By how many points the averages must differ; they must also differ by three standard errors."""
ACTIVE_HOURS: Final = 20
"""How many hours with activity are needed before a part of the day is called active."""
ACTIVE_DAYS: Final = 7
"""How many days with activity are needed before a rhythm is named."""
PART_OF_DAY: Final = 4
SHOWN: Final = 5
ALIKE: Final = 0.6
"""Questions that share this part of their telling words (Jaccard) are taken for one question."""
NEAR: Final = 0.72
"""So are questions whose vectors have this cosine, after the mean of all the user's questions is subtracted."""
FEWEST: Final = 20
"""How many questions with a vector it takes for a useful mean."""
COMPARED: Final = 2_000
"""How many of the most frequent questions are compared with each other."""
LEAST_VARIANCE: Final = 0.25
"""Scores come in half points at best, so a smaller variance is luck."""

_Z: Final = NormalDist().inv_cdf(0.975)
_LENGTHS: Final = ("short", "medium", "long")


class Scored(NamedTuple):
    """`n` scored answers, the sum of their scores and of the squares, in thousandths."""

    n: int = 0
    total: int = 0
    squares: int = 0

    @property
    def mean(self) -> float:
        """The average score."""
        return self.total / self.n / THOUSANDTHS

    @property
    def error(self) -> float:
        """The squared standard error of the average."""
        spread = (self.squares - self.total * self.total / self.n) / (self.n - 1) / THOUSANDTHS**2
        return max(spread, LEAST_VARIANCE) / self.n


def surely_over_half(k: int, n: int) -> bool:
    """Whether k of n is significantly more than half: the lower end of Wilson's 95 % interval is above a half."""
    if not n:
        return False
    middle, width = k / n + _Z * _Z / (2 * n), _Z * sqrt(k * (n - k) / n**3 + _Z * _Z / (4 * n * n))
    return (middle - width) / (1 + _Z * _Z / n) > 0.5


def derive(tally: Tally, meanings: Meanings = EMPTY, asking: frozenset[str] = frozenset()) -> Patterns:
    """The patterns that the counts show; `meanings` has vectors, to tell which questions mean the same.

    Words whose stems are in `asking` are no topics, and a question made of nothing else is left out.
    """
    conversations, turns = len(tally.turns), tally.turns.total()
    hours = _by_hour(tally.hours)
    questions = {bag: said for bag, said in tally.questions.items() if not asking.issuperset(bag.split(" "))}
    return Patterns(
        conversations=conversations,
        turns=turns,
        turns_per_conversation=round(turns / conversations, 2) if conversations else 0.0,
        answers=tally.answers,
        answer_tokens=round(tally.answer_tokens / tally.answers, 1) if tally.answers else 0.0,
        questions=_top(clustered(questions, meanings), CONVERSATIONS),
        topics=_top(
            [said for stem, said in tally.topics.items() if stem not in asking],
            max(CONVERSATIONS, SHARE * conversations),
        ),
        hours=hours,
        active=_active(hours),
        rhythm=_rhythm(tally.hours),
        follow_ups=freeze_dict(dict(sorted(tally.follow_ups.items())), "follow_ups"),
        length=_length(tally),
        depth=_depth(tally),
        worked=_compared(tally, sorted(tally.scores.keys() - {"any"})),
    )


def most_asked(questions: Mapping[str, Recurring]) -> list[str]:
    """The questions to compare with each other, most frequent first, by their words."""
    return sorted(questions, key=lambda bag: -len(questions[bag].sessions))[:COMPARED]


def clustered(questions: Mapping[str, Recurring], meanings: Meanings = EMPTY) -> list[Recurring]:
    """The questions with those that are alike taken together, by words or meaning; the more frequent gives the wording.

    The first of a kind leads: who comes later joins the leader it shares most words with or, where it shares too few
    with any, the one nearest in meaning.
    """
    order = most_asked(questions)
    leaders, by_word, near = list[tuple[frozenset[str], Recurring]](), dict[str, list[int]](), _Near(order, meanings)
    for bag in order:
        words, said = frozenset(bag.split(" ")), questions[bag]
        same = sorted({n for word in words for n in by_word.get(word, ())})
        alike = [(len(words & leaders[n][0]) / len(words | leaders[n][0]), -n) for n in same]
        best, place = max(alike, default=(0.0, 0))
        leader = -place if best >= ALIKE else near.leader(bag)
        if leader is not None:
            leaders[leader][1].sessions.update(said.sessions)
            continue
        for word in words:
            by_word.setdefault(word, []).append(len(leaders))
        near.lead(bag, len(leaders))
        leaders.append((words, Recurring(said.text, said.source, set(said.sessions), said.session)))
    return [said for _, said in leaders]


class _Near:
    """Finds the leader that means the same. All vectors of a model lean one way, so their mean is taken off first."""

    def __init__(self, order: Sequence[str], meanings: Meanings) -> None:
        known = [bag for bag in order if bag in meanings]
        self._places = {bag: n for n, bag in enumerate(known)} if len(known) >= FEWEST else {}
        self._numbers = np.full(len(known), -1)
        if self._places:
            rows = np.array([meanings[bag] for bag in known], np.float32)
            rows -= rows.mean(axis=0)
            rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
            self._cosines = rows @ rows.T

    def leader(self, bag: str) -> int | None:
        """The number of the leader that means the same, if one does."""
        if bag not in self._places:
            return None
        cosines = np.where(self._numbers >= 0, self._cosines[self._places[bag]], -1.0)
        best = int(cosines.argmax())
        return int(self._numbers[best]) if cosines[best] >= NEAR else None

    def lead(self, bag: str, number: int) -> None:
        """Let a question lead under a number."""
        if bag in self._places:
            self._numbers[self._places[bag]] = number


def _top(found: Sequence[Recurring], least: float) -> tuple[Mention, ...]:
    often = sorted((said for said in found if len(said.sessions) >= least), key=lambda said: -len(said.sessions))
    return tuple(Mention(said.text, len(said.sessions), said.source, said.session) for said in often[:SHOWN])


def _by_hour(hours: set[int]) -> tuple[int, ...]:
    counts = Counter(hour % 24 for hour in hours)
    return tuple(counts[hour] for hour in range(24))


def _active(hours: Sequence[int]) -> tuple[int, int] | None:
    inside = [sum(hours[(start + step) % 24] for step in range(PART_OF_DAY)) for start in range(24)]
    best = max(range(24), key=lambda start: (inside[start], -start))
    if sum(hours) < ACTIVE_HOURS or not surely_over_half(inside[best], sum(hours)):
        return None
    there = [hour for step in range(PART_OF_DAY) if hours[hour := (best + step) % 24]]
    return there[0], (there[-1] + 1) % 24


def _rhythm(hours: set[int]) -> str:
    days = sorted({hour // 24 for hour in hours})
    if len(days) < ACTIVE_DAYS:
        return ""
    a_day = len(days) / (days[-1] - days[0] + 1)
    return "daily" if a_day >= 0.5 else "weekly" if a_day >= 1 / 8 else "occasional"


def _wished(tally: Tally, kind: str, *against: str) -> bool:
    k = tally.follow_ups[kind]
    n = k + sum(tally.follow_ups[other] for other in against)
    return k >= max(REACTIONS, REACTION_SHARE * tally.answers) and surely_over_half(k, n)


def _depth(tally: Tally) -> str:
    if _wished(tally, "simpler", "more"):
        return "simple"
    return "detailed" if _wished(tally, "more", "simpler", "shorter") else ""


def _length(tally: Tally) -> str:
    wished = "short" if _wished(tally, "shorter", "more") else "long" if _wished(tally, "more", "shorter") else ""
    scored = {found.trait for found in _compared(tally, _LENGTHS)}
    if not wished:
        return scored.pop() if len(scored) == 1 else ""
    return wished if not scored or wished in scored else ""


def _compared(tally: Tally, traits: Sequence[str]) -> tuple[Worked, ...]:
    everything = Scored(*tally.scores.get("any", ()))
    found = []
    for trait in traits:
        these = Scored(*tally.scores.get(trait, ()))
        others = Scored(*(a - b for a, b in zip(everything, these, strict=True)))
        if min(these.n, others.n) < SCORED:
            continue
        ahead = these.mean - others.mean
        if ahead >= APART and ahead >= 3 * sqrt(these.error + others.error):
            found.append(Worked(trait, round(these.mean, 1), these.n, round(others.mean, 1), others.n))
    return tuple(sorted(found, key=lambda worked: (worked.others - worked.score, worked.trait)))


class Hint(NamedTuple):
    """A line for the model, and the messages whose words it repeats, each with its session."""

    text: str
    sources: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()


def hints(patterns: Patterns) -> list[Hint]:
    """What a model should know of these patterns, the most useful first, each with its evidence."""
    found = [Hint(line) for line in (_style(patterns), *map(_success, patterns.worked[:2])) if line]
    for asked in patterns.questions[:3]:
        told = f"Asked in {asked.conversations} conversations: “{_short(asked.text)}”"
        found.append(Hint(told, (asked.source,), (asked.session,)))
    if patterns.topics:
        often = ", ".join(f"{topic.text} ({topic.conversations})" for topic in patterns.topics)
        found.append(
            Hint(
                f"Topics that come up often, with their conversations of {patterns.conversations}: {often}",
                tuple(topic.source for topic in patterns.topics),
                tuple(topic.session for topic in patterns.topics),
            )
        )
    if patterns.active:
        found.append(Hint("The user is mostly active from {:02d}:00 to {:02d}:00.".format(*patterns.active)))
    return found


def _style(patterns: Patterns) -> str:
    asked = [
        f"for {wish} {patterns.follow_ups[kind]} times"
        for kind, wish in (("shorter", "shorter ones"), ("simpler", "simpler ones"), ("more", "more"))
        if patterns.follow_ups.get(kind)
    ]
    style = " and ".join(filter(None, (patterns.length, patterns.depth)))
    if not style:
        return ""
    basis = f"asked {', '.join(asked)}" if asked else "by the scores of past answers"
    return f"The user prefers {style} answers ({basis})."


def _success(worked: Worked) -> str:
    name = worked.trait if worked.trait.startswith(("with", "that")) else f"that are {worked.trait}"
    return (
        f"Answers {name} scored {worked.score:g} on average ({worked.answers}), "
        f"others {worked.others:g} ({worked.other_answers})."
    )


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:79].rstrip() + "…"
