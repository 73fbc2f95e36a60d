"""Reads JSON out of what a model wrote: with prose around it, in a code fence, with stray commas, or cut off."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from recollect.errors import BadReply
from recollect.llm.schema import problems

STARTS: Final = 50
"""At how many places of a text, where JSON may start, reading is tried."""
MOST_READ: Final = 1_000_000
"""How many characters are read in total before no further place is tried."""
DEEPEST: Final = 100
_BLANK: Final = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_SCALAR: Final = re.compile(r"[-+.\w]+")
_WORDS: Final = {"true": True, "false": False, "null": None, "none": None}
_STRINGS: Final = {
    '"': re.compile(r'"((?:[^"\\]|\\.)*)(")?', re.DOTALL),
    "'": re.compile(r"'((?:[^'\\]|\\.)*)(')?", re.DOTALL),
}


def salvage(text: str, schema: Mapping[str, Any] | None = None) -> Any:
    """The first JSON value in the text that fits the schema, even if it is cut off; raises BadReply if there is none.

    Of JSON that is cut off, the complete parts are kept: members of an object, items of a list.
    """
    wrong = "there is no JSON in it"
    for value in _values(text, (schema or {}).get("type")):
        if not schema or not (found := problems(value, schema)):
            return value
        wrong = "; ".join(found[:5])
    raise BadReply(f"the answer does not fit the schema: {wrong}. It begins: {text[:200]!r}", passing=False)


def _values(text: str, kind: Any) -> Iterator[Any]:
    """The values that can be read as JSON: the whole text first, then from each place where JSON may start."""
    with suppress(ValueError, RecursionError):
        yield json.loads(text, strict=False, parse_constant=_no_number)
    marks = {"object": "{", "array": "["}.get(kind, "{[") if isinstance(kind, str) else "{["
    starts = [match.start() for match in re.finditer(f"[{re.escape(marks)}]", text)][:STARTS]
    left = MOST_READ
    for start in starts:
        if left < 0:
            return
        reader = _Reader(text, start)
        with suppress(_Broken):
            yield reader.value()
        left -= reader.at - start


def _no_number(word: str) -> None:
    raise ValueError(word)


class _Broken(Exception):
    """This is not JSON, even if read leniently."""


class _Cut(Exception):
    """The text ended inside a value; `kept` is the complete part, or nothing if that is not a value."""

    def __init__(self, *kept: Any) -> None:
        self.kept = kept


class _Reader:
    """Reads one value from a place on, as leniently as possible without guessing."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at = text, at

    def value(self) -> Any:
        """The object or list that starts here, or the complete part of it."""
        try:
            return self._value(0)
        except _Cut as cut:
            return cut.kept[0]

    def _value(self, depth: int) -> Any:
        if depth > DEEPEST:
            raise _Broken
        mark = self._next()
        if mark == "{":
            return self._object(depth)
        if mark == "[":
            return self._array(depth)
        return self._string() if mark in _STRINGS else self._scalar()

    def _next(self) -> str:
        """The next character outside blanks and comments; raises _Cut at the end of the text."""
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at
        if self.at >= len(self.text):
            raise _Cut
        return self.text[self.at]

    def _object(self, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        self.at += 1
        try:
            while self._next() != "}":
                if self.text[self.at] not in _STRINGS:
                    raise _Broken
                name = self._string()
                if self._next() != ":":
                    raise _Broken
                self.at += 1
                try:
                    out[name] = self._value(depth + 1)
                except _Cut as cut:
                    out.update((name, kept) for kept in cut.kept)
                    raise
                self._separated("}")
        except _Cut:
            raise _Cut(out) from None
        self.at += 1
        return out

    def _array(self, depth: int) -> list[Any]:
        out: list[Any] = []
        self.at += 1
        try:
            while self._next() != "]":
                out.append(self._value(depth + 1))
                self._separated("]")
        except _Cut:
            raise _Cut(out) from None
        self.at += 1
        return out

    def _separated(self, end: str) -> None:
        mark = self._next()
        if mark == ",":
            self.at += 1
        elif mark != end:
            raise _Broken

    def _string(self) -> str:
        match = _STRINGS[self.text[self.at]].match(self.text, self.at)
        if not match or match[2] is None:
            raise _Cut
        self.at = match.end()
        plain = match[1] if match[2] == '"' else match[1].replace("\\'", "'").replace('"', '\\"')
        try:
            return str(json.loads(f'"{plain}"', strict=False))
        except ValueError:
            return plain

    def _scalar(self) -> Any:
        match = _SCALAR.match(self.text, self.at)
        if not match:
            raise _Broken
        if match.end() == len(self.text):
            raise _Cut
        self.at = match.end()
        if (word := match[0].lower()) in _WORDS:
            return _WORDS[word]
        try:
            return json.loads(match[0], parse_constant=_no_number)
        except ValueError:
            raise _Broken from None
