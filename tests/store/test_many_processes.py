"""Many processes write one file at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from recollect.store.sqlite import SqliteStore

from . import writers

PROCESSES, APPENDS = 16, 250


def test_sixteen_processes_append_without_a_gap_or_an_error(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    command = [sys.executable, writers.__file__, str(path), str(PROCESSES), str(APPENDS)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    with SqliteStore(path) as store:
        entries = store.log.read(writers.TRIP)
        assert [entry.seq for entry in entries] == list(range(1, PROCESSES * APPENDS + 1))
        for name in range(PROCESSES):
            own = [entry.message.id for entry in entries if entry.message.id.startswith(f"{name}.")]
            assert own == [f"{name}.{number}" for number in range(APPENDS)]
        assert len(store.jobs.find(writers.TRIP)) == 1
        assert store.check() == []


def test_sixteen_processes_make_a_new_file_together(tmp_path: Path) -> None:
    for number in range(12):
        command = [sys.executable, writers.__file__, str(tmp_path / f"{number}.db"), str(PROCESSES), "1"]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stderr) == (0, "")
