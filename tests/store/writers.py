"""A program of many processes that all append to one session: `writers.py <file> <processes> <appends>`."""

from __future__ import annotations

import os
import sys
import traceback

from recollect.store import Job
from recollect.store.sqlite import SqliteStore
from recollect.types import Message, Scope

TRIP = Scope("acme", "ada", "trip")


def write(path: str, name: int, appends: int) -> None:
    with SqliteStore(path) as store:
        for number in range(appends):
            message = Message("user", f"hello {number}", f"{name}.{number}")
            store.log.append(TRIP, [message], jobs=[Job("learn", key="once")])


def fork(path: str, name: int, appends: int) -> int:
    if (pid := os.fork()) == 0:
        status = 1
        try:
            write(path, name, appends)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return pid


def main(path: str, processes: str, appends: str) -> int:
    pids = [fork(path, name, int(appends)) for name in range(int(processes))]
    return sum(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0 for pid in pids)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
