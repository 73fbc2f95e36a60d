"""What is remembered for speed is limited, and forgets."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from recollect.recent import Recent, forget_all, remembered


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_only_the_last_entries_that_were_set_are_kept() -> None:
    recent = Recent[str, int](2)
    recent["a"], recent["b"] = 1, 2
    recent["a"] = 3
    recent["c"] = 4
    assert recent == {"a": 3, "c": 4}


@pytest.mark.usefixtures("hasty")
def test_all_is_forgotten_while_others_make_caches() -> None:
    with ThreadPoolExecutor(2) as pool:
        made = pool.submit(lambda: [[remembered(2)(str) for _ in range(50)] for _ in range(200)])
        while not made.done():
            forget_all()
    last = made.result()[-1][-1]
    last(5)
    forget_all()
    assert last.cache_info().currsize == 0
