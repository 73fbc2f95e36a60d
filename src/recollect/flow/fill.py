"""Fill the sections of memory with what the layers offer, by priority, within a number of tokens.

Each section has a cap; what it leaves unused goes to the next one whose cap is not 0. `memory_tokens` caps all
sections together, except documents. The profile and facts that suit the question best come first, up to their share of
the prompt. The rest of them gets what is left at the end; if the question asks for everything that is known, it comes
before recalled turns. What the conversation shows is not quoted again, and nothing is quoted twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeAlias

from recollect.answers import Candidate
from recollect.flow.fence import block, heading, quoted
from recollect.flow.receipt import Line
from recollect.flow.summarise import unquoted
from recollect.settings import Settings

Offer: TypeAlias = Sequence[Candidate] | Callable[[int, frozenset[str]], Sequence[Candidate]]
"""What a layer offers, best first: candidates, or a function that returns them, given a number of tokens and the ids of
the messages that the conversation shows."""
TopK: TypeAlias = Mapping[str, int | None]
"""How many candidates each section may have; None for any number."""

PRIORITY: Final = ("profile", "facts", "hints", "summary", "documents", "tools", "episodic")
FIRM: Final = ("profile", "facts")
"""Sections whose best candidates come first and never give way."""
PASSES: Final = ((PRIORITY, False), (FIRM, True))
"""The sections in the order they are filled: after all of them, the profile and the facts once more, with the rest."""
ALL_FACTS_PASSES: Final = ((PRIORITY[:-1], False), (FIRM, True), (PRIORITY[-1:], False))
"""The same where the question asks for everything that is known: the rest of the facts comes before recalled turns."""
LEAST_FIRM: Final = 2
"""At least this many of the profile and the facts come first, however small their share is."""
LONGEST_FIRM: Final = 100
"""The most tokens that one of these may have: a longer one, set by hand, could take up a small prompt by itself."""
REPEATING: Final = (*FIRM, "episodic")
"""Sections that repeat messages: a candidate is left out if the conversation shows one of its messages."""
IN_CONVERSATION: Final = "in the conversation"
RECALLED: Final = "less what is recalled"
OUTSIDE_MEMORY: Final = "documents"
"""The section that `memory_tokens` does not cover."""
HANDS_ON_LEAST: Final = "tools"
"""The section that does not hand on its own unused tokens: fewer excerpts make the prompt shorter, not fuller."""


@dataclass(slots=True)
class Filled:
    """What was taken for each section, a receipt line for every candidate, and the tokens of it all.

    `no_room` says that a candidate had no room; `fewer`, that a layer would have offered more if it had more room.
    """

    taken: dict[str, list[Candidate]] = field(default_factory=dict)
    spent: Counter[str] = field(default_factory=Counter)
    lines: list[Line] = field(default_factory=list)
    used: int = 0
    no_room: bool = False
    fewer: bool = False

    @property
    def texts(self) -> set[str]:
        """The text of everything that was taken."""
        return {candidate.text for taken in self.taken.values() for candidate in taken}

    def take(self, section: str, candidate: Candidate, cost: int) -> None:
        """Add a candidate to its section."""
        self.taken[section] = [*self.taken.get(section, ()), candidate]
        self.spent[section] += cost
        self.used += cost

    def drop_last(self, section: str) -> None:
        """Remove the last candidate of a section again."""
        gone = self.taken[section].pop()
        place = max(n for n, line in enumerate(self.lines) if line.shown and line.text == gone.text)
        self.lines[place] = replace(self.lines[place], shown=0, rule="no room")


class _Limits(NamedTuple):
    """What a section may have: `share` tokens of its own, `room` tokens with all other sections, `top_k` candidates.

    `rest` is for the second pass over the profile and the facts, which takes those that did not come first.
    """

    share: int
    room: int
    top_k: int | None
    rest: bool

    def broken(self, number: int, tokens: int) -> str:
        """The rule that forbids one more candidate after `number` others, for `tokens` in all; empty if none does."""
        if self.top_k is not None and number >= self.top_k:
            return f"no more than {self.top_k}"
        return "over its share" if tokens > self.share else ""


@dataclass(frozen=True, slots=True)
class Fill:
    """What the layers offer for one question, and its limits. `count` is called for the same texts many times.

    `firm` is how many tokens the profile and facts that come first may take; `session` is the conversation's session.
    `all_facts` says that the question asks for everything that is known.
    """

    offers: Mapping[str, Offer]
    settings: Settings
    count: Callable[[str], int]
    firm: int
    session: str
    all_facts: bool

    def top_k(self) -> dict[str, int | None]:
        """How many candidates each section may have, by the settings."""
        names = ("episodic", "documents", "tools", "facts")
        return {name: getattr(self.settings, f"{name}_top_k") for name in names}

    def into(self, room: int, top_k: TopK, shown: frozenset[str]) -> Filled:
        """The sections filled within `room` tokens; `shown` has the ids of the messages that the conversation shows."""
        filled, first = Filled(), self._first(shown)
        fences = self.count(block({})) + 2
        memory = room if self.settings.memory_tokens is None else self.settings.memory_tokens - fences
        for names, rest in ALL_FACTS_PASSES if self.all_facts else PASSES:
            unused = 0
            for name in names:
                cap, before = getattr(self.settings, f"{name}_tokens"), filled.spent[name]
                share = 0 if cap == 0 else room if cap is None else cap + unused - before
                own = share if name == OUTSIDE_MEMORY else min(share, memory)
                self._section(name, filled, _Limits(own, room - fences, top_k.get(name), rest), shown, first)
                spent = filled.spent[name] - before
                left = 0 if cap is None else max(0, share - spent)
                if cap != 0:
                    unused = min(unused, left) if name == HANDS_ON_LEAST else left
                memory -= 0 if name == OUTSIDE_MEMORY else spent
        filled.lines.sort(key=lambda line: PRIORITY.index(line.section))
        filled.used += fences if filled.taken else 0
        return filled

    def deduplicated(self, filled: Filled) -> Filled:
        """The same without those lines of the summary that are also recalled in the same words."""
        recalled, summaries = filled.taken.get("episodic"), filled.taken.get("summary")
        if not recalled or not summaries:
            return filled
        kept, lines = list[Candidate](), list(filled.lines)
        for summary in summaries:
            left = unquoted(summary, recalled, self.session)
            if left.text != summary.text:
                place = next(n for n, line in enumerate(lines) if line.shown and line.text == summary.text)
                shown = self._cost(left) if left.text else 0
                rule, tokens = RECALLED, lines[place].tokens
                lines[place] = Line.of(left if left.text else summary, tokens, shown, rule)
            kept += [left] if left.text else []
        return replace(filled, taken={**filled.taken, "summary": kept}, lines=lines)

    def _first(self, shown: frozenset[str]) -> frozenset[Candidate]:
        """The profile and facts that come first: those that suit the question best, as many as fit in their share."""
        first, left = list[Candidate](), self.firm
        names = [name for name in FIRM if getattr(self.settings, f"{name}_tokens") != 0]
        offered = [one for name in names for one in self._offered(name, self.firm, shown) if not one.out]
        for candidate in sorted(offered, key=lambda one: -one.score):
            opens = all(other.section != candidate.section for other in first)
            cost = self._cost(candidate) + opens * self._title(candidate.section)
            granted = len(first) < LEAST_FIRM and cost <= LONGEST_FIRM
            if (cost <= left or granted) and not self._repeats(candidate, shown):
                first.append(candidate)
                left -= cost
        return frozenset(first)

    def _section(
        self, name: str, filled: Filled, limits: _Limits, shown: frozenset[str], first: frozenset[Candidate]
    ) -> None:
        """Fill one section; profile and facts first with those that come first, and in a later pass with the rest."""
        if not self.offers.get(name):
            return
        title, texts, start = self._title(name), filled.texts, filled.spent[name]
        room = limits.room - filled.used
        offered = self._offered(name, max(0, min(limits.share, room) - title), shown)
        if room < limits.share and callable(self.offers.get(name)):
            filled.fewer |= _texts(offered) != _texts(self._offered(name, max(0, limits.share - title), shown))
        for candidate in offered:
            if name in FIRM and (candidate in first) == limits.rest:
                continue
            tokens, number = self._cost(candidate), len(filled.taken.get(name, ()))
            cost = tokens if number else tokens + title
            rule = self._left_out(name, candidate, shown, texts)
            rule = rule or limits.broken(number, filled.spent[name] - start + cost)
            if not rule and filled.used + cost > limits.room:
                filled.no_room |= not limits.rest
                rule = "" if name in FIRM and not limits.rest else "no room"
            filled.lines.append(Line.of(candidate, tokens, 0 if rule else tokens, rule or "fits"))
            if not rule:
                filled.take(name, candidate, cost)
                texts.add(candidate.text)

    def _left_out(self, name: str, candidate: Candidate, shown: frozenset[str], texts: set[str]) -> str:
        """The rule by which a candidate is left out, whatever room there is; empty if it may be quoted."""
        if candidate.out:
            return candidate.out
        if name in REPEATING and self._repeats(candidate, shown):
            return IN_CONVERSATION
        return "said already" if candidate.text in texts else ""

    def _repeats(self, candidate: Candidate, shown: frozenset[str]) -> bool:
        """Whether a candidate repeats a message that the conversation shows, and not one with its id elsewhere."""
        return not shown.isdisjoint(candidate.sources) and any(
            session == self.session and id in shown for session, id in candidate.cites(self.session)
        )

    def _offered(self, name: str, tokens: int, shown: frozenset[str]) -> Sequence[Candidate]:
        offer = self.offers.get(name, ())
        return offer(tokens, shown) if callable(offer) else offer

    def _title(self, name: str) -> int:
        return self.count(f"{heading(name)}\n")

    def _cost(self, candidate: Candidate) -> int:
        return self.count(f"{quoted(candidate)}\n")


def _texts(offered: Sequence[Candidate]) -> list[str]:
    return [candidate.text for candidate in offered if not candidate.out]
