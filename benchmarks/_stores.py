"""The stores to compare: the same few verbs over each one's own."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any

import apsw
from agents.memory.sqlite_session import SQLiteSession
from langgraph.checkpoint.sqlite import SqliteSaver

from recollect.store.sqlite import SqliteStore
from recollect.store.sqlite.keywords import LAG
from recollect.types import Message, Scope

TRIP = Scope("acme", "ada", "trip")
HASH, SALT = bytes(range(32)), bytes(range(16))


class Keeper(ABC):
    """Somewhere to append messages to one session, and to read the last ones from."""

    name = ""

    def __init__(self, path: Path, durability: str = "full") -> None:
        self.path, self.durability = path, durability

    def convert(self, text: str) -> Any:
        """A message of a user in its own form."""
        return {"role": "user", "content": text}

    def fill(self, texts: Iterator[str], count: int) -> None:
        """Messages up to that many, so that the files are as large as they get before they are written over."""
        for _ in range(count // 100):
            self.append([self.convert(text) for text in islice(texts, 100)])

    @abstractmethod
    def append(self, batch: Sequence[Any]) -> None: ...

    @abstractmethod
    def last(self, limit: int) -> int: ...

    @abstractmethod
    def close(self) -> None: ...


class SlowDisk(apsw.VFS):
    """This disk, but a sync takes two milliseconds longer, as on a disk behind a network."""

    name, seconds = "slow", 0.002

    def __init__(self) -> None:
        super().__init__(self.name, "")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return _SlowFile("", name, flags)


class _SlowFile(apsw.VFSFile):
    def xSync(self, flags: int) -> None:
        time.sleep(SlowDisk.seconds)
        super().xSync(flags)


class Recollect(Keeper):
    name = "recollect"

    def __init__(self, path: Path, durability: str = "full", vfs: str | None = None) -> None:
        super().__init__(path, durability)
        self.store = SqliteStore(path, durability="full" if durability == "full" else "normal", vfs=vfs)

    def append_at_once(self, each: Sequence[Sequence[Message]]) -> None:
        """One by one what each of several threads has to append."""
        threads = [threading.Thread(target=self._append_each, args=(mine,)) for mine in each]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _append_each(self, messages: Sequence[Message]) -> None:
        for message in messages:
            self.append([message])

    def convert(self, text: str) -> Message:
        return Message("user", text)

    def append(self, batch: Sequence[Message]) -> None:
        self.store.log.append(TRIP, batch)

    def last(self, limit: int) -> int:
        return len(self.store.log.read(TRIP, limit=limit, reverse=True))

    def close(self) -> None:
        self.store.close()


class RawRow(Keeper):
    """By hand with sqlite3: one table, one row a message, no index of words."""

    name = "sqlite3, one row"

    def __init__(self, path: Path, durability: str = "full") -> None:
        super().__init__(path, durability)
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute(f"PRAGMA synchronous = {durability}")
        self.numbers = count(1)
        self.create()

    def create(self) -> None:
        self.db.execute(
            "CREATE TABLE message"
            " (position INTEGER PRIMARY KEY, session TEXT, seq INTEGER, body TEXT, UNIQUE (session, seq))"
        )

    def append(self, batch: Sequence[Any]) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        for message in batch:
            self.insert(next(self.numbers), message)
        self.db.execute("COMMIT")

    def insert(self, number: int, message: Any) -> None:
        self.db.execute("INSERT INTO message (session, seq, body) VALUES ('trip', ?, ?)", (number, json.dumps(message)))

    def last(self, limit: int) -> int:
        query = "SELECT body FROM message WHERE session = 'trip' ORDER BY seq DESC LIMIT ?"
        return len([json.loads(row[0]) for row in self.db.execute(query, (limit,))])

    def close(self) -> None:
        self.db.close()


class RawRows(RawRow):
    """By hand with sqlite3, what we write: the message with an index of ids, the session's totals, the last position.

    Words go to the keyword index when as many wait as we let wait. What must be right whoever else writes to the file
    is read from it: the numbers, and the texts that wait. There is no hash, only room for one.
    """

    name = "sqlite3, same rows"

    def create(self) -> None:
        self.db.executescript(
            """
            CREATE TABLE message (position INTEGER PRIMARY KEY, session INTEGER, seq INTEGER, tokens INTEGER,
                at INTEGER, role TEXT, id TEXT, hash BLOB, salt BLOB, body BLOB);
            CREATE UNIQUE INDEX message_seq ON message (session, seq);
            CREATE UNIQUE INDEX message_id ON message (id, session);
            CREATE TABLE session (scope INTEGER PRIMARY KEY, seq INTEGER, hash BLOB, position INTEGER,
                messages INTEGER, tokens INTEGER, first INTEGER, last INTEGER);
            CREATE TABLE counter (position INTEGER, indexed INTEGER);
            INSERT INTO counter VALUES (0, 0);
            CREATE VIRTUAL TABLE words USING fts5 (scope, text, content = '', tokenize = 'porter ascii');
            """
        )

    def append(self, batch: Sequence[Any]) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        position, indexed = self.db.execute("SELECT position, indexed FROM counter").fetchone()
        found = self.db.execute("SELECT seq, first FROM session WHERE scope = 3").fetchone()
        now = time.time_ns() // 1_000
        seq, first = found or (0, now)
        rows = [
            (
                position + n,
                seq + n,
                now,
                message["role"],
                f"{position + n:028x}",
                HASH,
                SALT,
                json.dumps(message).encode(),
            )
            for n, message in enumerate(batch, 1)
        ]
        position, seq = rows[-1][:2]
        self.db.executemany("INSERT INTO message VALUES (?, 3, ?, 30, ?, ?, ?, ?, ?, ?)", rows)
        totals = (seq, HASH, position, seq, 30 * seq, first, now)
        self.db.execute("INSERT OR REPLACE INTO session VALUES (3, ?, ?, ?, ?, ?, ?, ?)", totals)
        if position - indexed >= LAG:
            self.add_words(indexed)
            indexed = position
        self.db.execute("UPDATE counter SET position = ?, indexed = ?", (position, indexed))
        self.db.execute("COMMIT")

    def add_words(self, after: int) -> None:
        waiting = self.db.execute("SELECT position, body FROM message WHERE position > ?", (after,))
        self.db.executemany(
            "INSERT INTO words (rowid, scope, text) VALUES (?, 't1 u2 x3 k6d657373616765', ?)",
            [(position, json.loads(body)["content"]) for position, body in waiting],
        )


class _NormalSession(SQLiteSession):
    """Its connections as they are, but for syncing less often."""

    def _get_connection(self) -> sqlite3.Connection:
        connection = super()._get_connection()
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection


class Agents(Keeper):
    """The OpenAI Agents SDK: a connection a thread, write-ahead, as it comes every commit synced."""

    name = "openai-agents SQLiteSession"

    def __init__(self, path: Path, durability: str = "full") -> None:
        super().__init__(path, durability)
        self.loop = asyncio.new_event_loop()
        self.session = (SQLiteSession if durability == "full" else _NormalSession)("trip", path)

    def append_at_once(self, each: Sequence[Sequence[Any]]) -> None:
        """One by one what each of several tasks has to append."""

        async def task(messages: Sequence[Any]) -> None:
            for message in messages:
                await self.session.add_items([message])

        async def tasks() -> None:
            await asyncio.gather(*map(task, each))

        self.loop.run_until_complete(tasks())

    def append(self, batch: Sequence[Any]) -> None:
        self.loop.run_until_complete(self.session.add_items(list(batch)))

    def last(self, limit: int) -> int:
        return len(self.loop.run_until_complete(self.session.get_items(limit)))

    def close(self) -> None:
        self.session.close()
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


class LangGraph(Keeper):
    """LangGraph's saver: each step writes the whole state."""

    name = "langgraph SqliteSaver"

    def __init__(self, path: Path, durability: str = "full") -> None:
        super().__init__(path, durability)
        self.db = sqlite3.connect(path, check_same_thread=False)
        self.db.execute(f"PRAGMA synchronous = {durability}")
        self.saver = SqliteSaver(self.db)
        self.state: list[Any] = []
        self.config: Any = {"configurable": {"thread_id": "trip", "checkpoint_ns": ""}}

    def fill(self, texts: Iterator[str], count: int) -> None:
        """Nothing, in its favour: with so much in its state a step would cost a hundred times as much."""

    def append(self, batch: Sequence[Any]) -> None:
        self.state += batch
        number = len(self.state)
        checkpoint: Any = {
            "v": 1,
            "id": f"{number:032x}",
            "ts": "2026-05-17T12:00:00+00:00",
            "channel_values": {"messages": self.state},
            "channel_versions": {"messages": number},
            "versions_seen": {},
        }
        self.config = self.saver.put(self.config, checkpoint, {"source": "loop", "step": number}, {"messages": number})

    def last(self, limit: int) -> int:
        found = self.saver.get_tuple({"configurable": {"thread_id": "trip", "checkpoint_ns": ""}})
        return 0 if found is None else len(found.checkpoint["channel_values"]["messages"][-limit:])

    def close(self) -> None:
        self.db.close()
