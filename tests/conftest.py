"""What all tests share: hypothesis' number of examples, the option for long soaks, and stores of two kinds."""

import gc
import os
import signal
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from recollect.store import Store
from recollect.store import open as open_store

pytest.register_assert_rewrite("recollect.testing")

os.environ["TZ"] = "UTC"
time.tzset()

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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """End a test that takes more than the `processor` time it is marked with; a busy machine doesn't count."""
    limit = item.get_closest_marker("processor")
    if not limit:
        return (yield)
    seconds: float = limit.args[0]
    signal.signal(signal.SIGPROF, lambda *_: pytest.fail(f"took more than {seconds} s of processor time"))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@pytest.fixture(params=["reference", "sqlite"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return ":memory:" if request.param == "reference" else str(tmp_path / "memory.db")


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with open_store(store_url, durability="normal") as store:
        yield store
