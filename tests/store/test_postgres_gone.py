"""A PostgreSQL that is gone though nobody says so: packets that are dropped, a proxy that holds all back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from recollect.errors import StoreUnavailable
from recollect.store.postgres import PostgresStore, alive, database
from recollect.testing.stores.base import ADA, say, texts
from tests.postgres import FAST, Databases, running
from tests.proxies import Proxy, own_loopback, proxy


@pytest.fixture
def way(url: str) -> Iterator[Proxy]:
    with proxy(target(url)) as found:
        yield found


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is gone is noticed in a second or two."""
    monkeypatch.setattr(alive, "GONE", 1)
    monkeypatch.setattr(database, "WAIT", 3.0)


def target(url: str) -> str | tuple[str, int]:
    named: dict[str, Any] = conninfo_to_dict(url)
    host, port = str(named["host"]), int(named.get("port") or 5432)
    return f"{host}/.s.PGSQL.{port}" if host.startswith("/") else (host, port)


def through(way: Proxy, url: str, seconds: int = 10) -> str:
    """The address by way of the proxy, and how long it may take to connect: even a busy machine does so in time."""
    plain = {"sslmode": "disable", "gssencmode": "disable", "connect_timeout": str(seconds)}
    return make_conninfo(url, host="127.0.0.1", port=way.port, **plain)


def until_kept(store: PostgresStore, text: str) -> None:
    """Say it until it is kept: what makes the connections anew may be at its last try to."""
    for _ in range(30):
        with suppress(StoreUnavailable):
            say(store, ADA, text)
            return
    raise AssertionError("the server is not reached again")


def test_packets_that_are_dropped_end_in_an_error_and_all_goes_on_after(way: Proxy, url: str) -> None:
    with PostgresStore(through(way, url)) as store:
        say(store, ADA, "before")
        way.drop()
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                say(store, ADA, "lost")
        with pytest.raises(StoreUnavailable):
            store.log.read(ADA)
        way.go_on()
        until_kept(store, "after")
        assert texts(store.log.read(ADA)) == ["before", "after"]


def test_a_statement_amid_which_packets_are_dropped_ends_in_an_error(way: Proxy, url: str) -> None:
    """Nothing waits to be sent then: only what the kernel asks of its own accord tells that nobody is there."""
    with PostgresStore(through(way, url)) as store, psycopg.connect(url) as other:
        say(store, ADA, "before")
        other.execute("LOCK TABLE recollect.messages IN ACCESS EXCLUSIVE MODE")
        cut = threading.Timer(0.5, way.drop)
        cut.start()
        with pytest.raises(StoreUnavailable):
            say(store, ADA, "lost")
        cut.join()


def test_a_server_that_is_gone_is_not_waited_for_when_a_store_is_opened(way: Proxy, url: str) -> None:
    way.drop()
    with pytest.raises(StoreUnavailable, match="can't be reached"):
        PostgresStore(through(way, url, 1))


def test_a_proxy_that_passes_nothing_on_is_not_waited_for_without_end(
    way: Proxy, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PostgresStore(through(way, url)) as store:
        say(store, ADA, "before")
        monkeypatch.setattr(alive, "LONGEST", 1.0)
        way.hold()
        with pytest.raises(StoreUnavailable):
            store.log.read(ADA)
        with pytest.raises(StoreUnavailable):
            say(store, ADA, "lost")
        monkeypatch.setattr(alive, "LONGEST", 60.0)
        way.go_on()
        until_kept(store, "after")
        assert texts(store.log.read(ADA)) == ["before", "after"]


def test_a_statement_that_takes_too_long_is_ended_and_not_tried_again(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PostgresStore(url) as store, PostgresStore(url) as other:
        say(store, ADA, "before")
        with other.transaction(ADA):
            say(other, ADA, "in the way")
            monkeypatch.setattr(alive, "LONGEST", 1.0)
            with pytest.raises(StoreUnavailable, match="busy"):
                say(store, ADA, "too long")
            monkeypatch.undo()
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            with psycopg.connect(url, autocommit=True) as looking:
                while looking.execute(waiting).fetchone() != (0,):
                    time.sleep(0.01)
        assert texts(store.log.read(ADA)) == ["before", "in the way"]


def test_what_a_machine_that_is_gone_had_locked_is_free_again() -> None:
    with (
        running(*FAST, f"-c listen_addresses={own_loopback()}") as server,
        Databases(server.address).fresh(pgvector=False) as url,
        proxy((own_loopback(), 5432)) as way,
        PostgresStore(through(way, url)) as gone,
        PostgresStore(url) as store,
    ):
        with pytest.raises(StoreUnavailable), gone.transaction(ADA):
            way.drop()
            say(store, ADA, "kept")
            say(gone, ADA, "lost")
        assert texts(store.log.read(ADA)) == ["kept"]


def test_what_the_address_says_of_it_holds() -> None:
    named = conninfo_to_dict(alive.conninfo("postgresql://somewhere/x?connect_timeout=3&tcp_user_timeout=4000"))
    assert (named["connect_timeout"], named["tcp_user_timeout"]) == ("3", "4000")
    assert named["keepalives_idle"] == str(alive.GONE)
