"""Keeps what callers send and models answer, each thing once, however often and by however many it is sent.

What is new is found by `flow.align`, as in `history`; but here many processes may get the same at once, so each request
reads the log anew, and the id of a new message is a hash of what it says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from recollect.errors import Conflict
from recollect.flow.align import Compared, compare, says, spoken
from recollect.history import KNOWN
from recollect.llm.model import PARTIAL
from recollect.server.replies import to_json
from recollect.session import Session, add_answers
from recollect.types import Message

LOOK_BACK: Final = 64
"""How many kept messages a second comparison reads beyond twice the number that the caller sent."""


class Kept(NamedTuple):
    """What became of a conversation that was sent.

    `last` is its last message as it is kept, `again` whether that was sent before and answered since. `changed` says
    that it does not go on where what is kept ends: something in it was edited, taken out or put in, and the model is
    to see it as it was sent. An answer `follows` the last message or, where that is asked anew after calls of tools,
    the last of their results.
    """

    last: Message | None
    again: bool
    changed: bool
    follows: Message | None


def keep(chat: Session, sent: Sequence[Message]) -> Kept:
    """Keep what is new in a conversation, and only once where two callers send it at the same moment."""
    said = [message for _, message in spoken(sent) if says(message)]
    found, last = _compared(chat, said, len(said))
    if None in found.places[:-1]:  # more than the last is new: it may be from further back
        found, last = _compared(chat, said, 2 * len(said) + LOOK_BACK, first=len(said))
    if found.changed and None in found.places[:-1]:  # the rest may be from a branch in between
        found, last = _compared(chat, said, max(KNOWN, 2 * len(said)), first=len(said))
    kept = found.kept(chat.add_many(_named(found.new, last)) if found.new else ())
    last_kept = kept[-1] if kept else None
    return Kept(last_kept, found.again, found.changed, found.since[-1] if found.since else last_kept)


def _named(messages: Sequence[Message], last: str) -> Iterator[Message]:
    """Give each message an id, a hash of it and of all before it: the same for two callers who send it at once."""
    for message in messages:
        last = hashlib.sha256(f"{last}\n{to_json(message.to_dict()).decode()}".encode()).hexdigest()[:32]
        yield message.replace(id=last)


def _compared(chat: Session, said: Sequence[Message], limit: int, first: int = 0) -> tuple[Compared, str]:
    """Compare what was said with the `first` and the newest `limit` messages kept; also returns the newest one's id."""
    log = chat.memory.store.log
    newest = log.read(chat.scope, limit=limit, reverse=True) if limit else []
    oldest = log.read(chat.scope, until=newest[-1].seq - 1, limit=first) if first and newest else []
    known = [entry.message for entry in (*oldest, *reversed(newest)) if entry.message.role != "system"]
    return compare(known, said), newest[0].message.id if newest else repr(chat.scope)


def answer_id(question: Message) -> str:
    """The id of the whole answer to a message: the same each time, so that only one is kept."""
    return hashlib.sha256(f"{question.id}\nanswer".encode()).hexdigest()[:32]


def keep_answer(chat: Session, question: Message | None, answer: Message) -> Message | None:
    """Keep an answer and return it as kept; None where its question was erased while the model thought.

    Where the same was asked twice at once, the first whole one is it.
    """
    if question is None:
        return chat.add(answer)
    if answer.metadata != PARTIAL:
        answer = answer.replace(id=answer_id(question))
    try:
        kept = add_answers(chat, question.id, [answer])
    except Conflict:
        kept = tuple(entry.message for entry in chat.memory.store.log.get(chat.scope, [answer.id]))
    return next(iter(kept), None)
