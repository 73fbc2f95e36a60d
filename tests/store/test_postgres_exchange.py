"""Statements that go to PostgreSQL together."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from recollect.errors import StoreError
from recollect.store import Job, Record
from recollect.store.postgres import PostgresStore, connection, database
from recollect.store.postgres.connection import Connection
from recollect.testing.stores.base import ADA, USER, said, say
from recollect.types import Scope
from tests.postgres import Databases

WHOLE = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
NUMBER = st.floats(allow_nan=False)
ARRAYS = {"bigint": WHOLE, "text": TEXT, "bytea": st.binary(), "boolean": st.booleans(), "float8": NUMBER}


@pytest.fixture(scope="module")
def url(postgres: Databases) -> Iterator[str]:
    with postgres.fresh(pgvector=False) as found:
        yield found


@pytest.fixture
def db(url: str) -> Iterator[Connection]:
    with Connection.connect(url, autocommit=True) as opened:
        yield opened


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    with PostgresStore(url) as opened:
        yield opened


@pytest.fixture
def journeys(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many statements each journey to the server was for."""
    made: list[int] = []
    send = Connection.send

    def counted(self: Connection) -> Any:
        made.append(len(self._waiting))
        return send(self)

    monkeypatch.setattr(Connection, "send", counted)
    return made


def on_each(store: PostgresStore, *statements: str) -> None:
    """Have each of the store's connections do this, all of which are idle."""
    pool = store._database._pool
    pool.wait()
    every = [pool.getconn() for _ in range(pool.get_stats()["pool_available"])]
    for one in every:
        for statement in statements:
            one.execute(statement)
        one.commit()
        pool.putconn(one)


def forgotten(store: PostgresStore) -> None:
    """The server forgets what was prepared, as where a pooler lends another of its connections."""
    on_each(store, "DEALLOCATE ALL")


def test_statements_that_the_server_has_not_prepared_are_sent_whole(store: PostgresStore) -> None:
    scope = Scope("pooled", "ada", "trip")
    for n in range(4):
        store.log.append(scope, [said("zebra")])
        forgotten(store)
        assert [entry.seq for entry in store.log.read(scope)] == [*range(1, n + 2)]
        assert store.log.verify(scope) == []


def test_a_transaction_begins_though_the_server_has_prepared_nothing(store: PostgresStore) -> None:
    scope = Scope("pooled", "bob", "trip")
    for forgets in (False, True):
        for _ in range(4):  # each connection in turn
            with store.transaction(scope):
                store.log.append(scope, [said("zebra")])
        if not forgets:
            forgotten(store)
    assert [entry.seq for entry in store.log.read(scope)] == [*range(1, 9)]


def test_a_transaction_goes_on_though_the_server_lacks_what_was_prepared_before(store: PostgresStore) -> None:
    scope = Scope("pooled", "kim", "trip")

    def both(forgets: bool) -> None:
        with store.transaction(scope):
            store.log.append(scope, [said("zebra")])
            if forgets:
                held = store._database._mine.connection
                assert held
                held.execute("DEALLOCATE ALL")
            with store.transaction(scope):
                store.log.append(scope, [said("horse")])
            store.records.put(scope, [Record("note", "key", "value")])
            assert store.index.search(scope, "zebra")

    for forgets in (False, True, False):
        for _ in range(4):  # each connection in turn
            both(forgets)
    assert [entry.seq for entry in store.log.read(scope)] == [*range(1, 25)]


def test_a_name_that_the_server_has_for_something_else_is_not_used(url: str) -> None:
    with PostgresStore(url) as store:
        scope = Scope("pooled", "eve", "trip")
        names = [connection._name(number, (database._BEGIN.encode(), ())).decode() for number in range(40)]
        on_each(store, *(f"PREPARE {name} AS SELECT 1" for name in names))
        assert [entry.seq for _ in range(4) for entry in store.log.append(scope, [said("zebra")])] == [1, 2, 3, 4]


def test_messages_and_their_jobs_are_kept_in_two_journeys(store: PostgresStore, journeys: list[int]) -> None:
    store.log.append(ADA, [said(f"text {number}") for number in range(100)], jobs=[Job("a", key="k"), Job("b")])
    assert len(journeys) == 2


def test_what_one_query_finds_is_found_in_one_journey(store: PostgresStore, journeys: list[int]) -> None:
    say(store, ADA, "zebra")
    journeys.clear()
    store.log.read(ADA)
    store.index.search(USER, "zebra")
    assert len(journeys) == 2


def test_inside_a_transaction_a_call_is_one_journey_more_at_most(store: PostgresStore, journeys: list[int]) -> None:
    with store.transaction(USER):
        journeys.clear()
        store.log.append(ADA, [said("horse")])
        store.log.read(ADA)
        assert len(journeys) == 4


@pytest.mark.parametrize("type", sorted(ARRAYS))
def test_values_arrive_as_they_are(db: Connection, type: str) -> None:
    @settings(suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.lists(st.none() | ARRAYS[type]))
    def arrives(values: list[Any]) -> None:
        assert db.ask(f"SELECT %s::{type}[]", (values,)) == [(values,)]
        for value in values:
            assert db.ask(f"SELECT %(one)s::{type}, %(one)s::{type}", {"one": value}) == [(value, value)]

    arrives()


def test_a_text_that_the_server_would_cut_is_refused(db: Connection) -> None:
    with pytest.raises(psycopg.DataError):
        db.ask("SELECT %s::text", ("a\x00b",))
    with pytest.raises(psycopg.DataError):
        db.ask("SELECT %s::text[]", (["a\x00b"],))


def test_a_kind_of_text_is_text(store: PostgresStore) -> None:
    class Name(str):
        __slots__ = ()

    scope = Scope("acme", Name("eve"), Name("trip"))
    say(store, scope, "zebra")
    assert [entry.scope for entry in store.log.read(Scope("acme", "eve", "trip"))] == [scope]


def test_after_one_that_fails_none_is_done_and_the_connection_goes_on(db: Connection) -> None:
    db.ask("CREATE TEMPORARY TABLE kept (value bigint)")
    for _ in range(2):
        db.later("INSERT INTO kept VALUES (1)")
        db.later("SELECT 1 / %s", (0,))
        with pytest.raises(psycopg.errors.DivisionByZero):
            db.ask("INSERT INTO kept VALUES (2)")
        assert db.ask("SELECT * FROM kept") == []
    assert db.ask("SELECT 1 / %s", (1,)) == [(1,)]
    db.ask("INSERT INTO kept VALUES (2)")
    assert db.ask("SELECT * FROM kept") == [(2,)]


def test_no_more_statements_are_known_by_name_than_may_be(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MOST", 3)
    for _ in range(2):
        assert [db.ask(f"SELECT {number}") for number in range(5)] == [[(number,)] for number in range(5)]
    assert db.ask("SELECT count(*) FROM pg_prepared_statements") == [(3,)]


def test_ten_megabytes_are_sent_and_come_back(db: Connection) -> None:
    long = bytes(range(256)) * 40_000
    db.later("SELECT %s::bytea", (long,))
    assert db.ask("SELECT %s::bytea", (long,)) == [(long,)]


def test_a_value_that_can_not_be_sent_is_refused(store: PostgresStore) -> None:
    say(store, ADA, "zebra")
    wrong: tuple[Any, ...] = 2**70, Fraction(1, 3)
    for value in wrong:
        with pytest.raises(StoreError, match=r"beyond 64 bits|type Fraction"):
            store._database.find(None, "SELECT %s::bigint", (value,))
    assert store.index.search(USER, "zebra")


def test_ctrl_c_in_a_wait_spoils_no_connection_and_loses_nothing(url: str, store: PostgresStore) -> None:
    scope = Scope("acme", "kim", "trip")
    with PostgresStore(url) as elsewhere:
        with elsewhere.transaction(scope), _interrupted():
            say(store, scope, "never kept")
        with elsewhere.transaction(Scope("acme", "lea")), store.transaction(scope):
            say(store, scope, "kept")
            with _interrupted():
                store.records.put(Scope("acme"), [Record("note", "key", "value")])
        assert [entry.message.text for entry in elsewhere.log.read(scope)] == ["kept"]
    say(store, scope, "kept, too")
    assert [entry.message.text for entry in store.log.read(scope)] == ["kept", "kept, too"]


@contextmanager
def _interrupted() -> Iterator[None]:
    """Ctrl-C once the block has waited for a while."""
    timer = threading.Timer(1.0, signal.raise_signal, (signal.SIGINT,))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            yield
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)
