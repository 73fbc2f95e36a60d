"""Statements that are sent to the server together, and answered together.

The driver's own pipelines send each statement by itself, take more processor time than the saved round trips are worth,
and hang when sending a megabyte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import lru_cache
from struct import pack
from typing import Any, Final, NamedTuple, TypeAlias

import psycopg
from psycopg.pq.abc import PGconn, PGresult

Values: TypeAlias = Sequence[Any] | Mapping[str, Any]

_READ, _EITHER, _READABLE = psycopg.waiting.Wait.R, psycopg.waiting.Wait.RW, psycopg.waiting.Ready.R
_FAILED, _END = psycopg.pq.ExecStatus.FATAL_ERROR, psycopg.pq.ExecStatus.PIPELINE_SYNC
_OPEN: Final = psycopg.pq.ConnStatus.OK

_PLACES: Final = re.compile(r"%(?:\((\w+)\))?s")
_TEXT, _BINARY, _UNTYPED = 0, 1, 0
_NULL: Final = b"\xff" * 4


class Own(bytes):
    """A value that is already in the server's binary form; the query names its type."""


class _Kind(NamedTuple):
    """The server's numbers for a type and for arrays of it, and a function that turns a value into binary form."""

    number: int
    array: int
    data: Callable[[Any], bytes]


def _whole(value: int) -> bytes:
    try:
        return value.to_bytes(8, "big", signed=True)
    except OverflowError as error:
        raise psycopg.DataError("a number beyond 64 bits can't be kept: give a smaller one") from error


_STRING: Final = _Kind(25, 1009, str.encode)
_KINDS: Final[dict[type, _Kind]] = {
    str: _STRING,
    bool: _Kind(16, 1000, lambda value: b"\x01" if value else b"\x00"),
    int: _Kind(20, 1016, _whole),
    Own: _Kind(_UNTYPED, _UNTYPED, bytes),
    bytes: _Kind(17, 1001, bytes),
    float: _Kind(701, 1022, lambda value: pack("!d", value)),
}


class Statement(NamedTuple):
    """A statement in the server's form: its values with their types, each as text or binary."""

    sql: bytes
    types: tuple[int, ...] = ()
    forms: tuple[int, ...] = ()
    values: tuple[bytes | None, ...] = ()


class Sent(NamedTuple):
    """A statement with the name it is prepared under (now, if `is_new`); without a name it is not prepared."""

    statement: Statement
    name: bytes
    is_new: bool


def statement(query: str, values: Values | None = None) -> Statement:
    """The statement for a query that has %s or %(name)s in place of its values."""
    if not values:
        return Statement(query.encode())
    sql, names = _numbered(query)
    given = [values[name] for name in names] if isinstance(values, Mapping) else values
    return Statement(sql, *zip(*map(_value, given), strict=True))


def exchange(connection: PGconn, sent: Sequence[Sent]) -> Generator[int, int, list[PGresult]]:
    """Send statements; returns the answers, also those to preparations. After a failure the rest is not run."""
    connection.enter_pipeline_mode()
    for one in sent:
        _send(connection, one)
    connection.pipeline_sync()
    while connection.flush():
        ready = yield _EITHER
        if ready is None or ready & _READABLE:  # None when it continues after Ctrl-C
            connection.consume_input()
    results: list[PGresult] = []
    while connection.status == _OPEN:
        while connection.is_busy():
            yield _READ
            connection.consume_input()
        result = connection.get_result()
        if result is not None and result.status == _END:
            connection.exit_pipeline_mode()
            return results
        if result is not None:
            results.append(result)
    return results


def failure(results: Sequence[PGresult]) -> psycopg.Error | None:
    """The error of the statement that failed, if one did."""
    failed = (result for result in results if result.status == _FAILED)
    return next(map(psycopg.errors.error_from_result, failed), None)


def _send(connection: PGconn, sent: Sent) -> None:
    (sql, types, forms, values), name, is_new = sent
    if not name:
        connection.send_query_params(sql, values, types, forms, _BINARY)
        return
    if is_new:
        connection.send_prepare(name, sql, types)
    connection.send_query_prepared(name, values, forms, _BINARY)


@lru_cache(maxsize=1_000)
def _numbered(query: str) -> tuple[bytes, tuple[str, ...]]:
    """The query with $1, $2 … in place of its values, and the names or indexes of the values in that order."""
    numbers: dict[str, int] = {}

    def number(place: re.Match[str]) -> str:
        return f"${numbers.setdefault(place[1] or f'{len(numbers)}', len(numbers) + 1)}"

    return _PLACES.sub(number, query).encode(), tuple(numbers)


def _value(value: Any) -> tuple[int, int, bytes | None]:
    if value is None:
        return _UNTYPED, _TEXT, None
    if type(value) is list:
        return _array(value)
    kind = _kind(value)
    if kind is _STRING:
        return _UNTYPED, _TEXT, _text(value)
    return kind.number, _BINARY, kind.data(value)


def _text(value: str) -> bytes:
    if "\x00" in value:
        raise psycopg.DataError("a text with a NUL character can't be kept: remove it")
    return value.encode()


def _array(values: list[Any]) -> tuple[int, int, bytes]:
    known = next((value for value in values if value is not None), None)
    if known is None:
        return _UNTYPED, _TEXT, b"{%b}" % b",".join([b"NULL"] * len(values))
    kind = _kind(known)
    parts = [pack("!iiIii", 1, 1, kind.number, len(values), 1)]
    for value in values:
        if value is None:
            parts.append(_NULL)
        else:
            data = kind.data(value)
            parts += len(data).to_bytes(4, "big"), data
    return kind.array, _BINARY, b"".join(parts)


def _kind(value: Any) -> _Kind:
    found = _KINDS.get(type(value)) or next((kind for base, kind in _KINDS.items() if isinstance(value, base)), None)
    if found is None:
        raise psycopg.ProgrammingError(f"a value of type {type(value).__name__} can't be sent to the server")
    return found
