"""`python -m recollect.demo`: sample conversations, asked about in the terminal and on a page in the browser."""

from __future__ import annotations

import argparse
import logging
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from recollect import llm
from recollect.demo import QUESTIONS, USER, keep
from recollect.errors import RecollectError
from recollect.memory import Memory
from recollect.server.app import create_app, opened
from recollect.server.options import Options
from recollect.types import Scope

PORT: Final = 8642
NEW: Final = "today"
"""The conversation that the page opens: nothing is said in it yet."""


def _arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("file", nargs="?", help="where the conversations are kept; without it, in a new folder")
    parser.add_argument(
        "--serve",
        action=argparse.BooleanOptionalAction,
        default=sys.stdout.isatty(),
        help="serve the page until Ctrl-C; without either of these, where the output is a terminal",
    )
    return parser.parse_args(given)


def show(memory: Memory, question: str) -> None:
    """Print an answer in memory's own words, and the receipt of the prompt it comes from."""
    context = memory.session(NEW, user=USER).context(question, budget=2_000)
    print(f"{question}\n\n{llm.open('recall:').complete(context.prompt).text}\n")
    print(f"What a model would be sent, and why:\n\n{context.receipt}\n")


def _listener() -> socket.socket:
    """A socket at the usual port, or at another one where that is taken."""
    try:
        return socket.create_server(("127.0.0.1", PORT))
    except OSError:
        return socket.create_server(("127.0.0.1", 0))


def serve(options: Options) -> None:
    """Serve the page until Ctrl-C, at the address that is printed."""
    import uvicorn

    with _listener() as listener, suppress(KeyboardInterrupt):
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/#/chat/{USER}/{NEW}/"
        print(
            f"Open {address} and ask, answered by {options.model} (Ctrl-C ends it):", *QUESTIONS, sep="\n  ", flush=True
        )
        uvicorn.Server(uvicorn.Config(create_app(options), log_config=None)).run([listener])


def main(given: Sequence[str]) -> None:
    """Keep the conversations, ask about them, and serve them where that is wanted."""
    asked = _arguments(given)
    logging.getLogger("recollect").setLevel(logging.ERROR)
    file = asked.file or str(Path(mkdtemp(prefix="recollect-"), "memory.db"))
    options = Options.read(store=file, questions=QUESTIONS)
    llm.open(options.model)
    with opened(options) as memory:
        keep(memory)
        found = memory.store.log.sessions(Scope("default", USER))
        print(f"{len(found)} conversations of {USER} are in {file}.\n")
        show(memory, QUESTIONS[0])
    if asked.serve:
        serve(options)
    else:
        print(f"To see them on a page:\n  ./scripts/demo --serve {file}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
    except RecollectError as error:
        sys.exit(f"{type(error).__name__}: {error}")
