"""Statements that go to the server together, and are answered together.

The driver's own pipelines send each statement by itself, take the processor longer than the journeys that they spare,
and hang when a megabyte is to be sent.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from functools import lru_cache
from struct import pack
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from recollect.store.postgres.driver import psycopg

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn, PGresult

Values: TypeAlias = Sequence[Any] | Mapping[str, Any]

_READ, _EITHER, _READABLE = psycopg.waiting.Wait.R, psycopg.waiting.Wait.RW, psycopg.waiting.Ready.R
_FAILED, _END = psycopg.pq.ExecStatus.FATAL_ERROR, psycopg.pq.ExecStatus.PIPELINE_SYNC
_OPEN: Final = psycopg.pq.ConnStatus.OK

_PLACES: Final = re.compile(r"%(?:\((\w+)\))?s")
_TEXT, _BINARY = 0, 1
_UNTYPED, _BOOLEAN, _BYTES, _WHOLE, _STRING, _NUMBER = 0, 16, 17, 20, 25, 701
_ARRAYS: Final = {_BOOLEAN: 1000, _BYTES: 1001, _STRING: 1009, _WHOLE: 1016, _NUMBER: 1022}
"""The server's numbers for types, and for arrays of them."""
_NULL: Final = b"\xff" * 4


class Statement(NamedTuple):
    """A statement as the server takes it: its values with their types, each as text or in the server's own form."""

    sql: bytes
    types: tuple[int, ...] = ()
    forms: tuple[int, ...] = ()
    values: tuple[bytes | None, ...] = ()


class Sent(NamedTuple):
    """A statement with the name that the server knows it by, or learns now; none for one that it need not know."""

    statement: Statement
    name: bytes
    is_new: bool


def statement(query: str, values: Values | None = None) -> Statement:
    """A query with %s or %(name)s where its values go."""
    if not values:
        return Statement(query.encode())
    sql, names = _numbered(query)
    given = [values[name] for name in names] if isinstance(values, Mapping) else values
    return Statement(sql, *zip(*map(_value, given), strict=True))


def exchange(connection: PGconn, sent: Sequence[Sent]) -> Generator[int, int, list[PGresult]]:
    """What the server answers, to a new name as to a statement. After one that fails none is done."""
    connection.enter_pipeline_mode()
    for one in sent:
        _send(connection, one)
    connection.pipeline_sync()
    while connection.flush():
        if (yield _EITHER) & _READABLE:
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
    """What the statement that failed is answered, if one did."""
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
    """The query with $1 and so on in the places of its values, and the name of each, if they have names."""
    numbers: dict[str, int] = {}

    def number(place: re.Match[str]) -> str:
        return f"${numbers.setdefault(place[1] or f'{len(numbers)}', len(numbers) + 1)}"

    return _PLACES.sub(number, query).encode(), tuple(numbers)


def _value(value: Any) -> tuple[int, int, bytes | None]:
    if value is None:
        return _UNTYPED, _TEXT, None
    if isinstance(value, str):
        return _UNTYPED, _TEXT, _text(value)
    if isinstance(value, list):
        return _array(value)
    type, data = _element(value)
    return type, _BINARY, data


def _text(value: str) -> bytes:
    if "\x00" in value:
        raise psycopg.DataError("a text with a character of code 0 can't be kept")
    return value.encode()


def _element(value: Any) -> tuple[int, bytes]:
    if isinstance(value, str):
        return _STRING, value.encode()
    if isinstance(value, bool):
        return _BOOLEAN, b"\x01" if value else b"\x00"
    if isinstance(value, int):
        return _WHOLE, value.to_bytes(8, "big", signed=True)
    if isinstance(value, bytes):
        return _BYTES, value
    assert isinstance(value, float), f"no way to send {value!r}"
    return _NUMBER, pack("!d", value)


def _array(values: list[Any]) -> tuple[int, int, bytes]:
    type, parts = _UNTYPED, [b""]
    for value in values:
        if value is None:
            parts.append(_NULL)
        else:
            type, data = _element(value)
            parts.append(len(data).to_bytes(4, "big") + data)
    if not type:
        return _UNTYPED, _TEXT, b"{" + b",".join([b"NULL"] * len(values)) + b"}"
    parts[0] = pack("!iiIii", 1, 1, type, len(values), 1)
    return _ARRAYS[type], _BINARY, b"".join(parts)
