"""`recollect summary`."""

from __future__ import annotations

from recollect.cli.shell import DEFAULT, Json, Talk, User, Where, remembering
from recollect.cli.terminal import answer


def summary(store: Where = None, user: User = None, session: Talk = DEFAULT, as_json: Json = False) -> None:
    """Show what was said in a session, in a few hundred tokens of its own sentences.

    Example: recollect summary --session trip
    """
    with remembering(store, user, session, finds=False) as chat:
        text, said = chat.summary(), chat.stats()
    what = "Nothing worth a sentence" if said else "Nothing"
    none = f"{what} was said by {chat.scope.user} in the session {session}. See what is there with: recollect "
    answer(as_json, {"session": session, "text": text}, text or none + ("history" if said else "stats"))
