"""A scope's turns as columns in memory, kept in step with the log: what ranking needs, and no text."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from recollect.embed.scripts import is_latin
from recollect.flow import rank
from recollect.flow.passages import LONG, passages
from recollect.flow.rank import REACH, Marks, Near, Numbers, Places, Turns, lends, long
from recollect.flow.sentences import QUESTION_MARKS, Span
from recollect.layers.postings import Many, Postings
from recollect.llm.recall import ECHOES, echoes, quotes
from recollect.store import Index, Spoken, Store
from recollect.store.codec import id_of
from recollect.store.words import words
from recollect.types import Message, Scope

PAGE = 2_000
ROOM = 16
A_FEW: Final = 32
"""Up to this many turns are taken in one by one; more, together."""
FEW, COMMON = 1_000, 0.25
"""Among more than FEW turns, a word said more often than for COMMON of them tells little, and is not looked up."""
A_SCOPE, A_TURN, A_PASSAGE, A_WORD, A_KNOWN_WORD = 4_000, 200, 240, 4, 120
"""Bytes of memory, as measured: of an empty scope, of each turn, of what more is known of each passage, of each word in
a turn, of each different word."""
PASSAGE: Final = "passage"
"""The kind of the index items that stand for the passages of a long message; their words are in the log alone."""
ASSISTANTS = frozenset({"assistant", "ai", "bot", "model"})


def speaker_of(message: Message | Spoken) -> str:
    """Who said it: the name, else the role."""
    return message.name or message.role


def passage_id(message: str, start: int) -> str:
    """The id of the passage of a message that begins there."""
    return id_of(message, str(start))


def in_utc(at: datetime) -> datetime:
    """A moment in UTC or, where that would be before the year 1 or after 9999, in its own zone."""
    try:
        return at if at.tzinfo is UTC else at.astimezone(UTC)
    except OverflowError:
        return at


def _room() -> Turns:
    kinds = dict.fromkeys(Turns._fields, np.int32) | dict.fromkeys(("length", "worth", "long", "own"), np.float64)
    columns: dict[str, NDArray[Any]] = {name: np.empty(ROOM, kind) for name, kind in kinds.items()}
    columns |= {"lenders": np.empty((ROOM, 2 * REACH), np.int32), "runs": np.empty(0, np.int32)}
    return Turns(**columns)


@dataclass(slots=True, eq=False)
class Columns:
    """The turns of one scope. `refresh` takes in what is new in the log; the rest reads. Hold the lock for both.

    Each passage of a long message is a turn; `spans` has those by place, with where they begin and end.
    """

    scope: Scope
    position: int = 0
    words: array[int] = field(default_factory=lambda: array("i"))
    speakers: dict[str, int] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    spans: dict[int, Span] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    _assistant: int | None = None
    _said: int = 0
    _ids: list[str] = field(default_factory=list)
    _sessions: dict[str, int] = field(default_factory=dict)
    _names: list[str] = field(default_factory=list)
    _last: list[int] = field(default_factory=list)
    _runs: array[int] = field(default_factory=lambda: array("i"))
    _other_scripts: array[int] = field(default_factory=lambda: array("i"))
    _echoed: list[tuple[int, int]] = field(default_factory=list)
    _passages: dict[tuple[str, str], int] = field(default_factory=dict)
    _items: dict[int, int] = field(default_factory=dict)
    _minutes: array[int] = field(default_factory=lambda: array("h"))
    _postings: Postings = field(default_factory=Postings)
    _positions: Places = field(default_factory=lambda: np.empty(ROOM, np.int64))
    _turns: Turns = field(default_factory=_room)

    def refresh(self, store: Store, until: int | None = None) -> None:
        """Take in what was added to the log since the last time, up to position `until` where one is given."""
        many: Many | None = None
        try:
            while page := store.log.spoken(self.scope, after=self.position, limit=PAGE):
                meant = page if until is None else [spoken for spoken in page if spoken.position <= until]
                if many is None and len(meant) > A_FEW:
                    many = Many(self._postings)
                self._take(meant, many)
                if len(meant) < PAGE:
                    return
        finally:
            if many is not None:
                many.put()

    def _take(self, meant: Sequence[Spoken], many: Many | None) -> None:
        """Take in what the log says next."""
        if not meant:
            return
        echoed = [one for one in meant if one.text.startswith(ECHOES) and one.role == "assistant" and echoes(one.text)]
        left_out = {echo.position for echo in echoed}
        said = [one for one in meant if one.text and one.role != "system" and not one.text.isspace()]
        self._add([one for one in said if one.position not in left_out] if echoed else said, many)
        for echo in echoed:
            if quotes(echo.text):
                self._answered(echo)
        self.position = meant[-1].position

    def until(self, position: int) -> Columns:
        """A copy that has only the turns up to a position of the log, as they were then; it shares the lock."""
        count = int(np.searchsorted(self._positions[: len(self)], position, side="right"))
        turns = self._turns_before(count, position)
        sessions, speakers = (int(column.max(initial=-1)) for column in (turns.session, turns.speaker))
        then = Columns(self.scope, position, self.words[:count], lock=self.lock)
        then._ids, then._names = self._ids[:count], self._names
        then.speakers = {name: n for name, n in self.speakers.items() if n <= speakers}
        then.names.update(*map(words, then.speakers))
        then._assistant = self._assistant
        then._sessions = {name: n for name, n in self._sessions.items() if n <= sessions}
        then._runs = self._runs[: bisect_left(self._runs, count)]
        then._other_scripts = self._other_scripts
        then._minutes = self._minutes[:count]
        then._passages, then._items = self._passages, self._items
        then.spans = {place: span for place, span in self.spans.items() if place < count}
        then._postings, then._positions, then._turns = self._postings, self._positions, turns
        return then

    def _turns_before(self, count: int, position: int) -> Turns:
        """The first `count` turns without what later turns, or the log after that position, changed about them."""
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
        return len(self._ids)

    @property
    def with_assistant(self) -> bool:
        """Whether an assistant is among the speakers."""
        return self._assistant is not None and self._assistant < len(self)

    @property
    def bytes(self) -> int:
        """About how many bytes of memory this takes."""
        turns = A_TURN * len(self) + A_PASSAGE * len(self.spans)
        return A_SCOPE + turns + A_WORD * self._said + A_KNOWN_WORD * len(self._postings)

    def session(self, name: str) -> int:
        """The number of a session, -1 where it has no turns."""
        return self._sessions.get(name, -1)

    def id_of(self, place: int) -> tuple[str, str]:
        """The session and the id of a turn's message."""
        return self._names[self._turns.session[place]], self._ids[place]

    def position_of(self, place: int) -> int:
        """The position of a turn in the log."""
        return int(self._positions[place])

    def sessions(self, count: int) -> Marks:
        """The session numbers of the first `count` turns; needs no lock, since these never change."""
        return self._turns.session[:count]

    def turns(self, east: timedelta = timedelta()) -> Turns:
        """The columns as arrays, until the next `refresh`; days are those of a zone so far east of UTC."""
        count, runs = len(self), np.array(self._runs, np.int32)
        turns = Turns._make(column[:count] for column in self._turns)._replace(runs=runs)
        if not (minutes := east // timedelta(minutes=1)):
            return turns
        return turns._replace(day=turns.day + (np.array(self._minutes, np.int32) + minutes) // (24 * 60))

    def postings(self, asked: Sequence[str]) -> list[Places]:
        """The places of each of these words that was said, rarest first; without common words among many turns."""
        found = sorted((held for held in map(self._held, asked) if len(held)), key=len)
        if len(self) > FEW:
            found = [held for held in found if len(held) <= COMMON * len(self)] or found[:1]
        return [held.astype(np.int64) for held in found]

    def holding(self, asked: Sequence[str]) -> list[Places]:
        """The places of each of these words, however common it is."""
        return [self._held(word).astype(np.int64) for word in asked]

    def holders(self, asked: Sequence[str]) -> list[int]:
        """How often each of these words was said."""
        return [len(self._held(word)) for word in asked]

    def _held(self, word: str) -> Marks:
        """The places of a word, up to the last turn."""
        return self._postings.held(word, len(self))

    def known(self, positions: Places, cosines: Numbers) -> Near:
        """The places of the turns at these positions of the log, and their cosines; other positions are left out.

        All passages of a long message have its cosine.
        """
        held = self._positions[: len(self)]
        places = np.searchsorted(held, positions)
        there = held[np.minimum(places, len(held) - 1)] == positions
        places, cosines = places[there], cosines[there]
        if not self.spans:
            return places, cosines
        many = np.searchsorted(held, positions[there], side="right") - places
        after = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        return np.repeat(places, many) + after, np.repeat(cosines, many)

    def with_passages(self, near: Near, index: Index, positions: Places, cosines: Numbers, most: int) -> Near:
        """The same with passages of long messages by their own cosines, whose items are at these positions.

        A message's vector is of its beginning, and says little of another passage. That is no nearer than the farthest
        known of its message, nor than the farthest of all where there may be more than the `most` asked for.
        """
        if not self._items.keys() >= set(positions.tolist()):
            self._find_items(index)
        found = np.array([self._items.get(position, -1) for position in positions.tolist()], np.int64)
        there = (found >= 0) & (found < len(self))
        found, cosines = found[there], cosines[there]
        farthest = np.full(len(self), np.inf)
        if len(positions) >= most:
            farthest[self._begins(np.fromiter(self.spans, np.int64))] = cosines.min(initial=np.inf)
        np.minimum.at(farthest, self._begins(found), cosines)
        rest = ~np.isin(near[0], found)
        places, others = near[0][rest], near[1][rest]
        others = np.minimum(others, farthest[self._begins(places)])
        return np.concatenate((places, found)), np.concatenate((others, cosines))

    def openings(self) -> Places:
        """The places of all turns, of a long message that of its first passage."""
        places: Places = np.arange(len(self))
        return np.flatnonzero(self._begins(places) == places)

    def _begins(self, places: Places) -> Places:
        """Where the messages of these turns begin: with their first passage."""
        held = self._positions[: len(self)]
        return np.searchsorted(held, held[places])

    def _find_items(self, index: Index) -> None:
        """Note where in the index the passages are that were not there before."""
        noted = set(self._items.values())
        ids = {id for (_, id), place in self._passages.items() if place not in noted}
        for item in index.get(self.scope, PASSAGE, sorted(ids)):
            session = item.scope.session if item.scope else None
            if (place := self._passages.get((session or "", item.id))) is not None:
                self._items[item.position] = place

    def in_latin(self, near: Near) -> Near:
        """The same without the turns that are in another script."""
        if not self._other_scripts:
            return near
        places, cosines = near
        latin = ~np.isin(places, self._other_scripts)
        return places[latin], cosines[latin]

    def _add(self, page: Sequence[Spoken], many: Many | None) -> None:
        """Take in the turns that come next."""
        if not page:
            return
        start = len(self)
        if any(len(spoken.text) > LONG for spoken in page):
            page = list(self._cut(page))
        end = start + len(page)
        positions, sessions, ids, roles, names, times, texts = zip(*page, strict=True)
        counts = (self._postings if many is None else many).add(texts, start)
        while end > len(self._positions):
            self._positions = np.concatenate((self._positions, self._positions))
            self._turns = Turns._make(np.concatenate((column, column)) for column in self._turns)
        turns, asks = self._turns, [text.rstrip().endswith(QUESTION_MARKS) for text in texts]
        known = {count: long(count) for count in set(counts)}
        turns.worth[start:end] = rank.ASKS * np.array(asks)
        turns.long[start:end] = [known[count] for count in counts]
        moments = list(map(in_utc, times))
        turns.day[start:end] = [at.toordinal() for at in moments]
        self._minutes.extend([60 * at.hour + at.minute for at in moments])
        turns.own[start:end] = [role == "user" for role in roles]
        turns.speaker[start:end] = self._speaking(start, list(zip(roles, names, strict=True)))
        self._positions[start:end] = positions
        self._said += sum(counts)
        self.words.extend(counts)
        self._other_scripts.extend([place for place, text in enumerate(texts, start) if not is_latin(text)])
        self._link(start, sessions)
        self._ids += ids

    def _cut(self, page: Sequence[Spoken]) -> Iterator[Spoken]:
        """The turns that come next, each passage of a long one by itself."""
        place = len(self)
        for spoken in page:
            for begin, end in passages(spoken.text):
                if len(spoken.text) > LONG:
                    self.spans[place] = begin, end
                    self._passages[spoken.session, passage_id(spoken.id, begin)] = place
                yield spoken._replace(text=spoken.text[begin:end])
                place += 1

    def _answered(self, echo: Spoken) -> None:
        """Have a short question that was answered by memory's own words alone count less from then on."""
        turns, session = self._turns, self.session(echo.session)
        place = int(np.searchsorted(self._positions[: len(self)], echo.position)) - 1
        while place >= 0 and turns.session[place] != session:
            place -= 1
        short = place not in self.spans and not turns.long[place]
        if place >= 0 and turns.own[place] and turns.worth[place] == rank.ASKS and short:
            turns.worth[place] += rank.ECHOED
            self._echoed.append((echo.position, place))

    def _speaking(self, start: int, who: Sequence[tuple[str, str | None]]) -> list[int]:
        """The number of each turn's speaker, by roles and names; the turns begin at place `start`."""
        numbers = dict[tuple[str, str | None], int]()
        for role, name in dict.fromkeys(who):
            speaker = name or role
            if self._assistant is None and role == "assistant" and speaker.lower() in ASSISTANTS:
                self._assistant = start + who.index((role, name))
            if speaker not in self.speakers:
                self.speakers[speaker] = len(self.speakers)
                self.names.update(words(speaker))
            numbers[role, name] = self.speakers[speaker]
        return [numbers[each] for each in who]

    def _link(self, start: int, names: Sequence[str]) -> None:
        """Link the turns from place `start` on, which are of these sessions, to their neighbours, both ways."""
        sessions, befores, last = list[int](), list[int](), self._last
        for place, name in enumerate(names, start):
            session = self._sessions.setdefault(name, len(last))
            if session == len(last):
                self._names.append(name)
                last.append(-1)
            sessions.append(session)
            befores.append(last[session])
            last[session] = place
        turns, here = self._turns, slice(start, start + len(names))
        turns.session[here], turns.before[here], turns.after[here] = sessions, befores, -1
        turns.length[here], turns.lenders[here] = np.minimum(self.words[here], rank.LONGEST), -1
        self._runs.extend([at for at, before in enumerate(befores, start) if before != at - 1 or not at])
        follow = [at for at, before in enumerate(befores, start) if before >= 0]
        turns.after[turns.before[follow]] = follow
        (self._lend if len(follow) <= A_FEW else self._lend_many)(follow)

    def _lend(self, places: Sequence[int]) -> None:
        """Note which turns before these lend them words, and which these lend to."""
        turns = self._turns
        for place in places:
            at = place
            for step in range(REACH if lends(self.words[place]) else 0):
                at = int(turns.before[at])
                if at < 0 or not lends(self.words[at]):
                    break
                turns.lenders[place, step], turns.lenders[at, REACH + step] = at, place
                turns.length[place] += rank.LENT * self.words[at]
                turns.length[at] += rank.LENT * self.words[place]

    def _lend_many(self, places: Sequence[int]) -> None:
        """`_lend` for many turns at a time."""
        turns, said = self._turns, np.frombuffer(self.words, np.int32)
        here = np.array(places, np.int32)
        at = here = here[said[here] <= rank.TOO_LONG]
        for step in range(REACH):
            at = turns.before[at]
            lent = (at >= 0) & (said[at] <= rank.TOO_LONG)
            at, here = at[lent], here[lent]
            turns.lenders[here, step], turns.lenders[at, REACH + step] = at, here
            turns.length[here] += rank.LENT * said[at]
            turns.length[at] += rank.LENT * said[here]
