"""Programs that a test starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import Popen
from typing import TypeVar

T = TypeVar("T", str, bytes)


@contextmanager
def gone_after(program: Popen[T]) -> Iterator[Popen[T]]:
    """A program for the length of a block: it is killed if it still runs then, whatever happened, and its pipes closed.

    One that is left behind would fail another test, in whose time it is collected as garbage.
    """
    with program:
        try:
            yield program
        finally:
            program.kill()
