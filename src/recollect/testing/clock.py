"""A clock that a test sets."""

from __future__ import annotations

from datetime import datetime, timedelta


class ManualClock:
    """A clock that stands still until it is set."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """The time it was set to."""
        return self.now

    def forward(self, **by: float) -> None:
        """Move the clock, by the arguments of timedelta; negative ones move it back."""
        self.now += timedelta(**by)
