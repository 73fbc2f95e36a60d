"""`recollect jobs`: background work, and another try for what was given up."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated

import typer

from recollect.arguments import MAX_WHOLE
from recollect.cli.shell import Json, Where, opened, remembered
from recollect.cli.terminal import counted, err, listed, note
from recollect.types import Scope


def jobs(
    revive: Annotated[bool, typer.Option("--revive", help="Do what was given up once more, now.")] = False,
    store: Where = None,
    as_json: Json = False,
) -> None:
    """Show background work that waits, runs, or was given up after it had failed too often; oldest first.

    Example: recollect jobs

    Example: recollect jobs --revive
    """
    everyone = Scope()
    with opened(store) as opened_store:
        revived = opened_store.jobs.revive(everyone) if revive else 0
        with remembered(opened_store) if revived else nullcontext() as memory:
            if memory:
                with err.status("Working"):
                    memory.drain()
            found = opened_store.jobs.find(everyone, limit=MAX_WHOLE)
    if revive:
        note(f"Given another try: {counted(revived, 'job')}.")
    rows = [
        {
            "id": job.id,
            "kind": job.kind,
            "state": job.state,
            "user": job.scope and job.scope.user,
            "session": job.scope and job.scope.session,
            "attempts": job.attempts,
            "error": job.error,
        }
        for job in found
    ]
    columns = ("kind", "state", "user", "session", "attempts", "error")
    shown = [[row[column] or "" for column in columns] for row in rows]
    listed(as_json, rows, columns, shown, "Nothing waits, and nothing was given up.")
