"""Suites that third parties run on their own implementations, with pytest, and a provider to test against.

Call `pytest.register_assert_rewrite("recollect.testing")` in your conftest.py for readable failures.
"""

from recollect.testing.adapters import AdapterSuite, Script, Talk, lookup
from recollect.testing.embedders import EmbedderSuite
from recollect.testing.memory import MemorySuite
from recollect.testing.provider import FAULTS, Provider
from recollect.testing.stores import StoreSuite

__all__ = [
    "FAULTS",
    "AdapterSuite",
    "EmbedderSuite",
    "MemorySuite",
    "Provider",
    "Script",
    "StoreSuite",
    "Talk",
    "lookup",
]
