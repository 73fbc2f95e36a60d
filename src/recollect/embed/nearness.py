"""Cosines on a scale from 0 (unrelated) to 1 (identical), so that one threshold serves every model.

Models differ in their range of cosines: e5's begin near 0.7, others' near 0. The cosines of texts that have nothing to
do with each other are measured once for each model; one standard deviation above their mean is 0 on this scale.
"""

from __future__ import annotations

from time import perf_counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

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


class Nearness:
    """What a cosine of one embedder means: 0 for unrelated texts, 1 for identical ones.

    The embedder is measured once, with the first question that needs it; `seconds` is how long that took.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.seconds = 0.0
        self._embedder = embedder
        self._unrelated: tuple[NDArray[np.float32], float, float] | None = None

    def of(self, cosine: float) -> float:
        """The cosine on the scale from 0 (unrelated) to 1 (identical); raises ModelError if the model fails."""
        _, mean, spread = self._measured()
        base = min(0.99, mean + spread)
        return min(1.0, max(0.0, (cosine - base) / (1 - base)))

    def above(self, cosine: float, question: NDArray[np.float32]) -> float:
        """How many standard deviations a cosine to this question is above the question's cosines to unrelated texts.

        This is relative to the question, because some are closer than others to any text. Raises ModelError if the
        model fails.
        """
        passages, _, spread = self._measured()
        return (cosine - float((passages @ question).mean())) / max(spread, 1e-6)

    def _measured(self) -> tuple[NDArray[np.float32], float, float]:
        if self._unrelated is None:
            started = perf_counter()
            asked = self._embedder.embed([question for question, _ in UNRELATED], kind="query")
            said = self._embedder.embed([passage for _, passage in UNRELATED], kind="passage")
            cosines = asked @ said.T
            self._unrelated = said, float(cosines.mean()), float(cosines.std())
            self.seconds = perf_counter() - started
        return self._unrelated
