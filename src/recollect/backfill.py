"""Import existing conversations into a memory: `backfill(memory, read(path), user="ada")`; repeating it is safe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, Final

from recollect.errors import ConfigError, Conflict, InvalidTranscript, NotFound
from recollect.flow.facts.remarks import read_note
from recollect.flow.fence import without_memory
from recollect.flow.title import TAG
from recollect.imports import Imported, Note, Put, Read, Skipped
from recollect.imports.values import stable
from recollect.layers import archive, semantic
from recollect.memory import Memory
from recollect.session import Session, add_counted, counted, tag_many
from recollect.store import Entry, Record
from recollect.store.rules import check_same_message
from recollect.types import Message, Scope

BATCH: Final = 500
"""Messages that are kept in one go."""
COUNTED: Final = {"document": "documents", "fact": "facts", "excerpt": "excerpts", "known": "known"}


@dataclass(frozen=True, slots=True)
class Backfilled:
    """What a backfill added: sessions with something new, messages, facts. `known` things were there before.

    Documents, excerpts and others (records and items that adapters keep) come from files of `recollect export` only.
    """

    sessions: int = 0
    messages: int = 0
    facts: int = 0
    known: int = 0
    skipped: tuple[Skipped, ...] = ()
    documents: int = 0
    excerpts: int = 0
    others: int = 0


def backfill(
    memory: Memory,
    transcripts: Iterable[Read],
    *,
    user: str | None = None,
    tenant: str = "default",
    progress: Callable[[Backfilled], None] | None = None,
) -> Backfilled:
    """Keep conversations with their ids and times; returns what was added, and what was skipped and why.

    `user` is whose conversations they are; without it, each goes to the user that the export names. What is there
    already stays as it is, so after an interruption just run the backfill again. `progress` is called after each
    conversation with what was done so far. Vectors, facts and summaries follow in the background.
    """
    number, touched, skipped = Counter[str](), set[Scope](), list[Skipped]()

    def so_far() -> Backfilled:
        return Backfilled(sessions=len(touched), skipped=tuple(skipped), **number)

    def skip(thing: Put, error: Exception) -> None:
        skipped.append(Skipped(thing.where, str(error)))

    for item in together(transcripts):
        if isinstance(item, list):
            for kind, some in keep_things(memory, item, user, tenant, skip).items():
                number[COUNTED.get(kind, "others")] += some
        elif isinstance(item, Skipped):
            skipped.append(item)
        elif isinstance(item, Imported):
            number += _keep_conversation(Session(memory, _scope(item, user, tenant)), item, touched, skipped)
        else:
            raise ConfigError(f"a transcript is what recollect.imports.read(path) gives, not a {type(item).__name__}")
        if progress:
            progress(so_far())
    return so_far()


def together(found: Iterable[Read]) -> Iterator[Imported | Skipped | list[Put]]:
    """The same items, with consecutive things of one user in lists, to be kept together; a document is on its own."""
    for place, run in groupby(
        found, key=lambda item: (item.user, item.kind == "document") if isinstance(item, Put) else None
    ):
        if place is None:
            yield from (item for item in run if not isinstance(item, Put))
        else:
            things = (item for item in run if isinstance(item, Put))
            while batch := list(islice(things, 1 if place[1] else BATCH)):
                yield batch


def _scope(item: Imported | Put, user: str | None, tenant: str) -> Scope:
    if (owner := user or item.user) is None:
        raise ConfigError(f"the export does not say whose conversation {item.session!r} is: give user=…")
    return Scope(tenant, owner, item.session)


def _keep_conversation(chat: Session, item: Imported, touched: set[Scope], skipped: list[Skipped]) -> Counter[str]:
    """Keep a conversation; returns how much of it is new, and how much was known."""
    before = len(skipped)
    messages, facts = _messages(chat, item, skipped), _facts(chat, item.notes)
    if messages:
        touched.add(chat.scope)
    known = len(item.messages) + len(item.notes) - messages - facts - (len(skipped) - before)
    return Counter(messages=messages, facts=facts, known=known)


def keep_things(
    memory: Memory,
    things: Sequence[Put],
    user: str | None,
    tenant: str,
    failed: Callable[[Put, Exception], None],
) -> Counter[str]:
    """Keep things of one user; returns how many are new, by kind, and how many were known. `failed` gets the others.

    They are kept in one transaction, except for a document: others should not wait while it is cut into chunks.
    """
    number, owner = Counter[str](), _scope(things[0], user, tenant).owner
    with nullcontext() if things[0].kind == "document" else memory.store.transaction(owner):
        for thing in things:
            try:
                new = archive.keep(memory.layers, _scope(thing, user, tenant), thing.kind, thing.body)
                number[thing.kind if new else "known"] += 1
            except (InvalidTranscript, Conflict, NotFound) as error:
                failed(thing, error)
    memory.wake()
    return number


def _messages(chat: Session, item: Imported, skipped: list[Skipped]) -> int:
    """Keep messages; returns how many are new. A message is skipped if a different one has its id already."""
    messages, new = _entitled(item), 0
    for start in range(0, len(messages), BATCH):
        batch = messages[start : start + BATCH]
        try:
            new += keep_messages(chat, batch)
        except Conflict:
            new += _one_by_one(chat, batch, skipped)
    return new


def _entitled(item: Imported) -> Sequence[Message]:
    """Its messages, with its title as a tag of the first."""
    if not (item.title and item.messages):
        return item.messages
    first, *others = item.messages
    return (first.replace(metadata={TAG: item.title, **first.metadata}), *others)


def keep_messages(chat: Session, messages: Sequence[Message]) -> int:
    """Keep the messages that are not there yet; returns how many those are. The others get tags that they never had.

    Raises Conflict if a message that is there says something else.
    """
    there = _known(chat, messages)
    batch, tags = counted(chat, (one for one in messages if one.id not in there)), dict[str, Mapping[str, Any]]()
    with chat.memory.store.transaction(chat.scope):  # or another import at once would count the same as new
        known = _known(chat, messages)
        for message in messages:
            entry = known.get(message.id)
            if entry and message != entry.message and (missing := _missing(message, entry)):
                tags[message.id] = missing
        new = add_counted(chat, [one for one in batch if one[0].id not in known])
    if tags:
        tag_many(chat, tags)
    return len({message.id for message in new})


def _known(chat: Session, messages: Sequence[Message]) -> dict[str, Entry]:
    found = chat.memory.store.log.get(chat.scope, [message.id for message in messages if message.id])
    return {entry.message.id: entry for entry in found}


def _missing(message: Message, entry: Entry) -> Mapping[str, Any]:
    """The tags that a kept message lacks, except those that were taken off it."""
    kept = entry.message
    if (said := without_memory(message)) is None:
        return {}
    check_same_message(said.replace(metadata=kept.metadata), kept)
    had = entry.taken_off.union(kept.metadata)
    return {name: tag for name, tag in said.metadata.items() if tag is not None and name not in had}


def _one_by_one(chat: Session, batch: Sequence[Message], skipped: list[Skipped]) -> int:
    new = 0
    for message in batch:
        try:
            new += keep_messages(chat, [message])
        except Conflict as error:
            skipped.append(Skipped(f"session {chat.scope.session}, message {message.id}", str(error)))
    return new


def _facts(chat: Session, notes: Iterable[Note]) -> int:
    """Keep notes as facts of the user, in their own words; returns how many are new."""
    records = {record.id: record for record in (_fact(note, chat) for note in notes)}
    store, owner = chat.memory.store, chat.scope.owner
    if not records:
        return 0
    with store.transaction(owner):
        known = {record.id for record in store.records.get(owner, list(records))}
        new = [record for id, record in records.items() if id not in known]
        store.records.put(owner, new)
    return len(new)


def _fact(note: Note, chat: Session) -> Record:
    at = note.at or chat.memory.clock()
    said, found = at.isoformat(), read_note(note.text)
    value = {
        "type": found[0].type if found else "user_profile",
        "value": note.text,
        "at": said,
        "order": said,
        "session": chat.scope.session,
        "ended": False,
        "imported": note.metadata,
        "says": [[one.key, one.value] for one in found],
    }
    key = f"note:{note.id[:900]}"
    id = stable("note", note.id, note.text, str(note.at))  # notes may change in place, and back: the newest holds
    return Record(semantic.KIND, key, value, 0.8, "import", "import", valid_to=note.until, id=id)
