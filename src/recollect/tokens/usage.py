"""Learns for each model, from the usage that its provider reports, how far the counts are off."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import ceil
from threading import Lock
from typing import Any, Final

from recollect.errors import ConfigError
from recollect.tokens.estimator import TokenCounter
from recollect.tokens.models import plain_name

LOWEST, HIGHEST = 0.25, 4.0
"""The range a ratio stays in, whatever is reported."""
ABSURD: Final = 10.0
"""A report this many times too large or too small is taken for a mistake."""
UP, DOWN = 0.5, 0.1
"""How far one report moves the ratio: quickly up but slowly down, because counts that are too low do harm."""
ENOUGH: Final = 200
"""From this many tokens on, a report has full weight; shorter prompts say less."""
_OLDER_CLAUDE: Final = r"claude-(?:[23]|instant|(?:opus|sonnet|haiku)-4)(?!-[789](?!\d))\b"


class Calibration:
    """A ratio of real to counted tokens for each model; safe to share between threads."""

    def __init__(self, ratios: Mapping[str, float] | None = None) -> None:
        self._ratios = dict(ratios or {})
        self._lock = Lock()

    def ratio(self, model: str) -> float:
        """The factor for this model's counts: the learned one, or the starting one of its family."""
        learned = self._ratios.get(model)
        return start_ratio(model) if learned is None else learned

    def observe(self, model: str, estimated: int, reported: int) -> None:
        """Learn from one request: what was counted before `correct`, and all prompt tokens its provider reported.

        All means cached ones too. Reports that can't be true are ignored.
        """
        if estimated <= 0 or not 1 / ABSURD <= reported / estimated <= ABSURD:
            return
        seen = reported / estimated
        with self._lock:
            now = self.ratio(model)
            step = (UP if seen > now else DOWN) * min(1.0, estimated / ENOUGH)
            self._ratios[model] = min(max(now + step * (seen - now), LOWEST), HIGHEST)

    def correct(self, model: str, estimated: int) -> int:
        """The count, corrected for this model and rounded up."""
        return ceil(estimated * self.ratio(model))

    def counter(self, model: str, count: TokenCounter) -> CalibratedCounter:
        """The same counter, corrected for this model from now on."""
        return CalibratedCounter(self, model, count)

    def to_dict(self) -> dict[str, float]:
        """The learned ratios by model, as plain data."""
        with self._lock:
            return dict(self._ratios)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Calibration:
        """The calibration that `to_dict` turned into data."""
        for model, ratio in data.items():
            if not isinstance(ratio, (int, float)) or not LOWEST <= ratio <= HIGHEST:
                raise ConfigError(f"ratio {ratio!r} of model {model!r} is not a number from {LOWEST} to {HIGHEST}")
        return cls(data)


class CalibratedCounter:
    """A counter corrected for one model; it learns from what you pass to `observe`."""

    def __init__(self, calibration: Calibration, model: str, count: TokenCounter) -> None:
        self.calibration, self.model, self.count = calibration, model, count

    def __call__(self, text: str, /) -> int:
        """The corrected count."""
        return self.calibration.correct(self.model, self.count(text))

    def observe(self, counted: int, reported: int) -> None:
        """Learn from one request: what this counter made of it, and all prompt tokens its provider reported."""
        self.calibration.observe(self.model, round(counted / self.calibration.ratio(self.model)), reported)


def start_ratio(model: str) -> float:
    """The ratio that a model starts with: 1.2 for older Claude models, 1.6 for newer ones, 1 for all others."""
    name = plain_name(model)
    if "claude" not in name:
        return 1.0
    return 1.2 if re.search(_OLDER_CLAUDE, name) else 1.6
