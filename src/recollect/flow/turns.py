"""Turns and steps: the pieces a conversation may be cut into without breaking it.

A turn is a user's message and all that answers it. A step, inside a turn, is what the model says in one go and
the results of the tools it called. Cutting between turns, or taking a whole step out, is valid for every provider.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from recollect.types import Message, Part, Text, Thinking, ToolCall, ToolResult

ITEMS: Final = "openai-responses"
"""The shape in which each thought and each call of an answer is a message."""


@dataclass(slots=True, eq=False)
class Turn:
    """A turn, by the indexes of its messages: where it starts, which are still `live`, and their tokens (`cost`).

    `came` is the tokens that all its messages had originally.
    """

    start: int
    cost: int = 0
    came: int = 0
    live: list[int] = field(default_factory=list)
    pinned: bool = False

    def questions(self, messages: Sequence[Message]) -> int:
        """As how many turns it counts: a late result joins several into one."""
        return max(1, sum(messages[index].role == "user" for index in self.live))


def turns(messages: Sequence[Message]) -> list[tuple[Message, ...]]:
    """The conversation in whole turns. System messages belong to none; what comes before the first user is a turn."""
    found: list[list[Message]] = []
    homes: dict[str, int] = {}
    for message in messages:
        if message.role == "system":
            continue
        if message.role == "user" or not found:
            found.append([])
        for result in message.tool_results:
            home = homes.pop(result.call_id, len(found))
            if home < len(found) - 1:
                found[home:] = [[one for turn in found[home:] for one in turn]]
                homes = {id: min(place, home) for id, place in homes.items()}
        found[-1].append(message)
        homes.update((call.id, len(found) - 1) for call in message.tool_calls)
    return [tuple(turn) for turn in found]


def steps(messages: Sequence[Message], indexes: Iterable[int]) -> Iterator[list[int]]:
    """The steps of one turn, as lists of indexes. User and system messages belong to none."""
    step: list[int] = []
    unanswered: set[str] = set()
    for index in indexes:
        message = messages[index]
        if message.role in ("user", "system"):
            continue
        if step and message.role == "assistant" and messages[step[-1]].role == "tool" and not unanswered:
            yield step
            step = []
        step.append(index)
        unanswered.update(call.id for call in message.tool_calls)
        unanswered.difference_update(result.call_id for result in message.tool_results)
    if step:
        yield step


def last_asked(messages: Sequence[Message]) -> Message | None:
    """What the user said last."""
    return next((message for message in reversed(messages) if message.role == "user"), None)


def answerable(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The conversation as every provider accepts it: without calls that were unanswered when user or model went on.

    Results without a call (because that was erased), second results of a call, and the model's blank texts are left out
    too, and so is thinking if nothing else is left of its message. A step whose results came after something else was
    said moves to where the last of them came.
    """
    if all(isinstance(message.content, str) for message in messages):
        return tuple(messages)
    messages = tuple(called(messages))
    runs = _runs(messages)
    results = _results(messages, runs)
    order = list(_ordered(runs, results))
    last = next((n for n in reversed(order) if messages[n].role in ("user", "assistant")), None)
    # What was said last stays as it is, for its calls may still be answered.
    waiting = {last} if last is None or runs[last] in results else {n for n in order if runs[n] == runs[last]}
    kept: dict[int, Message] = {}
    for n in order:
        message = messages[n] if n in waiting else _answered(messages[n], messages, results.get(runs[n], ()))
        if message:
            kept[n] = message
    spoken = {runs[n] for n, message in kept.items() if not _only_thought(message)}
    return tuple(message for n, message in kept.items() if runs[n] in spoken)


def called(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages without results that have no earlier call, without second results, and without blank texts.

    A message with results for several steps is split into one for each, as no provider accepts them together.
    """
    waiting: dict[str, int] = {}
    for n, message in enumerate(messages):
        if isinstance(message.content, str):
            yield message
            continue
        waiting.update((call.id, n) for call in message.tool_calls)
        left = [(home, part) for part in message.parts if _stays(part, message, home := _caller(part, waiting))]
        homes: list[int | None] = [*dict.fromkeys(home for home, _ in left if home is not None)] or [None]
        for own in homes:
            parts = tuple(part for home, part in left if home == own or (home is None and own == homes[-1]))
            if len(parts) == len(message.parts):
                yield message
            elif parts:
                yield message.replace(content=parts)


def _runs(messages: Sequence[Message]) -> list[int]:
    """For each message, the index of the first one in its run: the OpenAI Responses items that make up one answer."""
    runs: list[int] = []
    for n, message in enumerate(messages):
        before = messages[max(0, n - 1)]
        items = n > 0 and all(m.role == "assistant" and m.shape == ITEMS for m in (before, message))
        goes_on = items and (_only_thought(before) or not _only_thought(message))
        runs.append(runs[-1] if goes_on else n)
    return runs


def _results(messages: Sequence[Message], runs: Sequence[int]) -> dict[int, list[int]]:
    """For each run that calls tools, by the index of its first message: the indexes of the messages with results."""
    callers: dict[str, int] = {}
    results: dict[int, list[int]] = {}
    for n, message in enumerate(messages):
        if found := message.tool_results:
            results.setdefault(callers[found[0].call_id], []).append(n)
        callers.update((call.id, runs[n]) for call in message.tool_calls)
    return results


def _ordered(runs: Sequence[int], results: Mapping[int, list[int]]) -> Iterator[int]:
    """All indexes in order, except that each step is in one piece, at the place of its last result."""
    members: dict[int, list[int]] = {}
    for n, run in enumerate(runs):
        members.setdefault(run, []).append(n)
    steps = [(*members[run], *found) for run, found in results.items()]
    homes = {step[-1]: step for step in steps}
    moved = {n for step in steps for n in step}
    for n in range(len(runs)):
        if n in homes:
            yield from homes[n]
        elif n not in moved:
            yield n


def _caller(part: Part, waiting: dict[str, int]) -> int | None:
    """The index of the message whose call this result answers; the call then waits no longer."""
    return waiting.pop(part.call_id, None) if isinstance(part, ToolResult) else None


def _stays(part: Part, message: Message, caller: int | None) -> bool:
    if isinstance(part, ToolResult):
        return caller is not None
    return message.role != "assistant" or not isinstance(part, Text) or bool(part.text.strip())


def _answered(message: Message, messages: Sequence[Message], results: Iterable[int]) -> Message | None:
    """The message with only those calls that these messages answer; None if nothing worth saying is left."""
    answered = {result.call_id for n in results for result in messages[n].tool_results}
    if all(call.id in answered for call in message.tool_calls):
        return message
    left = tuple(part for part in message.parts if not isinstance(part, ToolCall) or part.id in answered)
    return message.replace(content=left) if any(not isinstance(part, Thinking) for part in left) else None


def _only_thought(message: Message) -> bool:
    return bool(message.content) and all(isinstance(part, Thinking) for part in message.parts)
