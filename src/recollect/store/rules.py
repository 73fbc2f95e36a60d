"""The rules for messages and records, which every backend follows."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime

from recollect.arguments import messages_only
from recollect.errors import Conflict, NotFound
from recollect.store.codec import new_id
from recollect.store.values import Record
from recollect.types import Message, Scope, check_id


def arrived(messages: Sequence[Message], now: datetime) -> list[Message]:
    """The messages with missing `id`, `received` and `at` filled in."""
    return [_arrived(message, now) for message in messages_only(messages)]


def _arrived(message: Message, now: datetime) -> Message:
    id = check_id(message.id, "a message's id") if message.id else new_id()
    received = message.received or now
    at = message.at or received
    return Message(
        message.role, message.content, id, at, received, message.name, message.metadata, message.shape, message.extra
    )


def check_same_message(given: Message, kept: Message) -> None:
    """Raises Conflict unless a message whose id is known equals the kept one."""
    again = given.replace(received=given.received or kept.received, at=given.at or given.received or kept.at)
    if again != kept:
        raise Conflict(
            f"message {kept.id!r} is already in this session with other content: "
            "give the changed message a new id, or none to have one made"
        )


def recorded(record: Record, scope: Scope, position: int, now: datetime) -> Record:
    """The record with the fields that a store sets."""
    return dataclasses.replace(
        record,
        id=record.id or new_id(),
        scope=scope,
        position=position,
        recorded_at=now,
        superseded_at=None,
        superseded_by=None,
    )


def check_same_record(given: Record, kept: Record) -> None:
    """Raises Conflict unless a record whose id is known equals the kept one, ignoring the fields that a store sets."""
    if _said(given) != _said(kept):
        raise id_taken(kept.id)


def _said(record: Record) -> Record:
    return dataclasses.replace(record, scope=None, position=0, recorded_at=None, superseded_at=None, superseded_by=None)


def check_standing(found: Record | None, scope: Scope, id: str) -> Record:
    """The record, which is to be superseded. Raises NotFound, or Conflict if it is superseded already."""
    if found is None:
        raise NotFound(f"no record {id!r} at {scope}")
    if found.superseded_at is not None:
        raise Conflict(f"record {id!r} is superseded already: read its history and supersede the current one")
    return found


def id_taken(id: str) -> Conflict:
    """The error for a record whose id is taken."""
    return Conflict(f"a record {id!r} exists already: to change it, supersede it with a record that has another id")


def holds(record: Record, at: datetime | None) -> bool:
    """Whether a record is valid at that time; True if no time is given."""
    if at is None:
        return True
    started = record.valid_from is None or record.valid_from <= at
    return started and (record.valid_to is None or at < record.valid_to)
