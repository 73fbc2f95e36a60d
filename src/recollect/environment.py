"""Which environment variables are read, and a warning for names that look like misspelt ones."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from recollect.settings import PREFIX, Settings

OTHERS: Final = (
    "BACKGROUND_MODEL", "DATA_DIR", "DRAIN_SECONDS", "EMBEDDER", "INDEX", "MAX_BODY", "MAX_DEPTH", "MAX_STREAMS",
    "MCP_TOKEN", "MODEL", "QUESTIONS", "RATE", "RERANKER", "SESSION", "STORE", "USER",
)  # fmt: skip
"""Variables that the command line and the service read besides the settings."""
KNOWN: Final = frozenset((*OTHERS, *(setting.name.upper() for setting in dataclasses.fields(Settings))))

_LINE: Final = re.compile(r"^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*=", re.MULTILINE)


def here() -> set[str]:
    """The names of all variables of the environment, and of those in a `.env` that can be read."""
    try:
        written = Path(".env").read_text("utf-8", "replace")
    except OSError:
        written = ""
    return {*os.environ, *_LINE.findall(written)}


def misspelt(names: Iterable[str]) -> list[str]:
    """A line for each variable with our prefix that nothing reads, but whose name is similar to one that is read."""
    ours = {name: name.upper().removeprefix(PREFIX) for name in sorted(names) if name.upper().startswith(PREFIX)}
    near = {name: get_close_matches(ours[name], sorted(KNOWN)) for name in ours if ours[name] not in KNOWN}
    return [
        f"nothing reads {name}: is {' or '.join(PREFIX + known for known in found)} meant?"
        for name, found in near.items()
        if found
    ]
