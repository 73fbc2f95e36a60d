"""A provider to test against: `Provider`, the faults it knows, and what it was asked."""

from recollect.testing.provider.faults import FAULTS
from recollect.testing.provider.provider import Provider
from recollect.testing.provider.values import Asked

__all__ = ["FAULTS", "Asked", "Provider"]
