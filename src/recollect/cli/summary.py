"""`recollect summary`."""

from __future__ import annotations

from recollect.cli.shell import DEFAULT, Json, Talk, User, Where, again, begun, remembering
from recollect.cli.terminal import answer


def summary(store: Where = None, user: User = None, session: Talk = DEFAULT, as_json: Json = False) -> None:
    """Show what was said in a session, in a few hundred tokens of its own sentences.

    Example: recollect summary --session trip
    """
    with remembering(store, user, session, finds=False) as chat:
        begun(chat)
        text = chat.summary()
    none = f"Nothing worth a sentence was said by {chat.scope.user} in the session {session}."
    answer(as_json, {"session": session, "text": text}, text or f"{none} See it with: {again('history', 'session')}")
