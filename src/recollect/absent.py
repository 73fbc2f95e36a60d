"""What to say where a user or session is not in the store: which ones are."""

from __future__ import annotations

from typing import Final

from recollect.arguments import meant
from recollect.errors import NotFound
from recollect.layers.archive import IN_SESSIONS
from recollect.memory import Memory
from recollect.session import Session
from recollect.store import SessionStats
from recollect.types import Scope

MOST: Final = 1_000
"""How many of the newest sessions, and of facts, documents and excerpts, are looked at for the names of users."""
USERS: Final = 5
"""How many users are named."""


def others(chat: Session) -> str:
    """A hint if nothing is kept for this user: similar names, or some users that exist; "" otherwise."""
    memory, scope = chat.memory, chat.scope
    if memory.sessions(scope.user, tenant=scope.tenant, limit=1) or _known(memory, scope.owner, 1):
        return ""
    scopes = [one.scope for one in memory.sessions(tenant=scope.tenant, limit=MOST)]
    scopes += _known(memory, Scope(scope.tenant), MOST)
    names = list(dict.fromkeys(one.user for one in scopes if one.user))
    if not names:
        return ""
    more = ", …" if len(names) > USERS else ""
    return meant(scope.user or "", names, f"the store has {', '.join(names[:USERS])}{more}")


def _known(memory: Memory, scope: Scope, limit: int) -> list[Scope]:
    """The scopes that have facts, documents or excerpts, including those of users who never said anything."""
    find = memory.store.records.find
    return [record.scope for kind in IN_SESSIONS for record in find(scope, kind=kind, limit=limit) if record.scope]


def begun(chat: Session, otherwise: str) -> SessionStats:
    """An overview of the session; if nothing was said in it, raises NotFound, which names similar sessions."""
    if found := chat.stats():
        return found
    scope = chat.scope
    sessions = chat.memory.sessions(scope.user, tenant=scope.tenant, limit=MOST)
    told = meant(scope.session or "", [one.scope.session or "" for one in sessions], otherwise)
    raise NotFound(f"nothing was said by {scope.user} in the session {scope.session}: {told}")
