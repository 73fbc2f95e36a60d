"""Where the data that is not part of the project lies."""

import os
from pathlib import Path

import pytest


def shared_path(*parts: str) -> Path:
    root = os.environ.get("RECOLLECT_SHARED") or Path(__file__).resolve().parents[2] / "shared"
    path = Path(root, *parts)
    if not path.exists():
        pytest.skip(f"{Path(*parts)} is not here: set RECOLLECT_SHARED to the folder that holds it")
    return path
