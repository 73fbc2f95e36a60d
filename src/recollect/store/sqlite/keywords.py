"""The keyword index: words in, positions and scores out.

It may be behind the log by a few positions, the newest: words that are written together cost a fraction of the time.
A search has it catch up first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import apsw

from recollect.errors import StoreError
from recollect.store import checks, codec, words
from recollect.store.sqlite import scopes
from recollect.store.sqlite.scopes import Place
from recollect.store.values import MESSAGE, Filter

if TYPE_CHECKING:
    from recollect.store.protocols import Progress
    from recollect.store.sqlite.change import Change

LAG: Final = 256
"""How many positions the index may be behind."""
FEW, PART = 256, 100
"""Up to so many texts, or that part of all positions, words leave the index one by one."""
LONG: Final = 1_000
"""A longer text counts as one more for every so many letters."""
TOLD: Final = 500
"""After how many positions it is told how far the index has got."""

_MAKE: Final = "DROP TABLE words; CREATE VIRTUAL TABLE words USING fts5 (scope, text, content = '', tokenize = 'ascii')"
_ADD: Final = "INSERT INTO words (rowid, scope, text) VALUES (?, ?, ?)"
_REMOVE: Final = "INSERT INTO words (words, rowid, scope, text) VALUES ('delete', ?, ?, ?)"
_MERGE: Final = "INSERT INTO words (words, rank) VALUES ('merge', 64)"
"""What is written together is a part of the index, and a search looks into each: FTS5 alone lets there be 25."""
_MERGE_ALL: Final = "INSERT INTO words (words) VALUES ('optimize')"
_MARK_ONLY: Final = "INSERT INTO words (words, rank) VALUES ('secure-delete', 0), ('automerge', 0)"
_SECURELY: Final = "INSERT INTO words (words, rank) VALUES ('secure-delete', 1), ('automerge', 4)"
_COUNT: Final = "SELECT (SELECT count(*) FROM message) + (SELECT count(*) FROM item)"
_HELD: Final = "SELECT count(*) FROM words_docsize"
_SETTINGS: Final = "INSERT INTO words (words, rank) VALUES ('secure-delete', 1), ('rank', 'bm25(0.0, 1.0)')"
_SEARCH: Final = (
    "SELECT rowid, bm25(words, 0.0, 1.0) AS score FROM words WHERE words MATCH ? ORDER BY score, rowid DESC LIMIT ?"
)
"""The column `rank` says the same, but compiles a statement each time."""
_TEXTS: Final = (
    "SELECT position, 'message' AS kind, message.id, body, scope.id, user_id, tenant_id FROM message"
    " CROSS JOIN scope ON scope.id = message.session WHERE position > <after><more>"
    " UNION ALL SELECT position, kind, NULL, body, scope.id, user_id, tenant_id FROM item"
    " CROSS JOIN scope ON scope.id = item.scope WHERE position > <after><more>"
)
LAST: Final = (
    "SELECT coalesce(max(position), 0) FROM (SELECT max(position) AS position FROM message"
    " UNION ALL SELECT max(position) FROM item UNION ALL SELECT max(position) FROM record"
    " UNION ALL SELECT max(position) FROM job)"
)
"""The highest position of all that is there."""
_ALL: Final = _TEXTS.replace("<after>", "?1").replace("<more>", "")
_LATE: Final = scopes.by_scope(
    _TEXTS.replace("<after>", "(SELECT indexed FROM counter)").replace(
        "<more>", " AND <in scope> AND (?2 = '[]' OR kind IN (SELECT value FROM json_each(?2)))"
    )
)
_IS_LATE: Final = {level: f"SELECT EXISTS ({query})" for level, query in _LATE.items()}
_LETTERS: Final = {"tenant": "t", "user": "u", "exact": "x"}
"""What a scope's number begins with in the column `scope`, by its level."""


def rows(db: apsw.Connection, after: int = 0) -> Iterator[tuple[int, str, str]]:
    """Position, tokens and words of all that can be found, after a position."""
    for position, kind, id, body, scope, user, tenant in db.execute(_ALL, (after,)):
        yield position, _tokens(scope, user, tenant, kind), _words(kind, id, body) or ""


def catch_up(change: Change) -> None:
    """Puts everything into the index that is not in it yet, and takes out what was removed."""
    take_out(change)
    change.db.executemany(_ADD, [row for row in rows(change.db, change.indexed) if row[2]])
    change.db.execute(_MERGE)
    _is_up_to_date(change)


def rebuild(change: Change, progress: Progress | None = None) -> int:
    """Make the index anew, and put the counter of positions right; returns how many positions have words."""
    change.position = max(change.position, change.db.execute(LAST).get)
    change.gone = []
    change.cursor.execute(_MAKE)
    change.db.execute(_SETTINGS)
    indexed, total = 0, change.db.execute(_COUNT).get
    for done, row in enumerate(rows(change.db), 1):
        if row[2]:
            change.db.execute(_ADD, row)
            indexed += 1
        if progress is not None and (done % TOLD == 0 or done == total):
            progress(done, total)
    change.db.execute(_MERGE_ALL)
    change.db.execute("UPDATE counter SET words = ?", (words.VERSION,))
    _is_up_to_date(change)
    return indexed


def remove_words(change: Change, position: int, place: Place, kind: str, id: str, body: bytes) -> None:
    """Has `take_out` remove the words of a position, if the transaction comes to that."""
    if position <= change.indexed:
        change.gone.append((position, place, kind, id, body))


def take_out(change: Change) -> None:
    """Takes out of the index what was removed.

    Much of it is only marked, and the index is written without what is marked: in one part before and none merged
    meanwhile, since FTS5 leaves marks behind that were merged. Where most is removed, or a text can't be read any more,
    the index is made anew from what is left.
    """
    gone, change.gone = change.gone, []
    texts = [(at, _tokens(*place, kind), _words(kind, id, body)) for at, place, kind, id, body in gone]
    known = sorted(row for row in texts if row[2])
    much = sum(1 + len(text or "") // LONG for *_, text in known)
    if any(text is None for *_, text in texts):
        rebuild(change)
    elif much <= max(FEW, change.position // PART):
        change.db.executemany(_REMOVE, known)
        change.removed.update(word for *_, text in known for word in (text or "").split())
    elif 2 * len(known) > change.db.execute(_HELD).get:
        rebuild(change)
    else:
        change.db.execute(_MARK_ONLY)
        change.db.execute(_MERGE_ALL)
        change.db.executemany(_REMOVE, known)
        change.db.execute(_MERGE_ALL)
        change.db.execute(_SECURELY)


def is_late(db: apsw.Connection, place: Place, where: Filter) -> bool:
    """Whether something that a search may find is not in the index yet."""
    return bool(db.execute(_IS_LATE[place.level(where.exact)], (place.id, checks.id_list(where.kinds))).get)


def best_by_words(
    db: apsw.Connection, place: Place, asked: Sequence[str], where: Filter, limit: int
) -> Iterator[tuple[int, float]]:
    """Positions that share one of these words, and how well, best first."""
    some = " OR ".join(f'"{word}"' for word in asked)
    query = f"scope : ({_inside(place, where)}) AND text : ({some})"
    for position, score in db.execute(_SEARCH, (query, limit)):
        yield position, -score


def late_by_words(
    db: apsw.Connection, place: Place, asked: Sequence[str], where: Filter
) -> Iterator[tuple[int, float]]:
    """The same for what is not in the index yet, in any order; scored only by how often the words stand there."""
    late = _LATE[place.level(where.exact)]
    for position, kind, id, body, *_ in db.execute(late, (place.id, checks.id_list(where.kinds))):
        said = Counter((_words(kind, id, body) or "").split())
        if score := sum(said[word] / (said[word] + 1) for word in asked):
            yield position, score


@lru_cache(maxsize=10_000)
def _tokens(scope: int, user: int, tenant: int, kind: str) -> str:
    """What the column `scope` holds for something of a kind at a place."""
    return f"t{tenant} u{user} x{scope} {_kind(kind)}"


def _is_up_to_date(change: Change) -> None:
    change.indexed = change.position
    change.db.execute("UPDATE counter SET indexed = ?", (change.indexed,))


def _words(kind: str, id: str, body: bytes) -> str | None:
    """The words something is found by, as the index takes them; None if it can't be read."""
    try:
        text = codec.decode_text(id, body) if kind == MESSAGE else str(codec.from_bytes(body)["text"])
    except (StoreError, *codec.DAMAGE):
        return None
    return " ".join(words.words(text))


def _inside(place: Place, where: Filter) -> str:
    owner = f"{_LETTERS[place.level(where.exact)]}{place.id}"
    kinds = " OR ".join(map(_kind, where.kinds))
    return f"{owner} AND ({kinds})" if kinds else owner


def _kind(kind: str) -> str:
    return "k" + kind.encode().hex()
