"""A scope's turns as columns in memory, kept in step with the log: what ranking needs, and no text."""

from __future__ import annotations

import threading
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC

import numpy as np

from recollect.flow.rank import Posting, Turns
from recollect.store import Entry, Store
from recollect.store.words import words
from recollect.types import Message, Scope

PAGE = 1_000
ASSISTANTS = frozenset({"assistant", "ai", "bot", "model"})


def speaker_of(message: Message) -> str:
    """Who said it: the name, else the role."""
    return message.name or message.role


@dataclass(slots=True, eq=False)
class Columns:
    """The turns of one scope. `refresh` takes in what the log has got since; the rest reads."""

    scope: Scope
    position: int = 0
    ids: list[tuple[str, str]] = field(default_factory=list)
    speakers: dict[str, int] = field(default_factory=dict)
    with_assistant: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    places: dict[tuple[str, str], int] = field(default_factory=dict)
    _sessions: dict[str, int] = field(default_factory=dict)
    _last: dict[int, int] = field(default_factory=dict)
    _postings: dict[str, tuple[array[int], array[int]]] = field(default_factory=dict)
    _session: array[int] = field(default_factory=lambda: array("q"))
    _before: array[int] = field(default_factory=lambda: array("q"))
    _after: array[int] = field(default_factory=lambda: array("q"))
    _words: array[float] = field(default_factory=lambda: array("d"))
    _tokens: array[float] = field(default_factory=lambda: array("d"))
    _day: array[int] = field(default_factory=lambda: array("q"))
    _asks: array[int] = field(default_factory=lambda: array("b"))
    _own: array[int] = field(default_factory=lambda: array("b"))
    _speaker: array[int] = field(default_factory=lambda: array("q"))

    def refresh(self, store: Store, count: Callable[[str], int]) -> None:
        """Take in what was added to the log since the last time."""
        while page := store.log.scan(self.scope, after=self.position, limit=PAGE):
            for entry in page:
                self._add(entry, count)
            self.position = page[-1].position
            if len(page) < PAGE:
                return

    def __len__(self) -> int:
        return len(self.ids)

    def session(self, name: str) -> int:
        """The number of a session, -1 where it has no turns."""
        return self._sessions.get(name, -1)

    def turns(self) -> Turns:
        """The columns as arrays; they are copies, so a later `refresh` changes none of them."""
        return Turns(
            np.array(self._session, np.int64),
            np.array(self._before, np.int64),
            np.array(self._after, np.int64),
            np.array(self._words, np.float64),
            np.array(self._tokens, np.float64),
            np.array(self._day, np.int64),
            np.array(self._asks, np.bool_),
            np.array(self._own, np.bool_),
            np.array(self._speaker, np.int64),
        )

    def postings(self, asked: Sequence[str]) -> list[Posting]:
        """Where each of these words stands, for those that stand anywhere."""
        found = (self._postings[word] for word in asked if word in self._postings)
        return [(np.array(places, np.int64), np.array(counts, np.float64)) for places, counts in found]

    def _add(self, entry: Entry, count: Callable[[str], int]) -> None:
        message, text = entry.message, entry.message.text
        if message.role == "system" or not text.strip() or message.at is None:
            return
        place, name = len(self.ids), entry.scope.session or ""
        self.ids.append((name, message.id))
        self.places[name, message.id] = place
        self._link(place, self._sessions.setdefault(name, len(self._sessions)))
        said = words(text)
        for word, times in Counter(said).items():
            places, counts = self._postings.setdefault(word, (array("q"), array("q")))
            places.append(place)
            counts.append(times)
        speaker = speaker_of(message)
        self.with_assistant |= message.role == "assistant" and speaker.lower() in ASSISTANTS
        self._words.append(len(said))
        self._tokens.append(count(f"{speaker}: {text}"))
        self._day.append(message.at.astimezone(UTC).toordinal())
        self._asks.append(text.rstrip().endswith(("?", "\uff1f")))
        self._own.append(message.role == "user")
        self._speaker.append(self.speakers.setdefault(speaker, len(self.speakers)))

    def _link(self, place: int, session: int) -> None:
        before = self._last.get(session, -1)
        self._session.append(session)
        self._before.append(before)
        self._after.append(-1)
        if before >= 0:
            self._after[before] = place
        self._last[session] = place
