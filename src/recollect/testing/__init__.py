"""Suites that third parties run on their own implementations."""

from recollect.testing.stores import StoreSuite

__all__ = ["StoreSuite"]
