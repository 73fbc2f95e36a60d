"""The local models, fetched once a session; tests that need them skip with the reason where they can't be had."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.embed import models
from recollect.errors import ModelError


@pytest.fixture(scope="session")
def pulled() -> Callable[[str], Path]:
    failed: dict[str, str] = {}
    here: dict[str, Path] = {}

    def pull(name: str) -> Path:
        pytest.importorskip("onnxruntime", reason="the extra 'local' is not installed")
        if name not in here | failed:
            try:
                here[name] = models.pull(name)
            except ModelError as error:
                failed[name] = str(error)
        if name in here:
            return here[name]
        pytest.skip(f"the model can't be fetched here: {failed[name]}")

    return pull
