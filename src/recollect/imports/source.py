"""Reads the values of a JSON or JSONL file one by one, without holding a large file in memory."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, TextIO

from recollect.archives import DAMAGE
from recollect.errors import ConfigError
from recollect.imports.values import Skipped

CHUNK: Final = 1 << 20
_LINES: Final = (".jsonl", ".ndjson")
_WRAPPERS: Final = ("conversations", "results", "memories")
"""Fields of an object that may hold the list of conversations or memories."""
EMPTY: Final = "it is empty"
_SPACE: Final = " \t\r\n"


class Value(NamedTuple):
    """A value and its place in the file."""

    where: str
    data: Any


def values(path: Path) -> Iterator[Value | Skipped]:
    """The values of a file: its lines, the members of its list, or all of it as one; Skipped for what is broken."""
    try:
        for name, file in _files(path):
            yield from (_lines if _is_lines(name, file) else _document)(name, file)
    except (OSError, *DAMAGE) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise ConfigError(f"{path} can't be read ({why or error}): give the path of a readable export file") from error


def _files(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """The file itself, or for an archive, the files of conversations in it."""
    if path.suffix.lower() != ".zip" and not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            yield path.name, file
        return
    with zipfile.ZipFile(path) as archive:
        members = [name for name in archive.namelist() if _holds_conversations(name)]
        if not members:
            raise ConfigError(f"{path} holds no conversations.json; give the file that has the conversations")
        for member in sorted(members):
            with archive.open(member) as file:
                yield f"{path.name}/{member}", file


def _holds_conversations(member: str) -> bool:
    name = member.rsplit("/", 1)[-1].lower()
    return name.startswith("conversations") and name.endswith((".json", *_LINES))


def _is_lines(name: str, file: IO[bytes]) -> bool:
    """Whether every line is a separate value: by the file's name, or because the first line is one and more follow."""
    if name.lower().endswith(_LINES):
        return True
    line, _, rest = file.read(CHUNK).partition(b"\n")
    file.seek(0)
    try:
        return bool(rest.strip()) and isinstance(json.loads(_text(line)), (dict, list))
    except (ValueError, RecursionError):
        return False


def _text(line: bytes) -> str:
    return line.decode("utf-8-sig")


def _lines(name: str, file: IO[bytes]) -> Iterator[Value | Skipped]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        where = f"{name} line {number}"
        try:
            yield Value(where, json.loads(_text(line)))
        except (ValueError, RecursionError) as error:
            yield Skipped(where, _why(error))


def _document(name: str, file: IO[bytes]) -> Iterator[Value | Skipped]:
    """The value of a file, or several values if they follow one another."""
    with _decoded(file) as text:
        start, number, readable = _Buffer(text), 1, True
        while readable and (start.peek() or number == 1):
            where = name if number == 1 else f"{name} value {number}"
            readable = yield from (_members if start.peek() == "[" else _whole)(where, start)
            number += 1


@contextmanager
def _decoded(file: IO[bytes]) -> Iterator[TextIO]:
    text = TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        yield text
    finally:
        text.detach()


class _Buffer:
    """Text that was read from a file but not parsed yet."""

    def __init__(self, file: TextIO) -> None:
        self.file, self.text, self.place, self.ended = file, "", 0, False

    def more(self) -> bool:
        """Read on, at least as much as is left unparsed; returns whether there was more."""
        self.text = self.text[self.place :]
        self.place = 0
        found = self.file.read(max(CHUNK, len(self.text)))
        self.text += found
        self.ended = not found
        return bool(found)

    def peek(self) -> str:
        """The next character that is not a space; empty at the end."""
        while True:
            while self.place < len(self.text) and self.text[self.place] in _SPACE:
                self.place += 1
            if self.place < len(self.text):
                return self.text[self.place]
            if not self.more():
                return ""

    def value(self) -> Any:
        """The JSON value that starts here. For one that is not UTF-8, raises UnicodeDecodeError and moves past it."""
        while True:
            try:
                found, end = json.JSONDecoder().raw_decode(self.text, self.place)
            except json.JSONDecodeError as error:
                if self.more():
                    continue
                if not "\udc80" <= error.doc[error.pos : error.pos + 1] <= "\udcff":  # a byte that is no UTF-8
                    raise
                found, end = None, len(self.text)
            read, self.place = self.text[self.place : end], end
            read.encode("utf-8", "surrogateescape").decode()
            return found


def _members(name: str, buffer: _Buffer) -> Generator[Value | Skipped, None, bool]:
    """Yields the members of a list; returns whether it could be read to its end."""
    buffer.place += 1
    number = 0
    while (char := buffer.peek()) not in ("]", ""):
        if char == ",":
            buffer.place += 1
            continue
        where = f"{name}[{number}]"
        try:
            yield Value(where, buffer.value())
        except UnicodeDecodeError as error:
            yield Skipped(where, _why(error))
        except (ValueError, RecursionError) as error:
            yield Skipped(f"{where} and all after it", _why(error))
            return False
        number += 1
    buffer.place += 1
    if not char:
        yield Skipped(f"{name} after [{number - 1}]", "the file ends in the middle of the list")
    return bool(char)


def _whole(name: str, buffer: _Buffer) -> Generator[Value | Skipped, None, bool]:
    """Yields the value, or the members of the list that it wraps; returns whether it could be read."""
    if not buffer.peek():
        yield Skipped(name, EMPTY)
        return False
    try:
        data = buffer.value()
    except (ValueError, RecursionError) as error:
        yield Skipped(name, _why(error))
        return isinstance(error, UnicodeDecodeError)
    for key in _WRAPPERS:
        if isinstance(data, dict) and isinstance(data.get(key), list):
            yield from (Value(f"{name}.{key}[{n}]", item) for n, item in enumerate(data[key]))
            return True
    yield Value(name, data)
    return True


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply to be read"
    return f"not UTF-8 text: {error}" if isinstance(error, UnicodeDecodeError) else f"not JSON: {error}"
