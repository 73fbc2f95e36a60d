"""How much of a question's words a text holds: what stands in for meaning where there is no model."""

from __future__ import annotations

import math
from collections.abc import Container, Hashable, Mapping, Sequence
from typing import Final, TypeVar

K = TypeVar("K", bound=Hashable)

FEW: Final = 8
"""Fewer texts than these say little of how rare a word is: they count as so many."""
SATURATION: Final = 2.0
"""How often a text of the usual length says a word for half of what it can count."""
LENGTH: Final = 0.75
"""How much a text's length counts against it."""


def shares(asked: Sequence[str], held: Mapping[K, Container[str]]) -> dict[K, float]:
    """For each text, by its key, the share of the asked words that it holds, from 0 to 1.

    Rare words count more than those that many of the texts hold, and most of all those that none does: a text which
    shares only everyday words with a question is not about it.
    """
    weights = _rarities(asked, held)
    total = sum(weights.values())
    return {
        key: sum(weight for word, weight in weights.items() if word in said) / total if total else 0.0
        for key, said in held.items()
    }


def dwelling(asked: Sequence[str], counted: Mapping[K, Mapping[str, int]]) -> dict[K, float]:
    """For each text, by its key, how much it dwells on the asked words; it is given as how often it says each word.

    This is BM25 among these texts alone: what else a store holds changes no order.
    """
    weights = _rarities(asked, counted)
    lengths = {key: sum(said.values()) for key, said in counted.items()}
    usual = sum(lengths.values()) / max(1, len(lengths)) or 1.0
    full = {key: SATURATION * (1 - LENGTH + LENGTH * length / usual) for key, length in lengths.items()}
    return {
        key: sum(weight * said[word] / (said[word] + full[key]) for word, weight in weights.items() if word in said)
        for key, said in counted.items()
    }


def unheard(holders: Sequence[int], texts: int) -> float:
    """The part of a question that none of the `texts` texts holds; `holders` says how many hold each of its words.

    Rare words count more; a question without words has no part that is unheard.
    """
    weights = [rarity(min(held, texts), texts) for held in holders]
    return sum(weight for weight, held in zip(weights, holders, strict=True) if not held) / (sum(weights) or 1.0)


def rarity(holders: int, texts: int) -> float:
    """How much a word counts that so many of the texts hold."""
    return math.log(1 + (texts - holders + 0.5) / (holders + 0.5))


def _rarities(asked: Sequence[str], held: Mapping[K, Container[str]]) -> dict[str, float]:
    texts = max(len(held), FEW)
    return {word: rarity(sum(word in said for said in held.values()), texts) for word in asked}
