"""Finds which messages of a given history are kept already: callers pass the same ones again with every call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Final, NamedTuple

from recollect.flow.fence import without_memory
from recollect.flow.matches import matches, overlap
from recollect.flow.shapes.wire import arguments_object, marks_cache
from recollect.types import Image, Message, Opaque, ToolCall

BY_FRAMEWORK: Final = "framework"
"""The `via` in the metadata of a message that a framework wrote in the user's name."""


class Compared(NamedTuple):
    """What a caller passed, compared with what is known; `places` has for each message its place among the known ones.

    The place of a new message is None.
    """

    known: Sequence[Message]
    said: Sequence[Message]
    places: Sequence[int | None]

    @property
    def new(self) -> list[Message]:
        """The messages that are not known yet."""
        return [message for message, place in zip(self.said, self.places, strict=True) if place is None]

    def kept(self, added: Iterable[Message]) -> list[Message]:
        """The given messages as they are kept, once the new ones were added."""
        rest = iter(added)
        return [next(rest) if place is None else self.known[place] for place in self.places]

    @property
    def again(self) -> bool:
        """Whether all of it is known and answered since, by more than an answer that broke off or results of tools."""
        return bool(self.since) and not _only_tools(self.since)

    @property
    def since(self) -> list[Message]:
        """What was said after the given messages, if all of those are known, but for answers that broke off."""
        return [message for message in self._since if not message.metadata.get("partial")]

    @property
    def _since(self) -> list[Message]:
        """What was said after the given messages, if all of those are known."""
        found = _found(self.places)
        rest = self.known[max(found) + 1 :] if found and len(found) == len(self.places) else ()
        return [message for message in rest if message.role != "system"]

    @property
    def changed(self) -> bool:
        """Whether the caller changed the history: it does not continue what is known, or a call in it was edited.

        A history that ends with an earlier question was sent again, not changed.
        """
        found, known = _found(self.places), len(self.known)
        goes_on = self.places == [*range(known - len(found), known), *[None] * len(self.new)]
        cut_short = self._since and self.said[-1].role == "user" and found == [*range(found[0], found[-1] + 1)]
        return not (goes_on or cut_short) or self._calls_edited

    @property
    def _calls_edited(self) -> bool:
        pairs = [(one, self.known[at]) for one, at in zip(self.said, self.places, strict=True) if at is not None]
        calls = (call for one, known in pairs for call in zip(one.tool_calls, known.tool_calls, strict=True))
        return any(_differ(*call) for call in calls)


def compare(known: Sequence[Message], said: Sequence[Message]) -> Compared:
    """Compare what a caller passed with what is known."""
    start = _waiting(known) if said and said[0].tool_results and not any(one.role == "assistant" for one in said) else 0
    keys = [fingerprint(one) for one in known[start:]]
    answers = {key for key, one in zip(keys, known[start:], strict=True) if one.role == "assistant"}
    places = align(keys, [fingerprint(one) for one in said], answers)
    return Compared(known, said, [None if place is None else start + place for place in places])


def _waiting(known: Sequence[Message]) -> int:
    """The place after the calls of the last answer, where their results belong; 0 if the last answer made none.

    Results that come alone are only compared with what is known from there on, as ids of calls may come again.
    """
    last = next((n for n in reversed(range(len(known))) if known[n].role == "assistant"), 0)
    return last + 1 if known and known[last].tool_calls else 0


def spoken(given: Sequence[Message]) -> list[tuple[int, Message]]:
    """The conversation in what a caller passed, each message with its place: without system texts and old memory."""
    return [(n, own) for n, one in enumerate(given) if one.role != "system" and (own := without_memory(one))]


def says(message: Message) -> bool:
    """Whether a message is worth keeping.

    An answer without content is not, such as sound that is known by its id only, nor is a summary that a framework put
    in the place of what was said.
    """
    if message.metadata.get("via") == BY_FRAMEWORK:
        return False
    return message.role != "assistant" or bool(message.parts or message.extra.get("refusal"))


def fingerprint(message: Message) -> Hashable:
    """A key that is equal for two messages if they are the same one, passed again.

    It is made of the role, the text, the ids of tool calls and results, pictures, and the user's files and sounds.
    Prompt cache marks do not count. What a tool shows beside its results may come back as a user's message.
    """
    role = "user" if message.role == "tool" and not message.tool_results else message.role
    images = tuple((part.url, part.data) for part in message.parts if isinstance(part, Image))
    files = tuple(part.data for part in message.parts if isinstance(part, Opaque) and not marks_cache(part))
    shown = (images, files if role == "user" else ())
    calls = tuple(call.id for call in message.tool_calls)
    return role, message.text.strip(), calls, tuple(result.call_id for result in message.tool_results), shown


def align(known: Sequence[Hashable], given: Sequence[Hashable], answers: Collection[Hashable] = ()) -> list[int | None]:
    """The place of each given message among the known ones; None if it is new.

    Usually the given messages begin with the ones that the known messages end with, and the rest is new. If the rest
    holds one of the known `answers`, that overlap is a coincidence: the same words may begin and end a history. Then,
    or without an overlap, the history was edited or is passed again, and both are compared as a whole. A message that
    the caller had inserted was kept at the end of the log, which only grows, so it is looked for there too. A single
    message without overlap is always new, even if the same was said before.
    """
    both = overlap(known, given)
    if both and not any(one in answers for one in given[both:]):
        return [*range(len(known) - both, len(known)), *[None] * (len(given) - both)]
    places: list[int | None] = [None] * len(given)
    if len(given) > 1:
        for at, n in matches(known, given):
            places[n] = at
    last = max((n for n, place in enumerate(places) if place is not None), default=0)
    spare = defaultdict[Hashable, list[int]](list)
    for at in sorted(set(range(len(known))).difference(places)) if None in places[:last] else ():
        spare[known[at]].append(at)
    for n in range(last):
        if places[n] is None and spare[given[n]]:
            places[n] = spare[given[n]].pop()
    return places


def _differ(one: ToolCall, other: ToolCall) -> bool:
    """Whether two calls ask for different things; it does not matter how their JSON is written."""
    if one.name != other.name:
        return True
    return one.arguments != other.arguments and arguments_object(one) != arguments_object(other)


def _only_tools(since: Sequence[Message]) -> bool:
    """Whether nothing is there but calls and results, the last of them a result."""
    return since[-1].role == "tool" and all(one.role == "tool" or one.tool_calls for one in since)


def _found(places: Sequence[int | None]) -> list[int]:
    return [place for place in places if place is not None]
