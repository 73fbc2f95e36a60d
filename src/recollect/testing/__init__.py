"""Suites that third parties run on their own implementations (with pytest)."""

from recollect.testing.embedders import EmbedderSuite
from recollect.testing.memory import MemorySuite

__all__ = ["EmbedderSuite", "MemorySuite"]
