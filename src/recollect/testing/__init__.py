"""Suites that third parties run on their own implementations (with pytest)."""

from recollect.testing.memory import MemorySuite

__all__ = ["MemorySuite"]
