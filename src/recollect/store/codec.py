"""Messages, records and items as bytes, and the hash that chains a session's messages."""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from recollect.errors import InvalidTranscript, StoreError
from recollect.recent import remembered
from recollect.store.values import Item, Record
from recollect.types import Message

KEPT, MAX_KEPT = 2_048, 4_096
"""How many decoded messages are cached, and the largest size in bytes of one that is."""

START: Final = bytes(32)
"""The hash before a session's first message."""


def new_id() -> str:
    """A unique id. Ids made later mostly sort later, which keeps database indexes compact."""
    return ((time.time_ns() // 1_000_000).to_bytes(6, "big") + os.urandom(8)).hex()


def id_of(kind: str, key: str) -> str:
    """The id for a record that is the only one of its kind and key; the same in every store."""
    return sha256(f"{kind} {key}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


def new_salt() -> bytes:
    """Random bytes for the hash of a message: once they are erased with it, the hash reveals nothing about its text."""
    return os.urandom(16)


EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def micros(when: datetime) -> int:
    """Microseconds since 1970."""
    since = when - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def from_micros(value: int) -> datetime:
    """The UTC time that many microseconds after 1970; the earliest or latest possible one if it is out of range."""
    try:
        return EPOCH + timedelta(microseconds=value)
    except OverflowError:
        return (datetime.min if value < 0 else datetime.max).replace(tzinfo=UTC)


DAMAGE: Final = (ValueError, TypeError, LookupError, AttributeError)
"""What reading damaged bytes may raise."""

_JSON: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)
_READ: Final = json.JSONDecoder().raw_decode
_quoted: Final = json.encoder.encode_basestring


def to_bytes(value: Any) -> bytes:
    """A JSON value as bytes; keeps any text, even with lone surrogates."""
    return _json(value).encode("utf-8", "surrogatepass")


def _json(value: Any) -> str:
    try:
        return _JSON.encode(value)
    except (ValueError, RecursionError) as error:
        raise InvalidTranscript(f"a value can't be written as JSON: {error}") from error


def from_bytes(data: bytes) -> Any:
    """The JSON value in these bytes; StoreError if they are damaged."""
    try:
        text = data.decode("utf-8", "surrogatepass")
        value, end = _READ(text)
        return value if end == len(text) else json.loads(text)
    except DAMAGE as error:
        raise damaged("a value", error) from error


def check_sum(data: bytes, *beside: object) -> int:
    """A checksum of the bytes and of the values that are stored beside them."""
    sum = zlib.crc32(data)
    return zlib.crc32(repr(beside).encode("utf-8", "surrogatepass"), sum) if beside else sum


def sealed(data: bytes, *beside: object) -> bytes:
    """The bytes, with the checksum of them and of the values stored beside them in front."""
    return check_sum(data, *beside).to_bytes(4, "big") + data


def unsealed(data: bytes) -> Any:
    """The JSON value in bytes from `sealed`; the checksum is not checked."""
    return from_bytes(data[4:])


def check_whole(what: str, sum: int, data: bytes, *beside: object) -> None:
    """Raises where bytes, with the values that are stored beside them, have another checksum than they had."""
    if not fits(sum, data, *beside):
        raise damaged(what, ValueError("its checksum is another"))


def fits(sum: int, data: object, *beside: object) -> bool:
    """Whether that is the checksum of these bytes and of the values that are stored beside them."""
    return isinstance(data, bytes) and check_sum(data, *beside) == sum


def damaged(what: str, error: Exception) -> StoreError:
    """The error for something that can't be read."""
    return StoreError(
        f"{what} in the store is damaged ({error}): `recollect doctor` says where and what to do; or restore a backup"
    )


def encode(message: Message) -> bytes:
    """A message as bytes, without its id; `received` and `at` must be set."""
    received = (message.received or EPOCH).isoformat()
    at = received if message.at is message.received else (message.at or EPOCH).isoformat()
    if type(message.content) is str and message.shape is None and not message.extra:
        happened = "" if at == received else f',"at":"{at}"'
        start = f'{{"role":"{message.role}","content":{_quoted(message.content)}{happened},"received":"{received}"'
        end = "}" if message.name is None and not message.metadata else _end(message.name, message.metadata)
        return (start + end).encode("utf-8", "surrogatepass")
    data = message.to_dict()
    del data["id"]
    if at == received:
        del data["at"]
    return to_bytes(data)


def _end(name: str | None, metadata: Mapping[str, Any]) -> str:
    more: dict[str, Any] = {} if name is None else {"name": name}
    if metadata:
        more["metadata"] = metadata
    return "," + _json(more)[1:]


def decode(id: str, body: bytes) -> Message:
    """The message in bytes from `encode`; StoreError if they are damaged. Small messages are cached."""
    return _kept(id, body) if is_small(body) else _decoded(id, body)


def is_small(body: bytes) -> bool:
    """Whether what is in these bytes is cached; what stands in a damaged file in their place may be no bytes at all."""
    return isinstance(body, bytes) and len(body) <= MAX_KEPT


def _decoded(id: str, body: bytes) -> Message:
    return message_of(id, from_bytes(body))


def message_of(id: str, data: dict[str, Any]) -> Message:
    """The message in the JSON value of its bytes; StoreError if it is damaged."""
    try:
        data["received"] = datetime.fromisoformat(data["received"])
        data["at"] = datetime.fromisoformat(data["at"]) if "at" in data else data["received"]
        data["id"] = id
        return Message(**data) if type(data.get("content", "")) is str else Message.from_dict(data)
    except DAMAGE as error:
        raise damaged(f"message {id!r}", error) from error


_kept: Final = remembered(KEPT)(_decoded)


def decode_text(id: str, body: bytes) -> str:
    """The text of the message in bytes from `encode`."""
    content = from_bytes(body).get("content", "")
    return content if type(content) is str else decode(id, body).text


def chained(before: bytes, salt: bytes, id: str, body: bytes) -> bytes:
    """The hash of a message and of all messages before it, whose hash is `before`."""
    name = id.encode()
    return sha256(b"".join((before, salt, len(name).to_bytes(2, "big"), name, body))).digest()


_TIMES: Final = ("valid_from", "valid_to", "recorded_at")
_OPTIONAL: Final = ("confidence", "origin", "trust", "sources", *_TIMES)


def plain_record(record: Record) -> dict[str, Any]:
    """A record as JSON data, without the fields that a store keeps in columns."""
    data = {"value": record.value}
    for name in _OPTIONAL:
        if (item := getattr(record, name)) not in (None, "", ()):
            data[name] = item.isoformat() if name in _TIMES else item
    return data


def record_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record, from the result of `plain_record`."""
    times = {name: datetime.fromisoformat(data[name]) for name in _TIMES if name in data}
    return {**data, **times, "sources": tuple(data.get("sources", ()))}


def encode_record(record: Record) -> bytes:
    """The result of `plain_record` as bytes."""
    return to_bytes(plain_record(record))


def decode_record(body: bytes, superseded_at: str | None, **columns: Any) -> Record:
    """The record in bytes from `encode_record` and in columns; StoreError if the bytes are damaged."""
    data: dict[str, Any] = from_bytes(body)
    try:
        ended = datetime.fromisoformat(superseded_at) if superseded_at else None
        return Record(superseded_at=ended, **columns, **record_fields(data))
    except DAMAGE as error:
        raise damaged("a record", error) from error


def plain_item(item: Item) -> dict[str, Any]:
    """An item as JSON data, without the fields that a store keeps only in columns."""
    at = None if item.at is None else item.at.isoformat()
    return {"text": item.text, "at": at, "role": item.role, "metadata": item.metadata, "sources": list(item.sources)}


def item_fields(data: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an item, from the result of `plain_item`."""
    at = None if data["at"] is None else datetime.fromisoformat(data["at"])
    return {**data, "at": at, "sources": tuple(data["sources"])}


def encode_item(item: Item) -> bytes:
    """The result of `plain_item` as bytes."""
    return to_bytes(plain_item(item))


def decode_item(body: bytes, **columns: Any) -> Item:
    """The item in bytes from `encode_item` and in columns; StoreError if the bytes are damaged."""
    data: dict[str, Any] = from_bytes(body)
    try:
        return Item(**columns, **item_fields(data))
    except DAMAGE as error:
        raise damaged("an item", error) from error
