"""What a user's message says by the rules, by itself and with the messages before it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import takewhile
from typing import Final

from recollect.flow.facts import Found, amended, as_statement, carried_on, extract, leans, noted, stated, told_in
from recollect.flow.facts.corrections import meant
from recollect.layers.marks import Turn, said_before
from recollect.store import Entry, Store
from recollect.types import Message

NOTED_VIA: Final = "mcp"
"""The `via` in the metadata of notes that a model took for a user; they may call the writer "the user"."""


def is_note(message: Message) -> bool:
    """Whether a model took the message as a note for the user."""
    return message.metadata.get("via") == NOTED_VIA


def said_in(store: Store, entry: Entry, at: datetime) -> list[tuple[Found, tuple[str, ...]]]:
    """What a message says, each with the ids of other messages without which it would not."""
    message, text = entry.message, entry.message.text
    said = (noted if is_note(message) else extract)(text, at)
    if is_note(message) or not leans(text):
        return [(one, ()) for one in said]
    turns = said_before(store, entry)
    before, _ = turns[0]
    if before and before.name == message.name and (word := meant(text)):
        return [(one, (before.id,)) for one in amended(before.text, text, word, before.at or at)]
    more, beside = _leaning(turns, message, at)
    return [*((one, ()) for one in said), *((one, beside) for one in more)]


def _leaning(turns: Sequence[Turn], message: Message, at: datetime) -> tuple[list[Found], tuple[str, ...]]:
    """What a message says only with those before it, and the ids of these."""
    text, (before, reply) = message.text, turns[0]
    more, beside = _of_someone(turns, message, at)
    if more or not reply or reply.role != "assistant":
        return more, beside
    says = as_statement(reply.text, text, before.text if before else "")
    more, beside = stated(says, text, at), ()
    if says and not more:
        more, beside = _of_someone(turns, message, at, says)
    return more, (*beside, reply.id)


def _of_someone(
    turns: Sequence[Turn], message: Message, at: datetime, says: str = ""
) -> tuple[list[Found], tuple[str, ...]]:
    """What a message, or the statement it makes, says of "she", and the id of the message that tells who that is."""
    own = takewhile(lambda turn: turn[0] and turn[0].name == message.name, turns)
    heard = [(said, reply.text if reply else "") for said, reply in own if said]
    n = told_in([(said.text, reply) for said, reply in heard], says or message.text)
    told, reply = heard[n] if heard else (None, "")
    return (carried_on(told.text, reply, message.text, at, says), (told.id,)) if told else ([], ())
