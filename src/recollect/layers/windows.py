"""The running windows: each session's newest turns, kept in step with the log.

What a window shows depends on the log alone, not on when or in which process it is asked for. It starts at the
beginning of a block of messages, so a session of a million messages costs no more than one of two thousand.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from operator import itemgetter
from typing import Final

from recollect.flow.assemble import Shown
from recollect.flow.limits import Limits
from recollect.flow.room import View
from recollect.flow.window import Window
from recollect.layers.marks import read_to, set_read_to
from recollect.recent import Recent
from recollect.store import Entry, Record, Store
from recollect.store.codec import id_of
from recollect.types import Message, Scope

BLOCK: Final = 1_000
"""Messages in a block. A window begins with the block before the one that holds the newest message."""
SMALL: Final = 8
"""Assumed least tokens of an average message: with a large budget, blocks grow so that each exceeds the budget."""
TURN: Final = 16
"""How many messages of a turn are read at a time."""
KEPT_WINDOWS: Final = 256
ALWAYS: Final = "always"
"""The kind of the records that name the messages which always stay in the window."""
PINS: Final = "pins"
"""The mark that counts how often messages of a session were pinned or unpinned after they were added."""


def lasts(message: Message) -> bool:
    """Whether a message always stays in the window: system messages and pinned ones do."""
    return message.role == "system" or message.pinned


def lasting(entries: Sequence[Entry]) -> list[Record]:
    """The records that name those of these messages that always stay in the window; keep them with the messages."""
    ids = [entry.message.id for entry in entries if lasts(entry.message)]
    return [Record(ALWAYS, id, True, sources=(id,), id=id_of(ALWAYS, id)) for id in ids]


def repin(store: Store, scope: Scope) -> None:
    """Have every process rebuild the windows of a session. Call it in the transaction that changes a pin."""
    set_read_to(store, scope, PINS, read_to(store, scope, PINS) + 1)


@dataclass(slots=True, eq=False)
class _Running:
    """A window, and how far it is in step with the log.

    It holds all messages after number `block`, and of those before what always stays.
    """

    window: Window
    block: int = 0
    places: list[tuple[int, int]] = field(default_factory=list)  # number and position of each message in the window
    by_id: dict[str, tuple[int, int]] = field(default_factory=dict)  # the same for the user's messages
    last: int = 0  # the number of the newest message
    messages: int = 0  # how many the log had
    position: int = -1  # the log's last position; -1 where the window must be built anew
    pins: int = 0  # the mark `PINS` as it was
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reset(self) -> None:
        self.window = Window(self.window.count, self.window.limits, self.window.overhead)
        self.places, self.by_id = [], {}
        self.last, self.messages, self.position, self.block = 0, 0, -1, 0

    def block_before(self, last: int) -> int:
        """The number after which a window begins, if its newest message has the number `last`."""
        size = max(BLOCK, (self.window.limits.budget or 0) // SMALL)
        return max(0, last // size - 1) * size

    def take(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self.window.append(entry.message)
            self.places.append((entry.seq, entry.position))
            if entry.message.role == "user":
                self.by_id[entry.message.id] = (entry.seq, entry.position)

    def view(self, min_turns: int) -> View:
        window = self.window
        start = max(window.start, bisect_right(self.places, self.block, key=itemgetter(0)))
        messages = window.messages
        first, at = self.places[start] if start < len(self.places) else (self.last + 1, self.position + 1)
        shown = Shown(messages, window.tokens, window.overhead, self.messages - len(messages), window.shortened)
        users = (message.id for message in reversed(messages) if message.role == "user")
        before = self.messages - max(0, len(self.places) - start)
        asked = self.by_id.get(next(users, ""), (0, 0))
        return View(shown, first, self.last, *asked, (before, at), window.newest(min_turns))


@dataclass(slots=True, eq=False)
class Windows:
    """The newest turns of each session within limits; other sections can't push out the last `min_turns`."""

    store: Store
    count: Callable[[Message], int]
    min_turns: int = 1
    _kept: Recent[tuple[Scope, Limits, int], _Running] = field(default_factory=lambda: Recent(KEPT_WINDOWS))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def view(self, scope: Scope, limits: Limits, overhead: int, until: int | None = None) -> View:
        """What the window of a session shows now, or showed when message `until` was the newest.

        Raises BudgetTooSmall if what must stay exceeds the limits.
        """
        if until is not None:
            past = _Running(Window(self.count, limits, overhead))
            self._build(scope, past, until)
            return past.view(self.min_turns)
        running = self._running(scope, limits, overhead)
        with running.lock:
            self._refresh(scope, running)
            return running.view(self.min_turns)

    def forget(self, scope: Scope) -> None:
        """Drop the windows of a scope whose messages were erased or tagged."""
        with self._lock:
            for key in [key for key in self._kept if scope.covers(key[0])]:
                del self._kept[key]

    def _running(self, scope: Scope, limits: Limits, overhead: int) -> _Running:
        key = (scope, limits, overhead)
        with self._lock:
            running = self._kept[key] = self._kept.get(key) or _Running(Window(self.count, limits, overhead))
            return running

    def _refresh(self, scope: Scope, running: _Running) -> None:
        now = next(iter(self.store.log.sessions(scope, limit=1)), None)
        if now is None:
            running.reset()
            return
        if (pins := read_to(self.store, scope, PINS)) != running.pins:
            running.reset()
            running.pins = pins
        if (now.messages, now.position) == (running.messages, running.position):
            return
        new = self._new(scope, running)
        complete = bool(new) and running.messages + len(new) == now.messages
        newest = new[-1:] if complete else self.store.log.read(scope, limit=1, reverse=True)
        last = newest[0].seq if newest else 0
        if complete and running.block_before(last) == running.block:
            running.position = -1  # if the counter fails midway, the window is built anew next time
            running.take(new)
        else:
            running.reset()
            self._build(scope, running, last)
        running.last, running.messages, running.position = last, now.messages, now.position

    def _new(self, scope: Scope, running: _Running) -> list[Entry]:
        """What came after the last message taken; nothing if that one is gone, as when a session was begun anew."""
        if running.position < 0 or not running.places:
            return []
        found = self.store.log.read(scope, after=running.last - 1, limit=BLOCK)
        there = [(entry.seq, entry.position) for entry in found[:1]] == running.places[-1:]
        return found[1:] if there else []

    def _build(self, scope: Scope, running: _Running, until: int) -> None:
        running.block = running.block_before(until)
        entries = self.store.log.read(scope, after=running.block, until=until)
        running.take(self._lasting(scope, running.block, until, entries) if running.block else [])
        running.take(entries)
        running.last, running.messages = until, running.block + len(entries)

    def _lasting(self, scope: Scope, block: int, until: int, after: Sequence[Entry]) -> list[Entry]:
        """The messages up to number `block` that always stay: system messages, and the turns of pinned ones.

        `after` has the messages that follow: the first of them may still belong to a turn from before.
        """
        ids = [record.key for record in self.store.records.find(scope, kind=ALWAYS, exact=True)]
        turn_ends = next((entry.seq for entry in after if entry.message.role == "user"), until + 1)
        found: dict[int, Entry] = {}
        for entry in self.store.log.get(scope, ids):
            if entry.seq < turn_ends and entry.seq not in found and lasts(entry.message):
                turn = [entry] if entry.message.role == "system" else self._turn(scope, entry)
                found |= {one.seq: one for one in turn if one.seq <= block}
        return [found[seq] for seq in sorted(found)]

    def _turn(self, scope: Scope, entry: Entry) -> list[Entry]:
        """The turn that a message is in: from a user's message up to the next one."""
        turn = [entry]
        while turn[0].message.role != "user" and (
            page := self.store.log.read(scope, until=turn[0].seq - 1, limit=TURN, reverse=True)
        ):
            asked = next((n for n, one in enumerate(page, 1) if one.message.role == "user"), len(page))
            turn = [*reversed(page[:asked]), *turn]
        while page := self.store.log.read(scope, after=turn[-1].seq, limit=TURN):
            answers = list(takewhile(lambda one: one.message.role != "user", page))
            turn += answers
            if len(answers) < len(page):
                break
        return turn
