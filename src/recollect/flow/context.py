"""Context: a prompt that keeps its budget, with a receipt for every choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from recollect.flow.receipt import ContextReceipt, Line
from recollect.flow.render import Rendered, render, sendable
from recollect.frozen import EMPTY
from recollect.types import Message, spelt_out


@dataclass(frozen=True, slots=True)
class Diff:
    """What one context has that another had not, what it lost, and how much of it the other begins with too."""

    added: tuple[Line, ...]
    removed: tuple[Line, ...]
    same_start: float

    def __str__(self) -> str:
        lines = [f"+ {line.section}: {' '.join(line.text.split())[:80]}" for line in self.added]
        lines += [f"- {line.section}: {' '.join(line.text.split())[:80]}" for line in self.removed]
        return "\n".join([*lines, f"{self.same_start:.0%} of the prompt is as before, from its start on"])


@dataclass(frozen=True, slots=True)
class Context:
    """A prompt within its budget. `messages` is OpenAI-shaped; `to` gives any other shape; `receipt` says why.

    `prompt` is `conversation` with `memory` put in: in front of the question, `conversation[asked]`, or in front of
    the whole. `left_out` counts older messages that are not shown; `shortened` has, by id, the original tokens of
    messages that are shown in part. `settings` is a hash of the settings in force. `str(context)` gives the words of
    the prompt and the tool calls in it.
    """

    prompt: tuple[Message, ...]
    conversation: tuple[Message, ...]
    asked: int | None
    memory: str
    tokens: int
    budget: int
    offered: tuple[Line, ...]
    settings: str
    count: Callable[[Message], int] = field(repr=False, compare=False)
    left_out: int = 0
    shortened: Mapping[str, int] = EMPTY

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the messages' tokens in place of the counter: that may be a function which can't be pickled."""
        known = {message: self.count(message) for message in (*self.prompt, *self.conversation)}
        values = {one.name: getattr(self, one.name) for one in fields(self)} | {"count": known.__getitem__}
        return type(self), tuple(values.values())

    def __repr__(self) -> str:
        shown, left = len(self.prompt), f", {self.left_out:,} older left out" if self.left_out else ""
        number = "1 message" if shown == 1 else f"{shown:,} messages"
        return f"<Context: {number}{left}; {self.tokens:,} of {self.budget:,} tokens>"

    def __str__(self) -> str:
        return "\n\n".join(f"{message.role}: {spelt_out(message)}" for message in self.prompt)

    @property
    def messages(self) -> Rendered:
        """The prompt as OpenAI's chat API takes it: plain dicts that you may change."""
        return self.to("openai")

    def to(self, shape: str) -> Rendered:
        """The prompt in a provider's shape: openai, openai-responses, anthropic, bedrock or gemini.

        Half surrogate pairs become question marks, because clients fail at them.
        """
        return sendable(render(self.prompt, shape))

    @property
    def receipt(self) -> ContextReceipt:
        """A line for each message and each thing that memory offered: its tokens, whether it is in, and why."""
        lines = [*self._conversation(), *self.offered]
        return ContextReceipt(tuple(lines), self.tokens, self.tokens - sum(line.shown for line in lines), self.budget)

    def diff(self, other: Context) -> Diff:
        """What changed since another context, usually that of the previous turn."""
        mine, theirs = self._kept(), other._kept()
        added = tuple(line for key, line in mine.items() if key not in theirs)
        removed = tuple(line for key, line in theirs.items() if key not in mine)
        return Diff(added, removed, self.same_start(other.prompt))

    def same_start(self, before: Sequence[Message]) -> float:
        """The share of the tokens that a provider's prompt cache holds if `before` was the previous prompt."""
        same = 0
        for mine, theirs in zip(self.prompt, before, strict=False):
            if mine is not theirs and mine != theirs:
                break
            same += 1
        new = sum(map(self.count, self.prompt[same:]))
        return max(0.0, 1 - new / self.tokens)

    def to_dict(self) -> dict[str, Any]:
        """Stable JSON: the prompt, its receipt, and the hash of the settings it was made with."""
        return {"messages": list(self.messages), "receipt": self.receipt.to_dict(), "settings": self.settings}

    def _kept(self) -> dict[tuple[str, str], Line]:
        return {(line.section, line.text): line for line in self.receipt.lines if line.kept}

    def _conversation(self) -> Iterator[Line]:
        if self.left_out:
            yield Line("working", f"{self.left_out:,} older messages", 0, 0, "oldest turns")
        for n, message in enumerate(self.conversation):
            shown = self.count(message)
            tokens = self.shortened.get(message.id, shown)
            section, rule = (
                ("system", "system message") if message.role == "system"
                else ("question", "question") if n == self.asked
                else ("working", "shortened" if message.id in self.shortened else "newest turns")
            )  # fmt: skip
            yield Line(section, spelt_out(message), tokens, shown, rule, sources=(message.id,) if message.id else ())
