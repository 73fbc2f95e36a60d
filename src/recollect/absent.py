"""What to say of a user and a session that are not in the store: which others are."""

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
"""How many sessions, the newest ones, and how many facts, documents and excerpts are looked at for their users."""
USERS: Final = 5
"""How many users are named."""


def others(chat: Session) -> str:
    """What to say of a user of whom nothing is kept: who is meant, or who is there; nothing where nobody is."""
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
    """Where facts, documents and excerpts are kept, also of those who said nothing."""
    find = memory.store.records.find
    return [record.scope for kind in IN_SESSIONS for record in find(scope, kind=kind, limit=limit) if record.scope]


def begun(chat: Session, otherwise: str = "see the others by `recollect stats`") -> SessionStats:
    """A session in which something was said, at a glance; raises NotFound, with those like it, where nothing was."""
    if found := chat.stats():
        return found
    scope = chat.scope
    sessions = chat.memory.sessions(scope.user, tenant=scope.tenant, limit=MOST)
    told = meant(scope.session or "", [one.scope.session or "" for one in sessions], otherwise)
    raise NotFound(f"nothing was said by {scope.user} in the session {scope.session}: {told}")
