"""What only a server can show: the wall between tenants, schema versions, large tenants, lost connections."""

from __future__ import annotations

import json
import random
import re
import threading
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import psycopg
import pytest
from psycopg_pool import ConnectionPool
from psycopg_pool.base import AttemptWithBackoff

from recollect.errors import ConfigError, MigrationError, StoreError, StoreUnavailable
from recollect.store import Job, Record, Store, open
from recollect.store.postgres import PostgresStore, append, chain, database, jobs, reindex, vectors
from recollect.store.postgres.backup import SAME_SINCE
from recollect.store.postgres.connection import Connection
from recollect.store.postgres.erase import CITING
from recollect.store.postgres.migrate import migrations
from recollect.store.postgres.search import keywords
from recollect.store.reference import ReferenceStore
from recollect.store.values import ANY
from recollect.testing.stores.base import ADA, BOB, RIVAL, USER, fact, found, said, say, texts, v
from recollect.types import Message, Scope
from tests.postgres import FAST, ROLE, Databases, emptied, running

FIXTURES = Path(__file__).parent.parent / "fixtures"
TABLES = ("sessions", "messages", "records", "items", "words", "vectors", "jobs")


@pytest.fixture(scope="module")
def own_url(postgres: Databases) -> Iterator[str]:
    with postgres.fresh(pgvector=False) as url:
        yield url


@pytest.fixture
def url(own_url: str) -> str:
    return emptied(own_url)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    with PostgresStore(url) as opened:
        yield opened


def fill(store: Store, scope: Scope) -> None:
    store.log.append(scope, [said("zebra", "m")], jobs=[Job("embed")])
    store.index.embed(scope, "message", "m", {"m": np.array([1, 0], np.float32)})
    store.records.put(scope, [fact("animal", "zebra")])


def raw(url: str, query: str, tenant: str | None) -> list[Any]:
    with psycopg.connect(url) as connection:
        if tenant is not None:
            connection.execute("SELECT set_config('recollect.tenant', %s, true)", (tenant,))
        return list(connection.execute(query).fetchall())


@pytest.mark.parametrize("table", sorted({*TABLES} - {"words"}))
def test_raw_sql_sees_the_named_tenant_alone(store: PostgresStore, url: str, table: str) -> None:
    for scope in (ADA, RIVAL):
        fill(store, scope)
    query = "SELECT DISTINCT tenant FROM recollect.<table>".replace("<table>", table)
    assert raw(url, query, "acme") == [("acme",)]
    assert raw(url, query, "rival") == [("rival",)]
    assert raw(url, query, None) == raw(url, query, "nobody") == []


def test_raw_sql_changes_the_named_tenant_alone(store: PostgresStore, url: str) -> None:
    for scope in (ADA, RIVAL):
        fill(store, scope)
    for table in TABLES:
        raw(url, "DELETE FROM recollect.<table> WHERE tenant = 'rival' RETURNING 1".replace("<table>", table), "acme")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        raw(url, "UPDATE recollect.messages SET tenant = 'rival' RETURNING 1", "acme")
    assert texts(store.log.read(RIVAL)) == ["zebra"]
    assert found(store, RIVAL, "zebra") == ["m"]
    assert store.check() == []


def test_words_are_told_to_no_one(store: PostgresStore, url: str) -> None:
    for scope in (ADA, RIVAL):
        fill(store, scope)
    query = "SELECT words::text FROM recollect.words ORDER BY tenant"
    (mine,), (other,) = raw(url, query, "acme")
    assert "zebra" not in mine
    assert not {*mine.split()} & {*other.split()}


def test_a_role_that_sees_past_the_wall_is_reported(postgres: Databases, url: str) -> None:
    database = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    with PostgresStore(psycopg.conninfo.make_conninfo(postgres.address, dbname=database)) as store:
        assert [finding.part for finding in store.check()] == ["engine"]


@pytest.mark.parametrize("body", ["zebra", "[1]", '{"role": "user"}'])
def test_a_message_that_was_damaged_is_found(store: PostgresStore, url: str, body: str) -> None:
    for scope in (ADA, BOB, RIVAL):
        say(store, scope, "a", "b", "c")
    changed = "UPDATE recollect.messages SET body = '<body>' WHERE owner = 'ada' AND seq = 2 RETURNING 1"
    raw(url, changed.replace("<body>", body), "acme")
    (broken,) = store.log.verify(Scope("acme"))
    assert (broken.scope, broken.seq, broken.problem) == (ADA, 2, "message 2 is not as it was written")
    assert broken in store.check()


def test_a_session_that_grows_while_it_is_checked_is_whole(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = chain._links

    def grown(db: Any, at: tuple[str, str, str]) -> Iterator[tuple[Any, ...]]:
        say(store, ADA, f"text {len(store.log.read(ADA))}")
        return links(db, at)

    say(store, ADA, "text 0")
    monkeypatch.setattr(chain, "_links", grown)
    assert store.check() == []
    assert store.log.verify(ADA) == []
    monkeypatch.undo()
    with store.transaction(ADA):
        assert store.log.verify(ADA) == []


def test_a_server_that_fails_while_a_backup_is_restored_does_not_make_it_damaged(
    store: PostgresStore, url: str, tmp_path: Path
) -> None:
    store.backup(tmp_path / "backup")
    store.close()
    with psycopg.connect(url) as other, PostgresStore(f"{url} options='-c lock_timeout=100ms'") as waits:
        other.execute("LOCK TABLE recollect.messages IN SHARE MODE")
        with pytest.raises(StoreUnavailable, match="busy"):
            waits.restore(tmp_path / "backup")


def test_a_backup_that_is_damaged_anywhere_is_refused_and_changes_nothing(store: PostgresStore, tmp_path: Path) -> None:
    for n in range(50):
        say(store, ADA, f"text {n} {sha256(bytes([n])).hexdigest()}")
    kept = [entry.message for entry in store.log.read(ADA)]
    store.backup(tmp_path / "backup")
    whole = (tmp_path / "backup").read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 150)):
        (tmp_path / "damaged").write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        with suppress(StoreError):
            store.restore(tmp_path / "damaged")
        assert [entry.message for entry in store.log.read(ADA)] == kept


def test_a_newer_schema_is_refused(postgres: Databases) -> None:
    with postgres.fresh(pgvector=False) as url:
        with psycopg.connect(url) as connection:
            connection.execute("INSERT INTO recollect.migrations VALUES (%s, 'later')", (migrations()[-1].number + 1,))
        with pytest.raises(MigrationError, match="upgrade Recollect"):
            PostgresStore(url)


@pytest.mark.parametrize("number", [step.number for step in migrations()])
def test_every_released_schema_opens(postgres: Databases, number: int) -> None:
    with postgres.bare() as url:
        with psycopg.connect(url) as connection:
            connection.execute((FIXTURES / f"postgres_v{number}.sql").read_bytes())
        with PostgresStore(url) as store:
            assert store.check() == []
            assert texts(store.log.read(ADA)) == ["zebra one", "zebra two"]
            assert store.log.get(ADA, ["m1"])[0].message.metadata == {"mood": "fine"}
            assert [record.value for record in store.records.history(USER, "fact", "animal")] == ["horse", "zebra"]
            assert len(store.records.find(USER)) == 2
            assert len(found(store, USER, "zebra")) == len(store.index.nearest(ADA, v(1, 0), "m")) == 4
            assert [job.kind for job in store.jobs.find(ADA)] == ["embed"]
            assert [entry.seq for entry in say(store, ADA, "and on")] == [3]


def test_a_schema_is_changed_beside_processes_at_work(postgres: Databases) -> None:
    with postgres.bare() as url, psycopg.connect(url) as worker, ThreadPoolExecutor(1) as pool:
        worker.execute((FIXTURES / "postgres_v1.sql").read_bytes())
        worker.commit()
        worker.execute("LOCK TABLE recollect.jobs IN ROW EXCLUSIVE MODE")
        opened = pool.submit(PostgresStore, url)
        while not worker.execute("SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock'").fetchall():
            time.sleep(0.01)
        worker.execute("LOCK TABLE recollect.sessions IN ROW EXCLUSIVE MODE")
        worker.commit()
        with opened.result() as store:
            assert texts(store.log.read(ADA)) == ["zebra one", "zebra two"]


@pytest.mark.parametrize("number", [0, *(step.number for step in migrations())])
def test_a_backup_of_an_earlier_schema_is_restored_where_its_rows_are_the_same(
    store: PostgresStore, tmp_path: Path, number: int
) -> None:
    say(store, ADA, "kept")
    store.backup(tmp_path / "now")
    with zipfile.ZipFile(tmp_path / "now") as now, zipfile.ZipFile(tmp_path / "then", "w") as then:
        for name in now.namelist():
            data = now.read(name)
            then.writestr(name, json.dumps(json.loads(data) | {"schema": number}) if name == "manifest.json" else data)
    say(store, ADA, "later")
    if number < SAME_SINCE:
        with pytest.raises(MigrationError, match=f"made with schema {number}"):
            store.restore(tmp_path / "then")
    else:
        store.restore(tmp_path / "then")
        assert store.check() == []
    assert texts(store.log.read(ADA)) == (["kept", "later"] if number < SAME_SINCE else ["kept"])


def test_a_backup_from_before_other_word_rules_is_searched_by_todays(
    store: PostgresStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as then:
        then.setattr(reindex, "VERSION", 0)
        store.reindex()
    store.backup(tmp_path / "then")
    store.restore(tmp_path / "then")
    assert not reindex.words_outdated(store._database)


def test_many_may_open_an_empty_database_at_once(postgres: Databases) -> None:
    with postgres.bare() as url:
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda _: PostgresStore(url).close(), range(6)))
        with psycopg.connect(url) as connection:
            numbers = [row[0] for row in connection.execute("SELECT number FROM recollect.migrations ORDER BY number")]
        assert numbers == [step.number for step in migrations()]


def test_a_database_that_isolates_transactions_more_keeps_what_many_append(postgres: Databases) -> None:
    with postgres.bare() as url:
        name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'")
        with PostgresStore(url) as store, ThreadPoolExecutor(6) as writers:
            done = [writers.submit(say, store, ADA, f"text {number}") for number in range(60)]
            assert [len(each.result()) for each in done] == [1] * 60
            assert [entry.seq for entry in store.log.read(ADA)] == [*range(1, 61)]


def test_a_database_that_can_not_hold_all_text_is_refused(postgres: Databases) -> None:
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE plain OWNER {ROLE} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
        try:
            with pytest.raises(ConfigError, match=r"SQL_ASCII.*UTF8"):
                PostgresStore(postgres.url("plain"))
        finally:
            connection.execute("DROP DATABASE plain WITH (FORCE)")


def test_all_text_is_kept_whatever_the_environment_says(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    with PostgresStore(url) as store:
        say(store, Scope("acme", "東京", "🙂"), "hello")
        assert [session.scope for session in store.log.sessions(Scope("acme"))] == [Scope("acme", "東京", "🙂")]


def test_a_url_opens_it(url: str) -> None:
    parts = psycopg.conninfo.conninfo_to_dict(url)
    with open(f"postgresql://{parts['user']}:{parts['password']}@/{parts['dbname']}?host={parts['host']}") as store:
        assert repr(store) == f"PostgresStore('PostgreSQL {parts['dbname']} on {parts['host']}')"
        assert isinstance(store, PostgresStore)


def test_a_role_that_may_not_set_up_a_store_is_told_what_it_needs(postgres: Databases) -> None:
    with postgres.bare() as url, psycopg.connect(postgres.address, autocommit=True) as admin:
        name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
        admin.execute(f"ALTER DATABASE {name} OWNER TO CURRENT_USER")
        with psycopg.connect(postgres.address, dbname=name, autocommit=True) as inside:
            inside.execute("DROP EXTENSION vector")
            for needed in (f"GRANT CREATE ON DATABASE {name} TO {ROLE}", "CREATE EXTENSION IF NOT EXISTS vector"):
                with pytest.raises(ConfigError, match="may not set up a store") as refused:
                    PostgresStore(url)
                assert needed in str(refused.value).replace('"', "")
                inside.execute(needed)
        PostgresStore(url).close()


@pytest.mark.parametrize("bad", ["postgresql://?nonsense=1", "postgresql://[half/x"])
def test_a_senseless_url_is_refused(bad: str) -> None:
    with pytest.raises(ConfigError, match="PostgreSQL"):
        open(bad)


def test_an_unreachable_server_is_named_without_its_password() -> None:
    with pytest.raises(StoreUnavailable) as refused:
        open("postgresql://ada:hunter2@127.0.0.1:1/memory")
    assert "memory" in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_a_lost_connection_is_replaced(store: PostgresStore, postgres: Databases, url: str) -> None:
    say(store, ADA, "before")
    cut(postgres, url)
    say(store, ADA, "after")
    cut(postgres, url)
    assert texts(store.log.read(ADA)) == ["before", "after"]


def test_a_transaction_that_lost_its_connection_is_undone(store: PostgresStore, postgres: Databases, url: str) -> None:
    say(store, ADA, "before")
    with pytest.raises(StoreUnavailable, match="nothing was written"), store.transaction():
        say(store, ADA, "inside")
        cut(postgres, url)
        say(store, ADA, "too late")
    assert texts(store.log.read(ADA)) == ["before"]
    with pytest.raises(StoreUnavailable, match="not known"), store.transaction():
        say(store, ADA, "inside")
        cut(postgres, url)
    assert [entry.seq for entry in say(store, ADA, "next")] == [2]


def test_a_server_that_is_away_is_told_soon_and_reached_when_it_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "WAIT", 3.0)
    monkeypatch.setattr(AttemptWithBackoff, "DELAY_BACKOFF", 1_000)
    waited, lend = list[float](), ConnectionPool.getconn

    def noted(pool: Any, wait: float) -> Any:
        waited.append(wait)
        return lend(pool, wait)

    with running(*FAST) as server, Databases(server.address).bare() as url, PostgresStore(url) as store:
        monkeypatch.setattr(ConnectionPool, "getconn", noted)
        server.stop("immediate")
        with pytest.raises(StoreUnavailable, match="No such file"):
            say(store, ADA, "lost")
        with pytest.raises(StoreUnavailable, match="No such file"):
            say(store, ADA, "lost")
        assert (waited[0], waited[-1]) == (3.0, database.WAIT_AGAIN)
        server.start()
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with suppress(StoreUnavailable):
                say(store, ADA, "kept")
                break
        assert texts(store.log.read(ADA)) == ["kept"]


def test_a_server_that_is_read_only_is_read_and_written_to_again_later(store: PostgresStore, url: str) -> None:
    say(store, ADA, "before")
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        try:
            later = PostgresStore(url)
            for refused in (lambda: say(later, ADA, "lost"), lambda: later.jobs.claim(worker="w")):
                with pytest.raises(StoreUnavailable, match=r"read-only.*nothing was written"):
                    refused()
            with pytest.raises(StoreUnavailable, match="read-only"), later.transaction():
                say(later, ADA, "lost")
            assert texts(later.log.read(ADA)) == ["before"]
        finally:
            owner.execute("SET default_transaction_read_only = off")
            owner.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    with later:
        for _ in range(database.MOST):
            with suppress(StoreUnavailable):
                say(later, ADA, "after")
                break
        assert texts(later.log.read(ADA)) == ["before", "after"]


def cut(postgres: Databases, url: str) -> None:
    database = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        query = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s"
        connection.execute(query, (database,))


def test_more_words_than_a_tsvector_holds(store: PostgresStore) -> None:
    many = " ".join(f"{number:x}q{'z' * 40}" for number in range(60_000))
    store.log.append(ADA, [said(many, "many"), said("0qz", "few")])
    for number in (0, 19_999, 20_000, 59_999):
        assert found(store, ADA, f"{number:x}q{'z' * 40}") == ["many"]
    assert store.check() == []


def test_scores_are_those_of_the_reference(store: PostgresStore) -> None:
    reference = ReferenceStore()
    chance = random.Random(7)
    vocabulary = ["oslo", "trip", "sister", "harbour", "ferry", "ticket", "the", "東京", "moved", "moving"]
    for number in range(300):
        text = " ".join(chance.choices(vocabulary, k=chance.randint(0, 40)))
        scope = chance.choice([ADA, BOB])
        for each in (store, reference):
            each.log.append(scope, [Message("user", text, str(number))])
    for scope in (ADA, Scope("acme", "ada"), Scope("acme")):
        for query in ("oslo", "ferry to the harbour", "moves", "東京 trip", "the"):
            ours = {match.id: match.score for match in store.index.search(scope, query, 300)}
            theirs = {match.id: match.score for match in reference.index.search(scope, query, 300)}
            assert ours == pytest.approx(theirs, rel=1e-9)


def test_opposite_locks_end_in_an_error_not_in_a_hang(store: PostgresStore) -> None:
    both = threading.Barrier(2, timeout=30)

    def cross(first: Scope, then: Scope) -> None:
        with store.transaction():
            say(store, first, f"{first.user} first")
            both.wait()
            say(store, then, f"{then.user} then")

    with ThreadPoolExecutor(2) as pool:
        errors = [pool.submit(cross, *pair).exception for pair in ((ADA, BOB), (BOB, ADA))]
    assert [type(error()) for error in errors if error()] == [StoreUnavailable]
    assert len(store.log.scan(Scope("acme"))) == 2


def test_a_record_may_be_as_odd_as_a_message(store: PostgresStore) -> None:
    odd = Record("fact", "k" * 1_000, {"text": "a\x00\ud800"}, id="\x01" * 900)
    store.records.put(ADA, [odd])
    assert [(record.id, record.key, record.value) for record in store.records.find(ADA)] == [
        (odd.id, odd.key, odd.value)
    ]


def test_what_cites_many_messages_is_found_by_reading_it_once(store: PostgresStore, url: str) -> None:
    scopes = [Scope("acme", user, "s") for user in ("ada", "bob")]
    gone = [entry for scope in scopes for entry in store.log.append(scope, [said("x")] * 300)]
    asked = {
        "tenant": "acme",
        "near": ["", "ada", "bob"],
        "owners": [entry.scope.user for entry in gone],
        "sessions": ["s"] * len(gone),
        "ids": [entry.message.id for entry in gone],
    }
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('recollect.tenant', 'acme', true)")
        query = CITING.replace("<table>", "items")
        plan = connection.execute(f"EXPLAIN (ANALYZE, COSTS OFF) {query}", asked).fetchall()
    compared = [int(count) for count in re.findall(r"Rows Removed by Join Filter: (\d+)", str(plan))]
    assert sum(compared) <= len(gone)


def plan(url: str, query: str, values: dict[str, Any]) -> str:
    """How the server would go about it; the tables have no statistics here, as in the first minutes of a store."""
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('recollect.tenant', 'acme', true)")
        return str(connection.execute(f"EXPLAIN {query}", values).fetchall())


def test_a_table_of_which_nothing_is_known_yet_is_read_by_the_right_index(store: PostgresStore, url: str) -> None:
    store.log.append(ADA, [said(f"zebra number {number}") for number in range(2_000)])
    head = plan(url, append._HEAD, {"tenant": "acme", "owner": "ada", "session": "trip", "ids": ["a", "b"]})
    assert "messages_by_id" in head
    assert "messages_of_owner" not in head
    asked = keywords(USER, "zebra", 10, ANY)
    assert asked is not None
    found = plan(url, *asked)
    assert "words_in_text" in found
    assert found.count("items_tenant_position_key") == 2
    near = plan(url, f"WITH best AS (SELECT 1 AS position, 0.5 AS away) {vectors.NAMED}", {"tenant": "acme"})
    assert "items_tenant_position_key" in near


def test_of_a_long_queue_only_the_first_job_is_read(store: PostgresStore, url: str) -> None:
    store.jobs.enqueue(ADA, [Job("a", key=str(number)) for number in range(500)])
    with patch.object(Connection, "ask", autospec=True, side_effect=Connection.ask) as asked:
        (job,) = store.jobs.claim(worker="w")
    assert [call.args[1] for call in asked.call_args_list] == [jobs._DUE]
    with psycopg.connect(url) as connection:
        connection.execute("ANALYZE recollect.jobs")
    known = {"now": 2**62, "kinds": ["a"], "limit": 1, "tenant": "acme", "id": int(job.id)}
    for query, index in ((jobs._DUE, "jobs_due"), (jobs._HELD, "jobs_pkey")):
        done = plan(url, f"(ANALYZE, COSTS OFF) {query}", known)
        assert index in done
        assert max(float(rows) for rows in re.findall(r"rows=([\d.]+)", done)) == 1
        assert "Rows Removed" not in done
