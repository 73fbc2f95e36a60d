"""One conversation in memory: add messages, read them, find them, prune them. Safe under threads and asyncio."""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Protocol

from recollect.arguments import as_message, check_given, check_whole, messages_only
from recollect.errors import InvalidTranscript
from recollect.flow.receipt import Receipt
from recollect.flow.window import Window
from recollect.store.values import same, tagged
from recollect.tokens import TokenCounter, count_message, estimate
from recollect.tokens import counter as open_counter
from recollect.types import Message, Part, Role, local_now, with_zone


@dataclass(frozen=True, slots=True)
class Pruned:
    """One pruning: when, and how many messages and tokens it removed."""

    at: datetime
    messages: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Stats:
    """What a conversation holds, by role, and what was pruned from it."""

    messages: int
    tokens: int
    roles: Mapping[str, int]
    pruned: tuple[Pruned, ...]


class Conversation(Protocol):
    """What every conversation memory does; `recollect.testing.MemorySuite` checks an implementation.

    Whatever is handed out is immutable. A batch is added whole: no reader ever sees half of it. One that inherits from
    this class has what follows from the rest: `add`, `count`, and all ways to find messages.
    """

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, in the order they came."""

    @property
    def tokens(self) -> int:
        """The tokens of all messages, counted as they came."""

    def add_many(self, messages: Iterable[Message]) -> tuple[Message, ...]:
        """Keep a batch, whole or not at all. A message whose id is there already stays as it is, and is returned."""

    def tag(self, id: str, **metadata: Any) -> Message:
        """Set metadata on a message that is there; None takes a tag off."""

    def prune(self, limit: int) -> Receipt:
        """Forget the oldest turns until at most `limit` tokens are left; system messages and pinned turns stay.

        The receipt lists what went. BudgetTooSmall, and nothing changed, where what must stay is larger.
        """

    def clear(self) -> None:
        """Forget everything."""

    def stats(self) -> Stats:
        """Messages and tokens, by role, and what was pruned when."""

    def add(self, message: Message | Role, content: str | Sequence[Part] = "", **fields: Any) -> Message:
        """Keep a message, given whole or by role and content; returns it with its id and times set.

        A message whose id is there already is not kept twice; the one that is there is returned.
        """
        return self.add_many([as_message(message, content, fields)])[0]

    @property
    def count(self) -> int:
        """How many messages there are."""
        return len(self.messages)

    @property
    def important(self) -> tuple[Message, ...]:
        """The messages whose metadata say `important: true`."""
        return self.where(important=True)

    def recent(self, n: int) -> tuple[Message, ...]:
        """The last `n` messages, in the order they came."""
        check_whole("n", n)
        return self.messages[-n:] if n else ()

    def by_role(self, role: Role) -> tuple[Message, ...]:
        """The messages of that role."""
        return self.search(role=role)

    def where(self, **metadata: Any) -> tuple[Message, ...]:
        """The messages whose metadata have all these values."""
        return tuple(message for message in self.messages if _has(message, metadata))

    def search(
        self,
        text: str = "",
        *,
        role: Role | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        **metadata: Any,
    ) -> tuple[Message, ...]:
        """The messages that hold `text` in any case, from `since` on and before `until`, with these metadata."""
        check_given(text=(text, isinstance(text, str), "text"))
        wanted = text.casefold()
        since, until = with_zone(since) if since else None, with_zone(until) if until else None

        def fits(message: Message) -> bool:
            at = message.at
            return (
                (role is None or message.role == role)
                and (since is None or (at is not None and at >= since))
                and (until is None or (at is not None and at < until))
                and _has(message, metadata)
                and wanted in message.text.casefold()
            )

        return tuple(filter(fits, self.messages))


class ConversationMemory(Conversation):
    """A `Conversation` kept in this process's memory."""

    def __init__(
        self,
        counter: TokenCounter | str = estimate,
        clock: Callable[[], datetime] = local_now,
    ) -> None:
        self._lock = threading.Lock()
        self._count = partial(count_message, count=open_counter(counter))
        self._clock = clock
        self._pruned: list[Pruned] = []
        self._window = Window(self._count)
        self._places: dict[str, int] = {}
        self._came: dict[str, int] = {}
        self._arrivals = 0

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, in the order they came."""
        with self._lock:
            return self._window.messages

    @property
    def tokens(self) -> int:
        """The tokens of all messages, counted as they came."""
        with self._lock:
            return self._window.tokens

    def add_many(self, messages: Iterable[Message]) -> tuple[Message, ...]:
        """Keep a batch, whole or not at all."""
        batch = [(message, self._count(message)) for message in messages_only(messages)]
        with self._lock:
            now, seen = self._clock(), dict[str, int]()
            for message, _ in batch:
                self._check_same(message, seen)
            return tuple(self._there(message) or self._keep(message, tokens, now) for message, tokens in batch)

    def tag(self, id: str, **metadata: Any) -> Message:
        """Set metadata on a message that is there; None takes a tag off."""
        check_given(id=(id, isinstance(id, str), "the id of a message"))
        with self._lock:
            place = self._places.get(id)
            if place is None:
                raise InvalidTranscript(f"no message has the id {id!r}; it was never added, or was pruned")
            message = tagged(self._window.original(place), metadata)
            self._window.revise(place, message)
            return message

    def prune(self, limit: int) -> Receipt:
        """Forget the oldest turns until at most `limit` tokens are left; system messages and pinned turns stay.

        The receipt lists what went. BudgetTooSmall, and nothing changed, where what must stay is larger.
        """
        check_given(limit=(limit, type(limit) is int, "a whole number of tokens"))
        with self._lock:
            receipt = self._window.prune(limit)
            gone = [entry for entry in receipt.entries if entry.verdict == "dropped"]
            for entry in gone:
                del self._places[entry.id], self._came[entry.id]
            if receipt.entries:
                tokens = sum(entry.tokens - entry.shown for entry in receipt.entries)
                self._pruned.append(Pruned(self._clock(), len(gone), tokens))
            return receipt

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._window = Window(self._count)
            self._places, self._came = {}, {}
            self._arrivals = 0

    def stats(self) -> Stats:
        """Messages and tokens, by role, and what was pruned when."""
        with self._lock:
            messages = self._window.messages
            roles = Counter[str](message.role for message in messages)
            return Stats(len(messages), self._window.tokens, dict(roles), tuple(self._pruned))

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Message]:
        return iter(self.messages)

    def _check_same(self, message: Message, seen: dict[str, int]) -> None:
        check_given(id=(message.id, isinstance(message.id, str), "text"))
        said = _said(message)
        if message.id and self._came.get(message.id, seen.setdefault(message.id, said)) != said:
            raise InvalidTranscript(
                f"the id {message.id!r} belongs to another message; leave the id out to add this one"
            )

    def _there(self, message: Message) -> Message | None:
        place = self._places.get(message.id) if message.id else None
        return None if place is None else self._window.original(place)

    def _keep(self, message: Message, tokens: int, now: datetime) -> Message:
        kept = message.replace(
            id=message.id or uuid.uuid4().hex, at=message.at or now, received=message.received or now
        )
        self._places[kept.id], self._came[kept.id] = self._arrivals, _said(kept)
        self._arrivals += 1
        self._window.append(kept, tokens)
        return kept


def _has(message: Message, metadata: Mapping[str, Any]) -> bool:
    return all(key in message.metadata and same(message.metadata[key], value) for key, value in metadata.items())


def _said(message: Message) -> int:
    return hash((message.role, message.content))
