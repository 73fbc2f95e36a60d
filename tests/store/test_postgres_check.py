"""What `check` finds in a database that was changed behind the store's back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from recollect.errors import StoreError
from recollect.store import Filter, Item, Job, Record
from recollect.store.postgres import PostgresStore
from recollect.store.values import MEND
from recollect.testing.stores.base import ADA, found, said, v
from recollect.types import Scope
from tests.postgres import Databases, running

_FILES = """SELECT pg_relation_filepath(CASE name WHEN 'recollect.vectors' THEN reltoastrelid ELSE oid END)
FROM unnest(%s::text[]) AS name JOIN pg_class ON oid = name::regclass ORDER BY name"""
"""Where tables lie; of vectors, what is too long for a row."""
NOON = datetime(2026, 5, 17, 12, 0, tzinfo=UTC)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    with PostgresStore(url) as opened:
        fill(opened)
        assert opened.check() == []
        yield opened


def fill(store: PostgresStore) -> None:
    """Something of everything."""
    store.log.append(
        ADA,
        [said("zebra one", "m1"), said("zebra two", "m2"), said("three", "m3")],
        tokens=[2, 3, 4],
        jobs=[Job("embed")],
    )
    store.log.tag(ADA, "m1", {"topic": "zoo"})
    store.log.erase(ADA, ["m3"])
    store.index.put(ADA, [Item("note", "n", "zebra", NOON, "user", {"of": "zoo"}, ("m1",))])
    store.index.embed(ADA, "note", "model", {"n": v(*range(1, 3_001))})
    store.records.put(ADA, [Record("fact", "animal", "zebra", sources=("m1",), valid_from=NOON, id="f1")])


def change(url: str, statement: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('recollect.tenant', %s, true)", (ADA.tenant,))
        assert connection.execute(statement.encode()).rowcount > 0


@pytest.mark.parametrize(
    ("damage", "part"),
    [
        ("sessions SET position = position + 1", "log"),
        ("sessions SET messages = messages + 1", "log"),
        ("sessions SET tokens = tokens + 1", "log"),
        ("sessions SET first = first + 1", "log"),
        ("sessions SET last = last - 1", "log"),
        ("messages SET position = position + 100 WHERE seq = 2", "index"),
        ("messages SET tokens = tokens + 1 WHERE seq = 1", "log"),
        ("messages SET tags = '{' WHERE seq = 1", "log"),
        ("messages SET id = 'other' WHERE seq = 1", "log"),
        ("messages SET id = 'other' WHERE seq = 1", "index"),
        ("records SET body = '{'", "records"),
        ("records SET valid_from = valid_from + 1", "records"),
        ("records SET valid_to = 1", "records"),
        ("records SET sources = '{}'", "records"),
        ("records SET superseded_at = 'noon'", "records"),
        ("items SET body = '{' WHERE kind = 'note'", "index"),
        ("jobs SET payload = '{'", "jobs"),
    ],
)
def test_damage_is_reported(store: PostgresStore, url: str, damage: str, part: str) -> None:
    change(url, f"UPDATE recollect.{damage}")
    assert part in {finding.part for finding in store.check()}


@pytest.mark.parametrize(
    ("damage", "part", "what"),
    [
        ("records SET body = '{'", "records", "the fact 'animal' (record 'f1')"),
        ("records SET valid_to = 1", "records", "the fact 'animal' (record 'f1')"),
        ("records SET body = '{', names = '{'", "records", "the fact 'animal' (record 'f1')"),
        ("items SET body = '{' WHERE kind = 'note'", "index", "the note 'n'"),
        ("jobs SET payload = '{'", "jobs", "the job at position "),
    ],
)
def test_what_was_derived_and_is_damaged_can_be_erased(
    store: PostgresStore, url: str, damage: str, part: str, what: str
) -> None:
    change(url, f"UPDATE recollect.{damage}")
    (damaged,) = [one for one in store.check() if one.part == part]
    assert (damaged.scope, damaged.fix) == (ADA, MEND) and damaged.problem.startswith(what)
    assert (store.mend(), store.mend()) == (1, 0)
    assert store.check() == []
    assert [entry.message.id for entry in store.log.read(ADA)] == ["m1", "m2"]


def test_whose_is_damaged_is_said_of_ids_of_any_length(store: PostgresStore, url: str) -> None:
    long = Scope(ADA.tenant, "u" * 999)
    store.records.put(long, [Record("fact", "k" * 999, "zebra", id="long")])
    change(url, "UPDATE recollect.records SET body = '{' WHERE id = 'long'")
    (damaged,) = store.check()
    assert (damaged.scope, damaged.problem) == (long, f"the fact '{'k' * 999}' (record 'long') is damaged")


@pytest.mark.parametrize("kind", ["message", "note"])
@pytest.mark.parametrize(
    "damage",
    ["at = at + 1", "role = 'tool'", "tags = '{1}'", "sources = '{m2}'", "length = 9", "wordless = NOT wordless"],
)
def test_what_an_item_is_found_by_is_rebuilt(store: PostgresStore, url: str, kind: str, damage: str) -> None:
    changed = "UPDATE recollect.items SET <damage> WHERE id = '<id>'"
    change(url, changed.replace("<damage>", damage).replace("<id>", {"message": "m1", "note": "n"}[kind]))
    assert {(finding.part, finding.fix) for finding in store.check()} == {("index", "run reindex")}
    store.reindex()
    assert store.check() == []
    assert found(store, ADA, "zebra", where=Filter(roles=("user",), kinds=(kind,), metadata={})) != []


def test_an_item_whose_message_is_gone_is_told_as_damage(store: PostgresStore, url: str) -> None:
    change(url, "UPDATE recollect.messages SET id = 'other' WHERE id = 'm1'")
    with pytest.raises(StoreError, match="damaged"):
        store.index.get(ADA, "message", ["m1"])


def test_a_schema_that_a_newer_version_changed_meanwhile_is_told(store: PostgresStore, url: str) -> None:
    change(url, "INSERT INTO recollect.migrations VALUES (999, 'later')")
    (finding,) = store.check()
    assert (finding.part, finding.fix) == ("schema", "restart this process with the version that the other one has")
    assert "schema 999" in finding.problem


def test_pages_that_the_server_finds_damaged_are_reported_part_by_part() -> None:
    with running("-c fsync=off") as server, Databases(server.address).fresh(pgvector=False) as url:
        with PostgresStore(url) as store:
            fill(store)
        name = str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])
        with psycopg.connect(server.address, dbname=name) as connection:
            names = [f"recollect.{name}" for name in ("messages", "records", "vectors")]
            paths = connection.execute(_FILES, (names,))
            messages, records, vectors = (server.data / path for (path,) in paths)
        for file, parts in ((vectors, {"index"}), (messages, {"log", "index"})):
            server.stop()
            flip(file)
            server.start()
            with PostgresStore(url) as store:
                assert {finding.part for finding in store.check()} == parts
        server.stop()
        flip(records)
        server.start()
        with PostgresStore(url) as store:
            (finding,) = store.check()
        assert (finding.part, finding.fix) == ("file", "restore a backup")


def flip(file: Path) -> None:
    """Flip a bit of the last byte of a file's first page, which is in use."""
    with file.open("r+b") as page:
        page.seek(8_191 - 8)
        (old,) = page.read(1)
        page.seek(8_191 - 8)
        page.write(bytes([old ^ 4]))
