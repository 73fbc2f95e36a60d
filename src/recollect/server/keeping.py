"""What callers send and models answer, each thing kept once, however often and by however many it is sent."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Sequence
from typing import Final, NamedTuple

from recollect.errors import Conflict
from recollect.flow.align import align, answered, fingerprint, says
from recollect.flow.fence import without_memory
from recollect.llm.model import PARTIAL
from recollect.server.replies import to_json
from recollect.session import Session
from recollect.store import Entry
from recollect.types import Message

LOOK_BACK: Final = 64
"""Messages that are compared beyond as many as the caller sent."""


class Kept(NamedTuple):
    """What became of a conversation that was sent.

    `last` is its last message as it is kept, `again` whether that was sent before and answered since. `changed` says
    that it does not go on where what is kept ends: something in it was edited, taken out or put in, and the model is
    to see it as it was sent.
    """

    last: Message | None
    again: bool
    changed: bool


def keep(chat: Session, sent: Sequence[Message]) -> Kept:
    """Keep what is new of a conversation: once, where the same is sent twice at once."""
    own = [without_memory(message) for message in sent if message.role != "system"]
    said = [message for message in own if message and says(message)]
    given = [fingerprint(message) for message in said]
    places, known, last = _places(chat, given, len(said))
    if places and places[0] is None and len(said) > 1:
        places, known, last = _places(chat, given, 2 * len(said) + LOOK_BACK)
    new = [message for message, place in zip(said, places, strict=True) if place is None]
    added = iter(chat.add_many(_named(new, last)) if new else ())
    kept = [next(added) if place is None else known[place].message for place in places]
    found = [place for place in places if place is not None]
    goes_on = places == [*range(len(known) - len(found), len(known)), *[None] * len(new)]
    again = answered(places, len(known))
    cut_short = again and kept[-1].role == "user" and found == [*range(found[0], found[-1] + 1)]
    return Kept(kept[-1] if kept else None, again, not goes_on and not cut_short)


def _named(messages: Sequence[Message], last: str) -> Iterator[Message]:
    """The messages with ids by what they say after what: the same for whoever sends the same at once."""
    for message in messages:
        last = hashlib.sha256(f"{last}\n{to_json(message.to_dict()).decode()}".encode()).hexdigest()[:32]
        yield message.replace(id=last)


def _places(chat: Session, given: Sequence[Hashable], limit: int) -> tuple[list[int | None], list[Entry], str]:
    """Where the given messages stand among the newest ones kept, those, and what tells that nothing came after them."""
    newest = chat.memory.store.log.read(chat.scope, limit=limit, reverse=True) if limit else []
    known = [entry for entry in reversed(newest) if entry.message.role != "system"]
    last = newest[0].message.id if newest else repr(chat.scope)
    return align([fingerprint(entry.message) for entry in known], given), known, last


def answer_id(question: Message) -> str:
    """The id of the whole answer to a message, so that there is one."""
    return hashlib.sha256(f"{question.id}\nanswer".encode()).hexdigest()[:32]


def keep_answer(chat: Session, question: Message | None, answer: Message) -> Message:
    """The answer to a message as it is kept: of whole ones the first, where the same was asked twice at once."""
    if question is None or answer.metadata == PARTIAL:
        return chat.add(answer)
    try:
        return chat.add(answer.replace(id=answer_id(question)))
    except Conflict:
        return next(entry.message for entry in chat.memory.store.log.get(chat.scope, [answer_id(question)]))
