"""Where the data that is shared between projects lies; tests that need it skip without it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared_path(*parts: str) -> Path:
    """A path in the shared data: under RECOLLECT_SHARED, or else in `shared` beside the project."""
    root = Path(os.environ.get("RECOLLECT_SHARED") or Path(__file__).resolve().parents[2] / "shared")
    path = root.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"the shared data is not here: no {path}; set RECOLLECT_SHARED to its folder")
    return path
