"""What all tests share: hypothesis' number of examples, and the option for long soaks."""

import gc
import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("recollect.testing")

settings.register_profile(
    "recollect",
    max_examples=int(os.environ.get("RECOLLECT_EXAMPLES", "60")),
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("recollect")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--soak", action="store_true", help="run the long soaks: kills, power cuts and server losses by the thousand"
    )


LONG = ("test_openapi.py", "test_long_conversation.py", "test_inspector.py", "test_page_use.py", "test_transfer.py")
"""Files whose tests take long: they begin first, so that no process is left with one at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONG)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is loaded for the tests stays: garbage is looked for in none of it, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
