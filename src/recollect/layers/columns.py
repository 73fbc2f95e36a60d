"""A scope's turns as columns in memory, kept in step with the log: what ranking needs, and no text."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from recollect.flow import rank
from recollect.flow.rank import REACH, Marks, Near, Numbers, Places, Turns, lends, worth
from recollect.llm.recall import echoes, quotes
from recollect.store import Spoken, Store
from recollect.store.stem import stem
from recollect.store.words import split, words
from recollect.types import Message, Scope

PAGE = 2_000
ROOM = 16
A_FEW, KNOWN = 32, 50_000
"""Up to how many turns are taken in one by one, and how many words are remembered while more are."""
FEW, COMMON = 1_000, 0.25
"""Of more than so many turns, a word that stands there for every fourth of them tells little, and is not looked up."""
A_SCOPE, A_TURN, A_WORD, A_KNOWN_WORD = 4_000, 300, 5, 200
"""Bytes that a scope takes before its first turn, a turn, a word in it, a word said at all: about, as measured."""
ASSISTANTS = frozenset({"assistant", "ai", "bot", "model"})


def speaker_of(message: Message | Spoken) -> str:
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


class _Many(dict[str, int]):
    """Adds the words of many turns to the places where each stem stands; while it does, they are numbers."""

    def __init__(self, postings: Mapping[str, array[int]]) -> None:
        super().__init__()
        self._postings, self._numbers = postings, dict[str, int]()
        self._held: list[array[int]] = []

    def __missing__(self, word: str) -> int:
        stemmed = stem(word)
        if stemmed not in self._numbers:
            self._numbers[stemmed] = len(self._held)
            self._held.append(self._postings[stemmed])
        number = self[word] = self._numbers[stemmed]
        return number

    def add(self, texts: Iterable[str], place: int) -> list[int]:
        """How many words each turn has, of which the first is at that place."""
        said, counts = list[int](), list[int]()
        for text in texts:
            before = len(said)
            said += map(self.__getitem__, split(text))
            counts.append(len(said) - before)
        few = len(self._held) <= 2**16  # which are sorted in a fraction of the time
        numbers = np.fromiter(said, np.uint16 if few else np.int32, len(said))
        places = np.repeat(np.arange(place, place + len(counts), dtype=np.int32), counts)
        data = places[np.argsort(numbers, kind="stable")].tobytes()
        sizes, start = np.bincount(numbers) * places.itemsize, 0
        there = np.flatnonzero(sizes)
        for number, end in zip(there.tolist(), np.cumsum(sizes[there]).tolist(), strict=True):
            self._held[number].frombytes(data[start:end])
            start = end
        return counts


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
    _last: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _runs: array[int] = field(default_factory=lambda: array("i"))
    _echoed: list[tuple[int, int]] = field(default_factory=list)
    _postings: dict[str, array[int]] = field(default_factory=lambda: defaultdict(lambda: array("i")))
    _positions: Places = field(default_factory=lambda: np.empty(ROOM, np.int64))
    _turns: Turns = field(default_factory=_room)

    def refresh(self, store: Store, until: int | None = None) -> None:
        """Take in what was added to the log since the last time, up to a position where one is given."""
        many = _Many(self._postings)
        while page := store.log.spoken(self.scope, after=self.position, limit=PAGE):
            meant = page if until is None else [spoken for spoken in page if spoken.position <= until]
            echoed = {one.position: one for one in meant if one.role == "assistant" and echoes(one.text)}
            said = [one for one in meant if one.role != "system" and one.position not in echoed and one.text.strip()]
            self._add(said, many)
            for echo in echoed.values():
                if quotes(echo.text):
                    self._answered(echo)
            if meant:
                self.position = meant[-1].position
            if len(meant) < PAGE:
                return
            if len(many) > KNOWN:
                many = _Many(self._postings)

    def until(self, position: int) -> Columns:
        """The turns up to a position of the log, as they were then; they stay so, and share the lock of these."""
        count = int(np.searchsorted(self._positions[: len(self)], position, side="right"))
        turns = self._turns_before(count, position)
        sessions, speakers = (int(column.max(initial=-1)) for column in (turns.session, turns.speaker))
        then = Columns(self.scope, position, self.ids[:count], self.words[:count], lock=self.lock)
        then.speakers = {name: n for name, n in self.speakers.items() if n <= speakers}
        then.names.update(*map(words, then.speakers))
        then._assistant = self._assistant
        then._sessions = {name: n for name, n in self._sessions.items() if n <= sessions}
        then._runs = self._runs[: bisect_left(self._runs, count)]
        then._postings, then._positions, then._turns = self._postings, self._positions, turns
        return then

    def _turns_before(self, count: int, position: int) -> Turns:
        """The first so many turns without what was changed by those after them, or after that position."""
        turns = Turns._make(column[:count] for column in self._turns)
        after, lenders = turns.after.copy(), turns.lenders.copy()
        length, worth = turns.length.copy(), turns.worth.copy()
        after[after >= count] = -1
        for place, n in np.argwhere(lenders >= count):
            length[place] -= rank.LENT * self.words[lenders[place, n]]
        lenders[lenders >= count] = -1
        worth[[place for at, place in self._echoed if at > position and place < count]] = rank.ASKS
        return turns._replace(after=after, lenders=lenders, length=length, worth=worth)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def with_assistant(self) -> bool:
        """Whether an assistant is among the speakers."""
        return self._assistant is not None and self._assistant < len(self)

    @property
    def bytes(self) -> int:
        """About how much memory they take."""
        return A_SCOPE + A_TURN * len(self) + A_WORD * self._said + A_KNOWN_WORD * len(self._postings)

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

    def _add(self, page: Sequence[Spoken], many: _Many) -> None:
        """Take in the turns that come next."""
        start, end = len(self), len(self) + len(page)
        texts = [spoken.text for spoken in page]
        counts = many.add(texts, start) if len(page) > A_FEW else self._hold(texts)
        while end > len(self._positions):
            self._positions = np.concatenate((self._positions, self._positions))
            self._turns = Turns._make(np.concatenate((column, column)) for column in self._turns)
        turns, asks = self._turns, [text.rstrip().endswith(("?", "\uff1f")) for text in texts]
        turns.worth[start:end] = list(map(worth, counts, asks))
        turns.day[start:end] = [day_of(spoken.at) for spoken in page]
        turns.own[start:end] = [spoken.role == "user" for spoken in page]
        turns.speaker[start:end] = [self._speaker(place, spoken) for place, spoken in enumerate(page, start)]
        self._positions[start:end] = [spoken.position for spoken in page]
        self._said += sum(counts)
        self.words += counts
        self._link(start, [spoken.session for spoken in page])
        self.ids += [(spoken.session, spoken.id) for spoken in page]

    def _answered(self, echo: Spoken) -> None:
        """Take note that a short question got nothing but memory's own words: from then on it counts less."""
        turns, session = self._turns, self.session(echo.session)
        place = int(np.searchsorted(self._positions[: len(self)], echo.position)) - 1
        while place >= 0 and turns.session[place] != session:
            place -= 1
        if place >= 0 and turns.own[place] and turns.worth[place] == rank.ASKS:
            turns.worth[place] += rank.ECHOED
            self._echoed.append((echo.position, place))

    def _hold(self, texts: Iterable[str]) -> list[int]:
        """What `_Many.add` does, for a few."""
        said = list(map(words, texts))
        for place, held in enumerate(said, len(self)):
            for word in held:
                self._postings[word].append(place)
        return list(map(len, said))

    def _speaker(self, place: int, spoken: Spoken) -> int:
        """The number of the one who speaks."""
        speaker = speaker_of(spoken)
        if self._assistant is None and spoken.role == "assistant" and speaker.lower() in ASSISTANTS:
            self._assistant = place
        if speaker not in self.speakers:
            self.speakers[speaker] = len(self.speakers)
            self.names.update(words(speaker))
        return self.speakers[speaker]

    def _link(self, start: int, names: Sequence[str]) -> None:
        """Tell the turns from a place on, which are of these sessions, their neighbours, and those of them."""
        befores, lent = list[int](), list[tuple[int, int, int]]()
        for place, name in enumerate(names, start):
            before = self._last.get(name, ())
            befores.append(before[0] if before else -1)
            if not place or befores[-1] != place - 1:
                self._runs.append(place)
            for step, at in enumerate(before if lends(self.words[place]) else ()):
                if not lends(self.words[at]):
                    break
                lent.append((step, at, place))
            self._last[name] = (place, *before[: REACH - 1])
        turns, here = self._turns, slice(start, start + len(names))
        turns.session[here] = [self._sessions.setdefault(name, len(self._sessions)) for name in names]
        turns.before[here], turns.after[here] = befores, -1
        turns.length[here], turns.lenders[here] = self.words[here], -1
        follow = [place for place, before in enumerate(befores, start) if before >= 0]
        turns.after[turns.before[follow]] = follow
        steps, lenders, places = np.array(lent, np.int32).reshape(-1, 3).T
        turns.lenders[places, steps], turns.lenders[lenders, REACH + steps] = lenders, places
        np.add.at(turns.length, places, [rank.LENT * self.words[at] for _, at, _ in lent])
        np.add.at(turns.length, lenders, [rank.LENT * self.words[place] for *_, place in lent])
