"""Reading all of a user's log in SQLite, page after page: linear in its length, and right while others write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from recollect.store import Log, SessionStats, Store, each_session
from recollect.store import open as open_store
from recollect.store.reference import ReferenceStore
from recollect.store.sqlite import SqliteStore, log
from recollect.types import Message, Scope

ADA = Scope("acme", "ada")


@pytest.fixture(autouse=True)
def _none_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "FEW", 0)


def steps(path: Path, messages: int) -> int:
    """What SQLite does to read so many messages of a user in pages of ten."""
    done, after = 0, 0

    def count() -> bool:
        nonlocal done
        done += 1
        return False

    with SqliteStore(str(path)) as store:
        for n in range(messages // 10):
            said = [Message("user", f"zebra {n}", f"{n}-{m}") for m in range(10)]
            store.log.append(Scope("acme", "ada", f"s{n}"), said)
        with store.reading(), store._database.reading() as db:
            db.set_progress_handler(count, 100)
            while page := store.log.spoken(ADA, after=after, limit=10):
                after = page[-1].position
            db.set_progress_handler(None)
    return done


def test_four_times_the_messages_take_about_four_times_the_work(tmp_path: Path) -> None:
    assert steps(tmp_path / "large.db", 2_000) < 6 * steps(tmp_path / "small.db", 500)


def ids(store: Store, after: int, limit: int) -> tuple[list[tuple[str | None, str]], int]:
    page = store.log.scan(ADA, after=after, limit=limit)
    return [(entry.scope.session, entry.message.id) for entry in page], page[-1].position if page else 0


@pytest.fixture
def both(tmp_path: Path) -> Iterator[tuple[Store, Store]]:
    """The same file, opened by two."""
    with open_store(str(tmp_path / "m.db")) as one, open_store(str(tmp_path / "m.db")) as other:
        yield one, other


@pytest.mark.parametrize("seed", range(8))
def test_pages_are_those_of_the_log_whoever_writes_meanwhile(both: tuple[Store, Store], seed: int) -> None:
    dice, (reader, writer), at, same = Random(seed), both, 0, 0
    with ReferenceStore() as expected:
        for n in range(80):
            scope = Scope("acme", dice.choice(["ada", "ada", "bob"]), f"s{dice.randrange(4)}")
            match dice.randrange(8):
                case 0:
                    for store in (writer, expected):
                        store.log.erase(scope)
                case 1:
                    gone = [f"{dice.randrange(max(1, n))}-{m}" for m in range(3)]
                    for store in (writer, expected):
                        store.log.erase(ADA, gone)
                case 2 | 3 | 4:
                    said = [Message("user", "zebra", f"{n}-{m}") for m in range(dice.randint(1, 5))]
                    for store in (writer, expected):
                        store.log.append(scope, said)
                case _:
                    page, to = ids(reader, at, 4)
                    wanted, ends = ids(expected, same, 4)
                    assert page == wanted
                    at, same = to, ends


def test_what_a_transaction_undid_leaves_no_trace(both: tuple[Store, Store]) -> None:
    store, _ = both
    trip, work = Scope("acme", "ada", "trip"), Scope("acme", "ada", "work")
    store.log.append(trip, [Message("user", "zebra", "a")])
    with pytest.raises(ZeroDivisionError), store.transaction():
        store.log.append(trip, [Message("user", "zebra", "b"), Message("user", "zebra", "c")])
        assert [id for _, id in ids(store, 0, 2)[0]] == ["a", "b"]
        raise ZeroDivisionError
    store.log.append(Scope("acme", "bob", "trip"), [Message("user", "zebra", "d")])
    store.log.append(work, [Message("user", "zebra", "e")])
    assert ids(store, 0, 9)[0] == [("trip", "a"), ("work", "e")]


def test_all_sessions_are_read_in_two_looks_at_the_store(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    names, looks, sessions = [f"s{n}" for n in range(120)], list[int | None](), type(store.log).sessions
    for name in names:
        store.log.append(Scope("acme", "ada", name), [Message("user", "a")])

    def counted(log: Log, scope: Scope, *, before: int | None = None, limit: int = 100) -> list[SessionStats]:
        looks.append(before)
        return sessions(log, scope, before=before, limit=limit)

    monkeypatch.setattr(type(store.log), "sessions", counted)
    assert [one.scope.session for one in each_session(store.log, Scope("acme"))] == names[::-1]
    assert len(looks) == 2
    monkeypatch.setattr("recollect.store.MANY_SESSIONS", 50)
    assert [one.scope.session for one in each_session(store.log, Scope("acme"))] == names[::-1]
