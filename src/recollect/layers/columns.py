"""A scope's turns as columns in memory, kept in step with the log: what ranking needs, and no text."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from recollect.flow import rank
from recollect.flow.rank import REACH, Marks, Near, Numbers, Places, Turns, lends, worth
from recollect.store import Entry, Store
from recollect.store.words import words
from recollect.types import Message, Scope

PAGE = 1_000
ROOM = 64
FEW, COMMON = 1_000, 0.25
"""Of more than so many turns, a word that stands there for every fourth of them tells little, and is not looked up."""
A_TURN, A_WORD, A_KNOWN_WORD = 300, 5, 200
"""Bytes that a turn takes, a word in it, and a word that was said at all: about, as measured."""
ASSISTANTS = frozenset({"assistant", "ai", "bot", "model"})


def speaker_of(message: Message) -> str:
    """Who said it: the name, else the role."""
    return message.name or message.role


def day_of(at: datetime) -> int:
    """The day of a moment in UTC, also at the ends of time, where another zone's day may not exist."""
    try:
        return at.astimezone(UTC).toordinal()
    except OverflowError:
        return at.toordinal()


def _room() -> Turns:
    marks = [np.empty(ROOM, np.int32) for _ in range(5)]
    numbers = [np.empty(ROOM, np.float64) for _ in range(3)]
    return Turns(
        session=marks[0],
        before=marks[1],
        after=marks[2],
        lenders=np.empty((ROOM, 2 * REACH), np.int32),
        length=numbers[0],
        worth=numbers[1],
        day=marks[3],
        own=numbers[2],
        speaker=marks[4],
        runs=np.empty(0, np.int32),
    )


@dataclass(slots=True, eq=False)
class Columns:
    """The turns of one scope. `refresh` takes in what the log has got since; the rest reads, all under the lock."""

    scope: Scope
    position: int = 0
    ids: list[tuple[str, str]] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    speakers: dict[str, int] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)
    _assistant: int | None = None
    _said: int = 0
    _sessions: dict[str, int] = field(default_factory=dict)
    _last: dict[int, int] = field(default_factory=dict)
    _runs: array[int] = field(default_factory=lambda: array("i"))
    _postings: dict[str, array[int]] = field(default_factory=lambda: defaultdict(lambda: array("i")))
    _positions: Places = field(default_factory=lambda: np.empty(ROOM, np.int64))
    _turns: Turns = field(default_factory=_room)

    def refresh(self, store: Store, until: int | None = None) -> None:
        """Take in what was added to the log since the last time, up to a position where one is given."""
        while page := store.log.scan(self.scope, after=self.position, limit=PAGE):
            for entry in page:
                if until is not None and entry.position > until:
                    return
                self._add(entry)
                self.position = entry.position
            if len(page) < PAGE:
                return

    def until(self, position: int) -> Columns:
        """The turns up to a position of the log, as they were then; they stay so, and share the lock of these."""
        count = int(np.searchsorted(self._positions[: len(self)], position, side="right"))
        turns = self._turns_before(count)
        sessions, speakers = (int(column.max(initial=-1)) for column in (turns.session, turns.speaker))
        then = Columns(self.scope, position, self.ids[:count], self.words[:count], lock=self.lock)
        then.speakers = {name: n for name, n in self.speakers.items() if n <= speakers}
        then.names.update(*map(words, then.speakers))
        then._assistant = self._assistant
        then._sessions = {name: n for name, n in self._sessions.items() if n <= sessions}
        then._runs = self._runs[: bisect_left(self._runs, count)]
        then._postings, then._positions, then._turns = self._postings, self._positions, turns
        return then

    def _turns_before(self, count: int) -> Turns:
        """The first so many turns without what those after them changed."""
        turns = Turns._make(column[:count] for column in self._turns)
        after, lenders, length = turns.after.copy(), turns.lenders.copy(), turns.length.copy()
        after[after >= count] = -1
        for place, n in np.argwhere(lenders >= count):
            length[place] -= rank.LENT * self.words[lenders[place, n]]
        lenders[lenders >= count] = -1
        return turns._replace(after=after, lenders=lenders, length=length)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def with_assistant(self) -> bool:
        """Whether an assistant is among the speakers."""
        return self._assistant is not None and self._assistant < len(self)

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return A_TURN * len(self) + A_WORD * self._said + A_KNOWN_WORD * len(self._postings)

    def session(self, name: str) -> int:
        """The number of a session, -1 where it has no turns."""
        return self._sessions.get(name, -1)

    def position_of(self, place: int) -> int:
        """Where a turn stands in the log."""
        return int(self._positions[place])

    def sessions(self, count: int) -> Marks:
        """The numbers of the sessions of the first so many turns; needs no lock, as what is there stays as it is."""
        return self._turns.session[:count]

    def turns(self) -> Turns:
        """The columns as arrays, until the next `refresh`."""
        return Turns._make(column[: len(self)] for column in self._turns)._replace(runs=np.array(self._runs, np.int32))

    def postings(self, asked: Sequence[str]) -> list[Places]:
        """Where each of these words stands, for those that stand anywhere; of very many turns, those of rarer words."""
        found = sorted(filter(None, map(self._held, asked)), key=len)
        if len(self) > FEW:
            found = [held for held in found if len(held) <= COMMON * len(self)] or found[:1]
        return [np.array(held, np.int64) for held in found]

    def holding(self, asked: Sequence[str]) -> list[Places]:
        """Where each of these words stands, however common it is."""
        return [np.array(self._held(word), np.int64) for word in asked]

    def holders(self, asked: Sequence[str]) -> list[int]:
        """How often each of these words was said."""
        return [len(self._held(word)) for word in asked]

    def _held(self, word: str) -> Sequence[int]:
        """Where a word stands, up to the last turn."""
        held: Sequence[int] = self._postings.get(word, ())
        return held if not held or held[-1] < len(self) else held[: bisect_left(held, len(self))]

    def known(self, positions: Places, cosines: Numbers) -> Near:
        """The turns at these positions of the log; a position of none is left out."""
        held = self._positions[: len(self)]
        places = np.searchsorted(held, positions)
        there = held[np.minimum(places, len(held) - 1)] == positions
        return places[there], cosines[there]

    def _add(self, entry: Entry) -> None:
        message, text = entry.message, entry.message.text
        if message.role == "system" or not text.strip() or message.at is None:
            return
        place, name, speaker, said = len(self.ids), entry.scope.session or "", speaker_of(message), words(text)
        if place == len(self._positions):
            self._positions = np.concatenate((self._positions, self._positions))
            self._turns = Turns._make(np.concatenate((column, column)) for column in self._turns)
        self.ids.append((name, message.id))
        self.words.append(len(said))
        self._said += len(said)
        for word in said:
            self._postings[word].append(place)
        if self._assistant is None and message.role == "assistant" and speaker.lower() in ASSISTANTS:
            self._assistant = place
        self._positions[place] = entry.position
        turns = self._turns
        turns.worth[place] = worth(len(said), text.rstrip().endswith(("?", "\uff1f")))
        turns.day[place] = day_of(message.at)
        turns.own[place] = message.role == "user"
        if speaker not in self.speakers:
            self.speakers[speaker] = len(self.speakers)
            self.names.update(words(speaker))
        turns.speaker[place] = self.speakers[speaker]
        self._link(place, self._sessions.setdefault(name, len(self._sessions)), len(said))

    def _link(self, place: int, session: int, said: int) -> None:
        turns, before = self._turns, self._last.get(session, -1)
        turns.session[place], turns.before[place], turns.after[place] = session, before, -1
        turns.length[place], turns.lenders[place] = said, -1
        if before >= 0:
            turns.after[before] = place
        if not place or before != place - 1:
            self._runs.append(place)
        self._last[session] = place
        at = place
        for step in range(REACH if lends(said) else 0):
            at = int(turns.before[at])
            if at < 0 or not lends(self.words[at]):
                break
            turns.lenders[place, step], turns.lenders[at, REACH + step] = at, place
            turns.length[place] += rank.LENT * self.words[at]
            turns.length[at] += rank.LENT * said
