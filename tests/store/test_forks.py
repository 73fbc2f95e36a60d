"""A process forked after a store was opened has neither its locks nor its connections: it is told to open its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.postgres import Databases

from . import forked

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")

REFUSED = "refused refused refused refused done"


def said(url: str) -> list[str]:
    """What the fork and then its parent say."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", forked.__file__, url]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()


def test_a_fork_opens_a_file_for_itself(tmp_path: Path) -> None:
    assert said(str(tmp_path / "memory.db")) == [REFUSED, "before after"]


def test_a_fork_connects_for_itself(postgres: Databases) -> None:
    with postgres.bare() as address:
        from psycopg.conninfo import conninfo_to_dict

        parts = conninfo_to_dict(address)
        url = "postgresql://{user}:{password}@/{dbname}?host={host}".format(**parts)
        assert said(url) == [REFUSED, "before after"]
