"""`recollect patterns`."""

from __future__ import annotations

from recollect.cli.shell import Json, User, Where, again, remembering
from recollect.cli.terminal import counted, machine, say


def patterns(store: Where = None, user: User = None, as_json: Json = False) -> None:
    """Show the user's habits: what is asked often, which answers serve best, when the user is there.

    Each habit is shown with its evidence; one without enough evidence is left out.

    Example: recollect patterns --user ada
    """
    from recollect.flow.patterns import hints

    with remembering(store, user) as chat:
        found = chat.patterns()
    if as_json:
        machine(found.to_dict())
        return
    if not found.turns:
        say(f"Nothing was said by {chat.scope.user} yet. Tell something with: {again('add TEXT')}")
        return
    told = [*(hint.text for hint in hints(found)), *([f"Here {found.rhythm}."] if found.rhythm else [])]
    turns, talks = counted(found.turns, "turn"), counted(found.conversations, "conversation")
    say(f"{turns} of {chat.scope.user} in {talks}")
    for line in told:
        say(f"- {line}")
    if not told:
        say("No habit shows yet: something becomes one once it is asked in three conversations.")
