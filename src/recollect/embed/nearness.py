"""Cosines as a share of the way from unrelated to identical, so that one threshold serves every model.

Models differ in where their cosines lie: e5's begin near 0.7, others' near 0. Where they lie for texts that have
nothing to do with each other is measured once for a model: one standard deviation above their mean is 0 here. Of many
unrelated texts the nearest lies further above it, the further the more there are.
"""

from __future__ import annotations

import math
from typing import Final

from recollect.embed.embedder import Embedder

UNRELATED: Final = (
    ("How do I reset my password?", "Oslo is the largest city of Norway, at the head of a long fjord."),
    ("Which vaccines does a puppy need?", "Invoices are due within thirty days by bank transfer."),
    ("How long do I boil an egg?", "The firm was started in 1987 by two engineers in a rented garage."),
    ("What causes the tides?", "Open the settings page, choose Account, then Security."),
    ("Who wrote the play about the Danish prince?", "Leave the dough to rise for an hour in a warm place."),
    ("When does the last train leave?", "The patient was given antibiotics and sent home after a week."),
    ("How tall is the tower?", "Cut the stems at an angle and change the water every second day."),
    ("Is the function thread-safe?", "The painter moved to the coast and lived there until his death."),
)


LESS, MEASURED = 1.4, 500
"""By how many standard deviations chance is taken for less than it is, and up to how many texts that was measured."""


class Nearness:
    """How near a cosine of one embedder is: 0 where texts are unrelated, 1 where they are the same."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._unrelated: tuple[float, float] | None = None

    def of(self, cosine: float) -> float:
        """The share of the way from unrelated to identical; raises ModelError where the model fails."""
        mean, spread = self._measured()
        base = min(0.99, mean + spread)
        return min(1.0, max(0.0, (cosine - base) / (1 - base)))

    def by_chance(self, texts: int) -> float:
        """A cosine that the nearest of so many unrelated texts has by chance; raises ModelError where the model fails.

        The nearest of n draws lies some sqrt(2 ln n) standard deviations above the mean; less is taken, so as to be
        rather too low than too high.
        """
        mean, spread = self._measured()
        return mean + spread * (math.sqrt(2 * math.log(max(1, min(texts, MEASURED)))) - LESS)

    def _measured(self) -> tuple[float, float]:
        if self._unrelated is None:
            asked = self._embedder.embed([question for question, _ in UNRELATED], kind="query")
            said = self._embedder.embed([passage for _, passage in UNRELATED], kind="passage")
            cosines = asked @ said.T
            self._unrelated = float(cosines.mean()), float(cosines.std())
        return self._unrelated
