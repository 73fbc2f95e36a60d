"""Removes erased words from the borders of the keyword index's pages, where FTS5 would leave them in the file."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from typing import Final

import apsw

_MAIN: Final = b"0"
"""The prefix of words in the table of borders, which could also have entries of other kinds."""

_BORDERS: Final = "SELECT segid, term FROM words_idx WHERE typeof(term) = 'blob'"
_KNOWN: Final = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.known USING fts5vocab('main', 'words', 'instance')"
_NEXT_WORD: Final = "SELECT CAST(term AS BLOB) FROM temp.known WHERE term >= CAST(? AS TEXT) ORDER BY term LIMIT 1"
_NEXT_BORDER: Final = "SELECT min(term) FROM words_idx WHERE segid = ? AND term > ?"


def forget(db: apsw.Connection, removed: Collection[str]) -> None:
    """Move each border that is left from one of the removed words to the next word that is still there."""
    db.execute("SAVEPOINT written; RELEASE written")
    gone = sorted(_MAIN + word.encode() for word in removed)
    left = [(part, border) for part, border in db.execute(_BORDERS) if _begins_one(border, gone)]
    db.execute(_KNOWN)
    for part, border in left:
        _move(db, part, border)


def _begins_one(border: bytes, gone: list[bytes]) -> bool:
    place = bisect_left(gone, border)
    return len(border) > len(_MAIN) and place < len(gone) and gone[place].startswith(border)


def _move(db: apsw.Connection, part: int, border: bytes) -> None:
    """Make a page begin with the first word that still exists at or after its border.

    If the next page begins at or before that word, or there is no such word, drop the page's border instead.
    """
    found = db.execute(_NEXT_WORD, (border[len(_MAIN) :],)).fetchone()
    word = None if found is None else _MAIN + found[0]
    end = db.execute(_NEXT_BORDER, (part, border)).get
    if word is None or (end is not None and word >= end):
        db.execute("DELETE FROM words_idx WHERE segid = ? AND term = ?", (part, border))
    elif not word.startswith(border):
        db.execute("UPDATE words_idx SET term = ? WHERE segid = ? AND term = ?", (word, part, border))
