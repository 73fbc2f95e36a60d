"""A conversation manager that summarises before it drops: what leaves the list is told in front of what stays."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any, Final

from strands.types.content import Message as Wire

from recollect.adapters.strands.budget import TokenBudgetConversationManager
from recollect.answers import Candidate
from recollect.errors import ConfigError
from recollect.flow.fence import block
from recollect.flow.summarise import Said, Sentence, fold, render
from recollect.layers.columns import speaker_of
from recollect.layers.summary import telling
from recollect.tokens import count_message
from recollect.types import Message

SUMMARY_TOKENS: Final = 400
TOLD: Final = "told"
SEEN: Final = "seen"


class SummarizingConversationManager(TokenBudgetConversationManager):
    """A token budget that loses nothing at once: a summary of at most `summary_tokens` goes on with each cut.

    The summary is made of the conversation's own sentences, by rules, with no model; it is the first text of the first
    message, within the budget, and changes only when messages leave the list. Other options are as in
    TokenBudgetConversationManager.
    """

    def __init__(self, budget: int | None = None, *, summary_tokens: int = SUMMARY_TOKENS, **options: Any) -> None:
        if summary_tokens < 0:
            raise ConfigError(f"summary_tokens is {summary_tokens}; it can't be negative")
        options["reserve"] = options.get("reserve", 0) + summary_tokens
        super().__init__(budget, **options)
        self.summary_tokens = summary_tokens
        self._told: list[Sentence] = []
        self._seen = 0

    @property
    def summary(self) -> str:
        """What the messages that left the list said, as the model reads it; empty before the first cut."""
        return _around(render(self._told))

    def get_state(self) -> dict[str, Any]:
        """What a session keeps, the summary included."""
        return {**super().get_state(), TOLD: [list(astuple(sentence)) for sentence in self._told], SEEN: self._seen}

    def restore_from_session(self, state: dict[str, Any]) -> list[Wire] | None:
        """The messages to put in front; the summary comes with the next request."""
        kept = super().restore_from_session(state)
        self._told = [Sentence(*told) for told in state.get(TOLD) or ()]
        self._seen = int(state.get(SEEN) or 0)
        return kept

    def _opened(self, left: list[Wire], gone: list[Message]) -> list[Wire]:
        before = self.summary
        if gone:
            self._told = self._fold(gone, self.counter(before) if before else 0)
        bare = [self._without(wire, before) for wire in left] if self.summary != before else left
        return self._led(bare)

    def _fold(self, gone: list[Message], taken: int) -> list[Sentence]:
        """The summary that goes on with what is gone; it grows by less than that took, so the whole gets smaller."""
        freed = sum(count_message(message, self.counter) for message in gone)
        most = min(self.summary_tokens, taken + freed // 2)
        said = [
            Said(str(n), n, message.role, speaker_of(message), message.text)
            for n, message in enumerate(gone, self._seen + 1)
        ]
        self._seen += len(gone)
        return fold(self._told, said, most, lambda text: self.counter(_around(text)), telling)

    def _led(self, left: list[Wire]) -> list[Wire]:
        if not left or not self.summary or _leads(left[0], self.summary):
            return left
        first = left[0].copy()
        first["content"] = [{"text": self.summary}, *first["content"]]
        return [first, *left[1:]]

    def _without(self, wire: Wire, summary: str) -> Wire:
        if not summary or not _leads(wire, summary):
            return wire
        bare = wire.copy()
        bare["content"] = wire["content"][1:]
        return bare

    def _read(self, wire: Wire, number: int) -> Message:
        return super()._read(self._without(wire, self.summary), number)


def _leads(wire: Wire, summary: str) -> bool:
    content = wire["content"]
    return bool(content) and content[0].get("text") == summary


def _around(text: str) -> str:
    return block({"summary": [Candidate("summary", text)]}) if text else ""
