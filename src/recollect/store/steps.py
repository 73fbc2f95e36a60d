"""The numbered steps that bring a database to the schema of this version; they are files of this package."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Migration(NamedTuple):
    """One numbered step and its statements."""

    number: int
    name: str
    sql: str


@cache
def steps(engine: str) -> tuple[Migration, ...]:
    """Every step for an engine, in order."""
    folder = Path(__file__).with_name("sql") / engine
    found = [(re.fullmatch(r"(\d{3})_(\w+)\.sql", file.name), file) for file in folder.iterdir()]
    return tuple(sorted(Migration(int(name[1]), name[2], file.read_text("utf-8")) for name, file in found if name))
