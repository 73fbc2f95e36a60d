"""Writing messages into their rows, and reading them back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from recollect.store import codec, rules
from recollect.store.postgres.connection import Connection
from recollect.store.postgres.items import INTO_ITEMS, insert_words, tag_text
from recollect.store.postgres.jobs import enqueue_later
from recollect.store.postgres.keys import inside, key, named, names, place
from recollect.store.postgres.lexemes import pieces
from recollect.store.values import MESSAGE, Entry, Job, tagged, taken_off
from recollect.store.words import words
from recollect.types import Message, Scope

ENTRIES: Final = (
    "SELECT seq, position, id, body, tokens, hash, tags, names, owner, session FROM recollect.messages WHERE"
)
# An id is looked up as the first one that is not smaller, since without table statistics the planner might read all of
# the owner's messages. The number of ids is hidden from the planner, or it would make a new plan each time.
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
    SELECT * FROM unnest(%(id)s::text[], %(position)s::bigint[], %(tokens)s::bigint[], %(salt)s::bytea[],
        %(hash)s::bytea[], %(body)s::bytea[], %(names)s::bytea[], %(at)s::bigint[], %(role)s::text[], %(tags)s::text[],
        %(length)s::integer[], %(wordless)s::boolean[], %(item_names)s::bytea[], %(words)s::text[]) WITH ORDINALITY
    AS new (id, position, tokens, salt, hash, body, names, at, role, tags, length, wordless, item_names, words, place)
), messages AS (
    INSERT INTO recollect.messages (tenant, owner, session, seq, id, position, tokens, salt, hash, body, names)
    SELECT %(tenant)s, %(owner)s, %(session)s, %(before)s + place, id, position, tokens, salt, hash, body, names
    FROM new
), items AS (<into items>
    SELECT %(tenant)s, %(owner)s, %(session)s, 'message', id, position, at, role, tags::bigint[], ARRAY[id], length,
        wordless, NULL, item_names FROM new
), words AS (
    INSERT INTO recollect.words (tenant, position, piece, words)
    SELECT %(tenant)s, position, 0, words::tsvector FROM new WHERE words IS NOT NULL
)
INSERT INTO recollect.sessions AS old
    (tenant, owner, session, seq, hash, position, messages, tokens, first, last, names)
VALUES (%(tenant)s, %(owner)s, %(session)s, %(last_seq)s, %(last_hash)s, %(last_position)s, %(count)s, %(total)s,
    %(first)s, %(last)s, %(own_names)s)
ON CONFLICT (tenant, owner, session) DO UPDATE SET
    seq = excluded.seq, hash = excluded.hash, position = excluded.position, last = excluded.last,
    messages = old.messages + excluded.messages, tokens = old.tokens + excluded.tokens,
    first = coalesce(old.first, excluded.first)
""".replace("<into items>", INTO_ITEMS)


class Ready(NamedTuple):
    """A message ready for its row; `given` is compared with the kept message if the session has its id already."""

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
    """The messages, with everything that can be computed before asking the database."""
    return [
        Ready(one if one.id else message, message, count, codec.encode(message), words(message.text))
        for one, message, count in zip(given, arrived, counts, strict=True)
    ]


def append(db: Connection, scope: Scope, batch: Sequence[Ready], jobs: Sequence[Job], now: datetime) -> list[Entry]:
    """Add the messages that are new, and enqueue the jobs if any was; returns the entries of all the messages."""
    out: list[Entry] = []
    new: list[_New] = []
    kept, seq, link, positions = _before(db, scope, batch)
    for one in batch:
        message = one.message
        if message.id in kept:
            original, entry = kept[message.id]
            rules.check_same_message(one.given, original)
        else:
            seq, salt = seq + 1, codec.new_salt()
            link = codec.chained(link, salt, message.id, one.body)
            entry = Entry(scope, seq, next(positions), message, one.tokens, link)
            kept[message.id] = message, entry
            new.append(_New(one, entry, salt))
        out.append(entry)
    if new:
        _insert(db, scope, new)
        before = new[0].entry.seq - 1
        enqueue_later(db, scope, (job for job in jobs if job.reached(before, seq)), now)
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
    at, full = place(scope), (scope.tenant, scope.user, scope.session)
    entries, messages = [one.entry for one in new], [one.ready.message for one in new]
    times = [codec.micros(message.at or codec.EPOCH) for message in messages]
    texts = {one.entry.position: pieces(at, one.ready.words) for one in new}
    columns = {
        "id": [key(message.id) for message in messages],
        "position": [entry.position for entry in entries],
        "tokens": [entry.tokens for entry in entries],
        "salt": [one.salt for one in new],
        "hash": [entry.hash for entry in entries],
        "body": [one.ready.body for one in new],
        "names": [names(*full, message.id) for message in messages],
        "at": times,
        "role": [message.role for message in messages],
        "tags": [tag_text(message.metadata) for message in messages],
        "length": [len(one.ready.words) for one in new],
        "wordless": [not message.text for message in messages],
        "item_names": [names(*full, MESSAGE, message.id) for message in messages],
        "words": [found[0] if found else None for found in texts.values()],
    }
    head = {
        "before": entries[0].seq - 1,
        "last_seq": entries[-1].seq,
        "last_hash": entries[-1].hash,
        "last_position": entries[-1].position,
        "count": len(new),
        "total": sum(entry.tokens for entry in entries),
        "first": times[0],
        "last": times[-1],
        "own_names": names(*full),
    }
    db.later(_PUT, at._asdict() | columns | head)
    if any(len(found) > 1 for found in texts.values()):
        insert_words(db, scope.tenant, {position: found[1:] for position, found in texts.items()}, start=1)


def entry_from(scope: Scope, row: Sequence[Any]) -> Entry:
    """The entry of a row that `ENTRIES` found in the scope."""
    seq, position, _, _, tokens, link, tags, full, owner, session = row
    message, later = _original(row), codec.from_bytes(tags) if tags else {}
    if later:
        message = tagged(message, later)
    where = named(*codec.from_bytes(full)[:3]) if full else named(scope.tenant, owner, session)
    return Entry(where, seq, position, message, tokens, link, taken_off(later))


def _original(row: Sequence[Any]) -> Message:
    _, _, id, body, _, _, _, full, *_ = row
    return codec.decode(codec.from_bytes(full)[3] if full else id, body)
