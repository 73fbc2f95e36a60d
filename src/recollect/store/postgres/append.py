"""Messages into their rows, and out again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from recollect.store import codec
from recollect.store.postgres.connection import Connection
from recollect.store.postgres.items import Prepared, insert
from recollect.store.postgres.jobs import Waiting, enqueue_later
from recollect.store.postgres.keys import inside, key, named, names, place
from recollect.store.values import Entry, Item, item_of, tagged
from recollect.store.words import words
from recollect.types import Message, Scope

ENTRIES: Final = (
    "SELECT seq, position, id, body, tokens, hash, tags, names, owner, session FROM recollect.messages WHERE"
)
# An id is looked up as the first that is not before it: a planner that knows nothing of the table yet would as soon
# read all that the owner said. How many ids there are is hidden from it, or it would plan anew each time.
_HEAD: Final = """
SELECT ARRAY(SELECT nextval('recollect.positions') FROM unnest(asked.ids)), head.seq, head.hash,
    EXISTS (SELECT FROM unnest(asked.ids) AS new (id) WHERE new.id = (SELECT old.id FROM recollect.messages AS old
        WHERE old.tenant = %(tenant)s AND old.owner = %(owner)s AND old.session = %(session)s AND old.id >= new.id
        ORDER BY old.id LIMIT 1))
FROM (SELECT ARRAY(SELECT unnest(%(ids)s::text[])) AS ids) AS asked LEFT JOIN recollect.sessions AS head
ON head.tenant = %(tenant)s AND head.owner = %(owner)s AND head.session = %(session)s
"""
_PUT: Final = """
WITH new AS (
    INSERT INTO recollect.messages (tenant, owner, session, seq, id, position, tokens, salt, hash, body, names)
    SELECT %(tenant)s, %(owner)s, %(session)s, * FROM unnest(%(seq)s::bigint[], %(id)s::text[], %(position)s::bigint[],
        %(tokens)s::bigint[], %(salt)s::bytea[], %(hash)s::bytea[], %(body)s::bytea[], %(names)s::bytea[])
)
INSERT INTO recollect.sessions AS old
    (tenant, owner, session, seq, hash, position, messages, tokens, first, last, names)
VALUES (%(tenant)s, %(owner)s, %(session)s, %(last_seq)s, %(last_hash)s, %(last_position)s, %(count)s, %(total)s,
    %(first)s, %(last)s, %(own_names)s)
ON CONFLICT (tenant, owner, session) DO UPDATE SET
    seq = excluded.seq, hash = excluded.hash, position = excluded.position, last = excluded.last,
    messages = old.messages + excluded.messages, tokens = old.tokens + excluded.tokens,
    first = coalesce(old.first, excluded.first)
"""


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
        enqueue_later(db, scope, jobs.reached(new[0].entry.seq - 1, seq))
    return out


def _before(
    db: Connection, scope: Scope, batch: Sequence[Ready]
) -> tuple[dict[str, tuple[Message, Entry]], int, bytes, Iterator[int]]:
    condition, at = inside(scope, "messages")
    at |= {"ids": [key(one.message.id) for one in batch]}
    ((positions, seq, link, again),) = db.ask(_HEAD, at)
    known = db.ask(" ".join((ENTRIES, condition, "AND id = ANY(%(ids)s)")), at) if again else []
    entries = [(_original(row), entry_from(scope, row)) for row in known]
    kept = {message.id: (message, entry) for message, entry in entries}
    return kept, seq or 0, link or codec.START, iter(positions)


def _insert(db: Connection, scope: Scope, new: Sequence[_New]) -> None:
    full = (scope.tenant, scope.user, scope.session)
    last = new[-1].entry
    times = [codec.micros(one.ready.message.at or codec.EPOCH) for one in (new[0], new[-1])]
    columns = {
        "seq": [one.entry.seq for one in new],
        "id": [key(one.ready.message.id) for one in new],
        "position": [one.entry.position for one in new],
        "tokens": [one.ready.tokens for one in new],
        "salt": [one.salt for one in new],
        "hash": [one.entry.hash for one in new],
        "body": [one.ready.body for one in new],
        "names": [names(*full, one.ready.message.id) for one in new],
    }
    head = {"last_seq": last.seq, "last_hash": last.hash, "last_position": last.position, "own_names": names(*full)}
    head |= {"count": len(new), "total": sum(one.ready.tokens for one in new), "first": times[0], "last": times[1]}
    db.later(_PUT, place(scope)._asdict() | columns | head)
    insert(db, scope, [Prepared(_item(one.entry), one.ready.words) for one in new])


def _item(entry: Entry) -> Item:
    return item_of(entry.message, entry.scope, entry.position)


def entry_from(scope: Scope, row: Sequence[Any]) -> Entry:
    """The entry of a row of `ENTRIES` that was found in the scope."""
    seq, position, _, _, tokens, link, tags, full, owner, session = row
    message = _original(row)
    if tags:
        message = tagged(message, codec.from_bytes(tags))
    where = named(*codec.from_bytes(full)[:3]) if full else named(scope.tenant, owner, session)
    return Entry(where, seq, position, message, tokens, link)


def _original(row: Sequence[Any]) -> Message:
    full = row[7]
    return codec.decode(codec.from_bytes(full)[3] if full else row[2], row[3])


def items_of(db: Connection, scope: Scope, condition: str) -> list[Item]:
    """The items of the messages in the scope for which the condition holds."""
    clause, known = inside(scope, "messages")
    found = db.ask(" ".join((ENTRIES, clause, "AND body IS NOT NULL", condition)), known)
    return [_item(entry_from(scope, row)) for row in found]
