"""Ctrl-C while a thread commits for others: what is kept is acknowledged, and nothing is written twice."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from recollect.store.sqlite import SqliteStore
from recollect.store.sqlite.change import Change
from recollect.store.sqlite.writers import Request
from recollect.testing.stores.base import ADA, said, texts
from tests.store.turns import together


def interrupt_once(monkeypatch: pytest.MonkeyPatch, kind: Any, name: str) -> None:
    """Ctrl-C right after the method has done its work for the first time in a thread that is not there yet."""
    method, interrupts, others = getattr(kind, name), iter([KeyboardInterrupt()]), {*threading.enumerate()}

    def interrupted(self: Any) -> None:
        method(self)
        for error in () if threading.current_thread() in others else interrupts:
            raise error

    monkeypatch.setattr(kind, name, interrupted)


@pytest.mark.parametrize(("kind", "name"), [(Change, "commit"), (Request, "finish")])
def test_what_was_committed_for_others_is_not_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any, name: str
) -> None:
    with SqliteStore(tmp_path / "memory.db") as store:
        interrupt_once(monkeypatch, kind, name)
        append = store.log.append
        errors = together(store._database._writers, lambda number: append(ADA, [said(f"message {number}")]), 4)
        assert sorted(map(repr, errors)) == ["KeyboardInterrupt()", "None", "None", "None"]
        assert sorted(texts(store.log.read(ADA))) == [f"message {number}" for number in range(4)]
        assert store.check() == []
