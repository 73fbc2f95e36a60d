"""A pytest plugin: tells how many of an SDK's tests used a part of ours, and how many of those passed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

_running: list[str] = []
_used: set[str] = set()
_outcomes: dict[str, str] = {}


class Counted:
    """Put in front of a part's bases: making one counts for the test that is running."""

    def __init__(self, *args: Any, **options: Any) -> None:
        _used.update(_running)
        super().__init__(*args, **options)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _running[:] = [item.nodeid]
    yield
    _running.clear()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call":
        _outcomes[report.nodeid] = report.outcome


def pytest_terminal_summary(terminalreporter: Any) -> None:
    found = Counter(_outcomes[test] for test in _used if test in _outcomes)
    terminalreporter.write_line(f"with a part of Recollect: {found['passed']} of {found.total()} passed")
