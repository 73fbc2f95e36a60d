"""Where Recollect keeps its files on this machine: models, and the store if none is named."""

from __future__ import annotations

import os
from pathlib import Path

from recollect.errors import ConfigError


def data_dir() -> Path:
    """Where Recollect keeps its files: RECOLLECT_DATA_DIR, else the user's data folder of this system."""
    if chosen := os.environ.get("RECOLLECT_DATA_DIR"):
        return Path(chosen).expanduser()
    from platformdirs import user_data_path

    return user_data_path("recollect", appauthor=False)


def made_data_dir() -> Path:
    """The same folder; it is created if it does not exist."""
    found = data_dir()
    try:
        found.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"the data folder {found} can't be made ({error.strerror})"
        raise ConfigError(f"{problem}: set RECOLLECT_DATA_DIR to another, or name a file for the store") from error
    return found
