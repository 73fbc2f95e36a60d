"""A process that opens a store and forks: the fork says how its calls ended, then its parent what the store holds."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from recollect.errors import StoreUnavailable
from recollect.store import Store, open
from recollect.types import Message, Scope

TRIP = Scope("acme", "ada", "trip")


def say(store: Store, text: str) -> None:
    store.log.append(TRIP, [Message("user", text)])


def ended(call: Callable[[], Any]) -> str:
    try:
        call()
    except StoreUnavailable as error:
        return "refused" if "forked" in str(error) else str(error)
    return "done"


def in_the_fork(store: Store) -> None:
    def in_a_block() -> None:
        with store.transaction():
            say(store, "in a block")

    calls = (lambda: say(store, "fork"), in_a_block, lambda: store.log.read(TRIP), store.check, store.close)
    print(*map(ended, calls), flush=True)


def main(url: str) -> None:
    with open(url) as store:
        say(store, "before")
        if (fork := os.fork()) == 0:
            in_the_fork(store)
            os._exit(0)
        os.waitpid(fork, 0)
        say(store, "after")
        print(*(entry.message.text for entry in store.log.read(TRIP)))


if __name__ == "__main__":
    main(*sys.argv[1:])
