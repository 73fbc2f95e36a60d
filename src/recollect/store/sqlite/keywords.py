"""The keyword index: words in, positions and scores out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from recollect.store.sqlite.database import Change
from recollect.store.sqlite.scopes import Place
from recollect.store.values import Filter
from recollect.store.words import query_words, words
from recollect.types import Scope

if TYPE_CHECKING:
    import apsw

_EXPECT: Final = "INSERT INTO temp.should (rowid, scope, text) VALUES (?, ?, ?)"
_REMOVE: Final = "INSERT INTO words (words, rowid, scope, text) VALUES ('delete', ?, ?, ?)"
_SEARCH: Final = "SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rank, rowid DESC LIMIT ?"


def message_words(text: str) -> str:
    """The text as the index takes it."""
    return " ".join(words(text))


def add_words(change: Change, position: int, place: Place, kind: str, text: str) -> None:
    """Makes a position findable by these words once the change is flushed."""
    change.words.append((position, _tokens(place, kind), text))


def expect_words(db: apsw.Connection, position: int, place: Place, kind: str, text: str) -> None:
    """The same in the table `check` compares with."""
    db.execute(_EXPECT, (position, _tokens(place, kind), text))


def remove_words(change: Change, position: int, place: Place, kind: str, text: str) -> None:
    """Takes a position out; the words must be the ones it was added with."""
    change.flush()
    change.db.execute(_REMOVE, (position, _tokens(place, kind), text))


def best_by_words(
    db: apsw.Connection, scope: Scope, place: Place, text: str, where: Filter, limit: int
) -> Iterator[tuple[int, float]]:
    """Positions that share a word with the text, and how well, best first."""
    asked = query_words(text)
    if not asked:
        return
    query = f"scope : ({_inside(scope, place, where)}) AND text : ({' OR '.join(map(_quoted, asked))})"
    for position, rank in db.execute(_SEARCH, (query, limit)):
        yield position, -rank


def _tokens(place: Place, kind: str) -> str:
    return f"t{place.tenant} u{place.user} x{place.id} {_kind(kind)}"


def _inside(scope: Scope, place: Place, where: Filter) -> str:
    if where.exact or scope.session is not None:
        owner = f"x{place.id}"
    else:
        owner = f"t{place.tenant}" if scope.user is None else f"u{place.user}"
    kinds = " OR ".join(map(_kind, where.kinds))
    return f"{owner} AND ({kinds})" if kinds else owner


def _kind(kind: str) -> str:
    return "k" + kind.encode().hex()


def _quoted(word: str) -> str:
    return f'"{word}"'
