"""Two processes with eight writers on one PostgreSQL whose server is killed again and again."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Queue

import pytest

from recollect.store import Store
from recollect.types import Scope
from tests.postgres import Databases, running
from tests.programs import gone_after

WRITER = Path(__file__).with_name("killed_writer.py")
Acknowledged = tuple[str, int, str]
KILLS, BETWEEN = 15, 50
"""How often the server is killed, and how many messages are acknowledged before each time."""


@contextmanager
def writing(url: str, said: Queue[Acknowledged]) -> Iterator[list[subprocess.Popen[str]]]:
    with ThreadPoolExecutor(2) as threads, ExitStack() as running:
        processes = [running.enter_context(gone_after(started(url, name))) for name in ("one", "two")]
        heard = [threads.submit(listen, process, said) for process in processes]
        try:
            yield processes
        finally:
            for process in processes:
                assert process.stdin is not None
                process.stdin.close()
            for process, each in zip(processes, heard, strict=True):
                process.wait(120)
                each.result()


def started(url: str, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(WRITER), url, name]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def listen(process: subprocess.Popen[str], said: Queue[Acknowledged]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        session, seq, id = line.split()
        said.put((session, int(seq), id))


@pytest.mark.timeout(600)
def test_nothing_acknowledged_is_lost() -> None:
    from recollect.store.postgres import PostgresStore

    said: Queue[Acknowledged] = Queue()
    acknowledged: list[Acknowledged] = []
    with running() as server, Databases(server.address).fresh(pgvector=False) as url:
        with writing(url, said) as processes:
            for kill in range(KILLS):
                acknowledged += [said.get(timeout=120) for _ in range(BETWEEN)]
                server.kill() if kill % 2 == 0 else server.stop("immediate")
                server.start()
            acknowledged += [said.get(timeout=120) for _ in range(BETWEEN)]
        assert [process.returncode for process in processes] == [0, 0]
        while not said.empty():
            acknowledged.append(said.get())
        with PostgresStore(url) as store:
            check(store, acknowledged)


def check(store: Store, acknowledged: list[Acknowledged]) -> None:
    by_session: dict[str, dict[int, str]] = defaultdict(dict)
    for session, seq, id in acknowledged:
        assert by_session[session].setdefault(seq, id) == id
    assert len(by_session) == 9
    for session, said in by_session.items():
        entries = store.log.read(Scope("acme", "ada", session))
        kept = {entry.seq: entry.message.id for entry in entries}
        assert list(kept) == list(range(1, len(kept) + 1))
        assert len(set(kept.values())) == len(kept)
        assert said.items() <= kept.items()
        assert all(kept[seq + 1] == f"{id[:-1]}b" for seq, id in kept.items() if id.endswith("a"))
    assert store.check() == []
