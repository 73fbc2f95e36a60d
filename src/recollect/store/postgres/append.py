"""Messages into their rows, and out again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from recollect.store import codec
from recollect.store.postgres.database import rows
from recollect.store.postgres.driver import Connection
from recollect.store.postgres.items import PUT as PUT_ITEM
from recollect.store.postgres.items import PUT_WORDS, item_of, row_of
from recollect.store.postgres.jobs import Waiting, enqueue
from recollect.store.postgres.keys import inside, key, named, names, place
from recollect.store.postgres.lexemes import pieces
from recollect.store.values import Entry, Item, metadata_with
from recollect.store.words import words
from recollect.types import Message, Scope

ENTRIES: Final = (
    "SELECT seq, position, id, body, tokens, hash, tags, names, owner, session FROM recollect.messages WHERE"
)
_HEAD: Final = (
    "SELECT seq, hash FROM recollect.sessions WHERE tenant = %(tenant)s AND owner = %(owner)s AND session = %(session)s"
)
_POSITIONS: Final = "SELECT nextval('recollect.positions') FROM generate_series(1, %s)"
_PUT: Final = (
    "INSERT INTO recollect.messages (tenant, owner, session, seq, id, position, tokens, salt, hash, body, names)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
_PUT_HEAD: Final = (
    "INSERT INTO recollect.sessions AS old (tenant, owner, session, seq, hash, position, messages, tokens, first, last,"
    " names) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (tenant, owner, session) DO UPDATE SET"
    " seq = excluded.seq, hash = excluded.hash, position = excluded.position, last = excluded.last,"
    " messages = old.messages + excluded.messages, tokens = old.tokens + excluded.tokens,"
    " first = coalesce(old.first, excluded.first)"
)


class Ready(NamedTuple):
    """A message as it goes into a row; `given` is what it must equal if it is there already."""

    given: Message
    message: Message
    tokens: int
    body: bytes
    words: Sequence[str]


class _New(NamedTuple):
    ready: Ready
    entry: Entry
    salt: bytes


def ready(given: Sequence[Message], arrived: Sequence[Message], counts: Sequence[int]) -> list[Ready]:
    """Everything about the messages that can be worked out before the database is asked."""
    return [
        Ready(one if one.id else message, message, count, codec.encode(message), words(message.text))
        for one, message, count in zip(given, arrived, counts, strict=True)
    ]


def append(db: Connection, scope: Scope, batch: Sequence[Ready], jobs: Waiting) -> list[Entry]:
    """The entries of the batch; its jobs wait if any message was new."""
    out: list[Entry] = []
    new: list[_New] = []
    kept, seq, link, positions = _before(db, scope, batch)
    for one in batch:
        message = one.message
        if message.id in kept:
            original, entry = kept[message.id]
            codec.check_same(one.given, original)
        else:
            seq, salt = seq + 1, codec.new_salt()
            link = codec.chained(link, salt, message.id, one.body)
            entry = Entry(scope, seq, next(positions), message, one.tokens, link)
            kept[message.id] = message, entry
            new.append(_New(one, entry, salt))
        out.append(entry)
    if new:
        _insert(db, scope, new)
        enqueue(db, scope, jobs)
    return out


def _before(
    db: Connection, scope: Scope, batch: Sequence[Ready]
) -> tuple[dict[str, tuple[Message, Entry]], int, bytes, Iterator[int]]:
    condition, at = inside(scope, "messages")
    head = db.execute(_HEAD, at, binary=True)
    ids = [key(one.message.id) for one in batch]
    known = db.execute(" ".join((ENTRIES, condition, "AND id = ANY(%(ids)s)")), at | {"ids": ids}, binary=True)
    free = rows(db, _POSITIONS, (len(batch),))
    seq, link = head.fetchone() or (0, codec.START)
    entries = [(_original(row), entry_from(scope, row)) for row in known.fetchall()]
    return {message.id: (message, entry) for message, entry in entries}, seq, link, (row[0] for row in free)


def _insert(db: Connection, scope: Scope, new: Sequence[_New]) -> None:
    at = place(scope)
    full = (scope.tenant, scope.user, scope.session)
    messages, items, texts = [], [], []
    for one, entry, salt in new:
        message, position = one.message, entry.position
        own = (position, one.tokens, salt, entry.hash, one.body, names(*full, message.id))
        messages.append((*at, entry.seq, key(message.id), *own))
        items.append(row_of(at, item_of(message, scope, position), position, len(one.words), None))
        texts += [(at.tenant, position, piece, text) for piece, text in enumerate(pieces(at, one.words))]
    cursor = db.cursor()
    cursor.executemany(_PUT, messages)
    cursor.executemany(PUT_ITEM, items)
    if texts:
        cursor.executemany(PUT_WORDS, texts)
    last, times = new[-1].entry, [codec.micros(new[n].ready.message.at or codec.EPOCH) for n in (0, -1)]
    tokens = sum(one.ready.tokens for one in new)
    cursor.execute(_PUT_HEAD, (*at, last.seq, last.hash, last.position, len(new), tokens, *times, names(*full)))


def entry_from(scope: Scope, row: Sequence[Any]) -> Entry:
    """The entry of a row of `ENTRIES` that was found in the scope."""
    seq, position, _, _, tokens, link, tags, full, owner, session = row
    message = _original(row)
    if tags:
        message = message.replace(metadata=metadata_with(message.metadata, codec.from_bytes(tags)))
    where = named(*codec.from_bytes(full)[:3]) if full else named(scope.tenant, owner, session)
    return Entry(where, seq, position, message, tokens, link)


def _original(row: Sequence[Any]) -> Message:
    full = row[7]
    return codec.decode(codec.from_bytes(full)[3] if full else row[2], row[3])


def items_of(db: Connection, scope: Scope, condition: str) -> list[Item]:
    """The items of the messages in the scope for which the condition holds."""
    clause, known = inside(scope, "messages")
    found = rows(db, " ".join((ENTRIES, clause, "AND body IS NOT NULL", condition)), known)
    entries = [entry_from(scope, row) for row in found]
    return [item_of(entry.message, entry.scope, entry.position) for entry in entries]
