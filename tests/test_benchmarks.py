"""Benchmarks that lack what they need say so, and find what they watch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.mark.parametrize("name", ["evidence", "recall"])
def test_a_benchmark_without_its_data_is_skipped(name: str, tmp_path: Path) -> None:
    """Those it compares with need not be installed for that."""
    environment = {**os.environ, "RECOLLECT_SHARED": str(tmp_path)}
    command = [sys.executable, str(BENCHMARKS / f"{name}.py"), "--quick"]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, f"skipped: the evaluator is not in {tmp_path}; set RECOLLECT_SHARED\n")


def test_what_the_benchmark_of_searches_watches_is_there() -> None:
    watch = "import _searches\nfor place in _searches.SPENT.values(): getattr(*place)"
    subprocess.run([sys.executable, "-c", watch], env={**os.environ, "PYTHONPATH": str(BENCHMARKS)}, check=True)
