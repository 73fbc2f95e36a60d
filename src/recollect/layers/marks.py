"""How far a layer has read a session, and checks, in the same transaction, that what it read is still there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence, Set
from typing import Final, TypeAlias, TypeVar

from recollect.arguments import MAX_WHOLE
from recollect.store import Entry, Record, Store
from recollect.types import Message, Scope

KIND: Final = "mark"
T = TypeVar("T")
Turn: TypeAlias = tuple[Message | None, Message | None]
"""What the user said, and what was answered to it."""


class Gone(Exception):
    """Messages were erased while a layer learned from them, or something learned from erased ones is still there."""

    def __init__(self, ids: Set[str]) -> None:
        super().__init__("a message was erased while it was learned from")
        self.ids = ids


def read_to(store: Store, scope: Scope, layer: str) -> int:
    """The number of the last message that the layer has learned from; 0 if it has read none."""
    marks = store.records.find(scope, kind=KIND, key=layer, exact=True)
    return max((int(mark.value) for mark in marks), default=0)


def set_read_to(store: Store, scope: Scope, layer: str, seq: int) -> None:
    """Move the mark; call it inside the transaction that keeps what was learned."""
    old = store.records.find(scope, kind=KIND, key=layer, exact=True)
    if old:
        store.records.supersede(scope, old[-1].id, Record(KIND, layer, seq))
    else:
        store.records.put(scope, [Record(KIND, layer, seq)])


def said_before(store: Store, entry: Entry) -> list[Turn]:
    """The last two turns before a user's message, the newest first.

    A turn with more than one message for an answer is left out, and what was before it; of the newest, there is the
    last answer without what the user said. So is what was before an erased message. There is always one turn, if only
    of None.
    """
    turns, reply = list[Turn](), None
    for n, one in enumerate(store.log.read(entry.scope, until=entry.seq - 1, limit=4, reverse=True), 1):
        if one.seq != entry.seq - n:
            break
        if one.message.role == "user":
            turns.append((one.message, reply))
            reply = None
        elif reply:
            break
        else:
            reply = one.message
    return turns[:2] or [(None, reply)]


def there(store: Store, within: Scope, cited: Collection[tuple[str, str]]) -> dict[tuple[str, str], Entry]:
    """Those of the cited messages, by session and id, that exist in a scope; the session "" stands for any.

    The result may also hold messages of other sessions with the same ids. If an id is cited in several sessions, each
    session is read separately: all of the user's sessions may have that id, and one query would read far too much.
    """
    sessions = {session for session, _ in cited}
    apart = len(sessions) == 1 or len({id for _, id in cited}) < len(cited)
    wanted: dict[str, list[str]] = {}
    for session, id in cited:
        wanted.setdefault(session if apart else "", []).append(id)
    entries = [
        entry
        for session, ids in wanted.items()
        for entry in store.log.get(Scope(within.tenant, within.user, session) if session else within, ids)
    ]
    found = {(entry.scope.session or "", entry.message.id): entry for entry in entries}
    if "" in sessions:
        found |= {("", id): entry for (_, id), entry in found.items()}
    return found


def check_there(store: Store, scope: Scope, ids: Iterable[str], newest: int = MAX_WHOLE) -> None:
    """Raise Gone, which undoes the transaction, if one of these messages no longer exists.

    Call it after storing what was learned, in the same transaction: then no erasure can come between the two. A
    message after position `newest` does not count: it was added later, under the id of an erased one.
    """
    wanted = set(ids)
    found = store.log.get(scope, sorted(wanted))
    if gone := wanted - {entry.message.id for entry in found if entry.position <= newest}:
        raise Gone(gone)


def check_cited(store: Store, user: Scope, cited: Collection[tuple[str, str]]) -> None:
    """`check_there` for messages in any session of a user, cited by session and id."""
    if gone := set(cited) - there(store, user, cited).keys():
        raise Gone({id for _, id in gone})


def retry_when_gone(learn: Callable[[], T], drop: Callable[[Set[str]], object] = lambda ids: None) -> T:
    """Call `learn` and return its result. If messages were gone, drop what was learned from them and call it again."""
    while True:
        try:
            return learn()
        except Gone as gone:
            drop(gone.ids)


def drop(store: Store, session: Scope, records: Sequence[Record]) -> int:
    """Delete records of a session, and the index items named by their ids or keys; returns how many records."""
    for kind in sorted({record.kind for record in records}):
        named = [name for record in records if record.kind == kind for name in (record.id, record.key)]
        store.index.delete(session, kind, named)
    return store.records.delete(session, [record.id for record in records])


def drop_citing(store: Store, scope: Scope, kind: str, ids: Set[str]) -> int:
    """Delete the records of a kind that cite one of these erased messages; returns how many."""
    kept = store.records.find(scope, kind=kind, exact=True)
    return store.records.delete(scope, [record.id for record in kept if not ids.isdisjoint(record.sources)])
