"""Words as the keyword index keeps them: hashed with their tenant, so that they match no other tenant's."""

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
"""Words in one tsvector, at most; PostgreSQL allows it a megabyte."""

MOST: Final = 16_383
"""The largest place in a tsvector, where counts are kept: the largest count of a word."""

KNOWN: Final = 50_000
"""How many words are remembered with their hashes."""

_SMALL: Final = {1: "D", 2: "C", 3: "B"}
"""Small counts are kept as weights too: a query tests those much faster than it reads a place."""


def lexemes(tenant: str) -> Callable[[str], str]:
    """The function that hashes the words of a tenant."""
    return partial(_lexeme, sha256(tenant.encode()).digest())


@remembered(KNOWN)
def _lexeme(salt: bytes, word: str) -> str:
    return blake2b(word.encode("utf-8", "surrogatepass"), key=salt, digest_size=7).hexdigest()


def pieces(at: Place, found: Sequence[str]) -> list[str]:
    """The words of a text with their counts as tsvectors: one, or more where there are very many words."""
    lexeme = lexemes(at.tenant)
    counts = [f"{lexeme(word)}:{min(count, MOST)}{_SMALL.get(count, 'A')}" for word, count in Counter(found).items()]
    tokens = f"{lexeme(_owner(at))}:1 {lexeme(_session(at))}:1"
    return [" ".join((tokens, *counts[start : start + PIECE])) for start in range(0, len(counts), PIECE)]


def query(scope: Scope, exact: bool, asked: Sequence[str]) -> str:
    """The tsquery for texts in the scope that hold one of the asked lexemes."""
    at, some = place(scope), " | ".join(asked)
    lexeme = lexemes(at.tenant)
    if exact or scope.session is not None:
        return f"{lexeme(_session(at))} & ({some})"
    return some if scope.user is None else f"{lexeme(_owner(at))} & ({some})"


def _owner(at: Place) -> str:
    return f"\x00{at.owner}"


def _session(at: Place) -> str:
    return f"\x00{at.owner}\x00{at.session}"
