"""Words as the keyword index keeps them: hashed with the tenant, so that they can't match another tenant's words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b, sha256
from typing import Final

from recollect.recent import remembered
from recollect.store.postgres.keys import Place, place
from recollect.types import Scope

PIECE: Final = 20_000
"""The most words in one tsvector, which PostgreSQL limits to a megabyte."""

MOST: Final = 16_383
"""The largest count of a word that can be kept: counts are stored as positions in the tsvector."""

KNOWN: Final = 50_000
"""How many words are cached with their hashes."""

_SMALL: Final = {1: "D", 2: "C", 3: "B"}
"""Small counts are also kept as weights, because a query tests a weight much faster than it reads a position."""


def lexemes(tenant: str) -> Callable[[str], str]:
    """The function that hashes the words of a tenant."""
    return partial(_lexeme, sha256(tenant.encode()).digest())


@remembered(KNOWN)
def _lexeme(salt: bytes, word: str) -> str:
    return blake2b(word.encode("utf-8", "surrogatepass"), key=salt, digest_size=7).hexdigest()


def pieces(at: Place, found: Sequence[str]) -> list[str]:
    """The words of a text with their counts as tsvectors: one, or more if there are very many words."""
    lexeme = lexemes(at.tenant)
    counts = [f"{lexeme(word)}:{min(count, MOST)}{_SMALL.get(count, 'A')}" for word, count in Counter(found).items()]
    tokens = f"{lexeme(_owner(at))}:1 {lexeme(_session(at))}:1"
    return [" ".join((tokens, *counts[start : start + PIECE])) for start in range(0, len(counts), PIECE)]


def query(scope: Scope, exact: bool, asked: Sequence[str]) -> str:
    """The tsquery for texts in the scope that have one of the lexemes."""
    at, some = place(scope), " | ".join(asked)
    lexeme = lexemes(at.tenant)
    if exact or scope.session is not None:
        return f"{lexeme(_session(at))} & ({some})"
    return some if scope.user is None else f"{lexeme(_owner(at))} & ({some})"


def _owner(at: Place) -> str:
    return f"\x00{at.owner}"


def _session(at: Place) -> str:
    return f"\x00{at.owner}\x00{at.session}"
