"""A process that writes from four threads until its input ends, and says what was acknowledged."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress

from recollect.errors import StoreUnavailable
from recollect.store.postgres import PostgresStore
from recollect.types import Message, Scope

WRITERS = 4
LOCK = threading.Lock()


def write(store: PostgresStore, name: str, stop: threading.Event) -> None:
    """Appends pairs of messages to one session all share and to one of its own; what fails is tried again as it is."""
    number = 0
    while not stop.is_set():
        number += 1
        scope = Scope("acme", "ada", "shared" if number % 2 else name)
        ids = [f"{name}-{number}-{part}" for part in "ab"]
        while True:
            try:
                entries = store.log.append(scope, [Message("user", f"text of {id}", id) for id in ids])
            except StoreUnavailable:
                continue
            break
        with LOCK:
            sys.stdout.writelines(f"{entry.scope.session} {entry.seq} {entry.message.id}\n" for entry in entries)
            sys.stdout.flush()


def opened(url: str) -> PostgresStore:
    """The store, once its server is there."""
    while True:
        with suppress(StoreUnavailable):
            return PostgresStore(url)


def main(url: str, process: str) -> None:
    """Runs the writers."""
    stop = threading.Event()
    with opened(url) as store:
        threads = [threading.Thread(target=write, args=(store, f"{process}{n}", stop)) for n in range(WRITERS)]
        for thread in threads:
            thread.start()
        sys.stdin.read()
        stop.set()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
