"""Test suites to run with pytest on your own implementations, and a model provider to test against.

Call `pytest.register_assert_rewrite("recollect.testing")` in your conftest.py for readable failures. The suites need
pytest and hypothesis; the provider needs neither.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
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

_HOME_OF: Final = {
    "FAULTS": "provider",
    "AdapterSuite": "adapters",
    "EmbedderSuite": "embedders",
    "MemorySuite": "memory",
    "Provider": "provider",
    "Script": "adapters",
    "StoreSuite": "stores",
    "Talk": "adapters",
    "lookup": "adapters",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
