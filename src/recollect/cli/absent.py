"""What to say of a user and a session that are not in the store: which others are."""

from __future__ import annotations

from typing import Final

from recollect.arguments import meant
from recollect.errors import NotFound
from recollect.session import Session

SESSIONS: Final = 1_000
"""The newest sessions, whose names and users are looked at."""
USERS: Final = 5
"""How many users are named."""


def others(chat: Session) -> str:
    """Who said something, where the user that is asked for never did; nothing where there is nobody else."""
    memory, user = chat.memory, chat.scope.user or ""
    if memory.sessions(user, limit=1):
        return ""
    names = list(dict.fromkeys(one.scope.user or "" for one in memory.sessions(limit=SESSIONS)))
    if not names:
        return ""
    more = ", …" if len(names) > USERS else ""
    told = meant(user, names, f"the store has {', '.join(names[:USERS])}{more}")
    return f"Nothing was said by {user}: {told}. Name one by --user."


def no_session(chat: Session, otherwise: str = "see the others by `recollect stats`") -> NotFound:
    """The error where nothing was said in a session."""
    scope = chat.scope
    names = [one.scope.session or "" for one in chat.memory.sessions(scope.user, limit=SESSIONS)]
    told = meant(scope.session or "", names, otherwise)
    return NotFound(f"nothing was said by {scope.user} in the session {scope.session}: {told}")
