"""One flipped byte anywhere in the file: found by `check`, or of no consequence at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from recollect.errors import StoreError
from recollect.store import Filter, Finding, Item, Job, Record
from recollect.store.sqlite import SqliteStore
from recollect.store.values import MEND
from recollect.types import Message, Scope

ADA, TRIP, WORK = Scope("acme", "ada"), Scope("acme", "ada", "trip"), Scope("acme", "ada", "work")
NOON = datetime(2026, 5, 17, 12, 0, tzinfo=UTC)
FILTERS = (Filter(kinds=("note",)), Filter(roles=("user",)), Filter(since=NOON), Filter(before=NOON))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with something of everything."""
    path = tmp_path_factory.mktemp("whole") / "memory.db"
    dice = np.random.default_rng(1)

    def vectors(letter: str, count: int) -> dict[str, NDArray[np.float32]]:
        return {f"{letter}{n}": dice.normal(size=16).astype(np.float32) for n in range(count)}

    with SqliteStore(path, clock=lambda: NOON) as store:
        for scope in (TRIP, WORK):
            said = [Message("user", f"{scope.session} word{n} Oslo", f"m{n}", metadata={"n": n}) for n in range(30)]
            store.log.append(scope, said, tokens=[7] * 30, jobs=[Job("embed", {"of": scope.session}, "all")])
            store.index.embed(scope, "message", "e5", vectors("m", 30))
        store.log.tag(TRIP, "m3", {"topic": "fjord"})
        store.log.erase(TRIP, ["m5", "m6"])
        facts = [Record("fact", f"city{n}", f"Oslo {n}", sources=("m1",), id=f"r{n}") for n in range(10)]
        store.records.put(ADA, facts)
        store.records.supersede(ADA, "r1", Record("fact", "city1", "Bergen", id="new"))
        store.index.put(ADA, [Item("note", f"n{n}", f"note{n} fjord", NOON, "user", {"n": n}) for n in range(10)])
        store.index.embed(ADA, "note", "e5", vectors("n", 10))
        (job,) = store.jobs.claim(worker="w", limit=1)
        store.jobs.fail(job, "no answer")
    return path


REINDEX = "run reindex"
OTHER_LETTER = "UPDATE {} SET body = CAST(replace(replace(body, 'Oslo', 'Osla'), 'fjord', 'fjort') AS BLOB)"


def everything(store: SqliteStore) -> list[Any]:
    """All a caller can see of a store."""
    asked = np.ones(16, np.float32)
    return [
        [store.log.read(scope) for scope in (TRIP, WORK)],
        store.log.scan(Scope("acme")),
        store.log.sessions(Scope("acme")),
        store.log.get(ADA, ["m3", "m29"]),
        store.records.find(ADA),
        [store.records.history(ADA, "fact", f"city{n}") for n in range(10)],
        store.index.get(ADA, "note", [f"n{n}" for n in range(10)]),
        [store.index.search(ADA, word, 100) for word in ("oslo", "fjord", "word7", "note3", "trip")],
        [store.index.search(scope, "oslo", 100) for scope in (TRIP, WORK)],
        [store.index.nearest(scope, asked, "e5", 100) for scope in (ADA, TRIP, WORK)],
        [store.index.nearest(ADA, asked, "e5", 100, where=where) for where in FILTERS],
        store.index.missing(ADA, "e5"),
        store.jobs.find(Scope("acme")),
    ]


def flip(whole: Path, damaged: Path, offset: int, bit: int) -> None:
    shutil.copy(whole, damaged)
    with damaged.open("r+b") as file:
        file.seek(offset)
        old = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([old ^ 1 << bit]))


def found(path: Path, before: list[Any]) -> str:
    """What `check` complains about; '' where nothing is wrong with what can be read; else what changed unseen."""
    try:
        with SqliteStore(path, clock=lambda: NOON) as store:
            findings = store.check()
            if {finding.fix for finding in findings} == {REINDEX}:
                store.reindex()
                assert store.check() == []
            elif findings:
                return told(store, findings)
            after = everything(store)
    except StoreError:
        return "refused"
    changed = [place for place, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
    return f"UNSEEN {changed}" if changed else "rebuilt" if findings else ""


def told(store: SqliteStore, findings: list[Finding]) -> str:
    """The parts that are damaged. What was derived is mended, and can be used again; messages stay as they are."""
    if all(finding.fix in (REINDEX, MEND) for finding in findings):
        log = store.log.scan(Scope("acme"))
        assert store.mend() > 0
        assert store.check() == []
        everything(store)
        assert store.log.scan(Scope("acme")) == log
    return " ".join(sorted({finding.part for finding in findings}))


def written(path: Path) -> dict[str, list[int]]:
    """Where each table and each index has its bytes."""
    db, content = apsw.Connection(str(path)), path.read_bytes()
    out: dict[str, list[int]] = {}
    for name, offset, size in db.execute("SELECT name, pgoffset, pgsize FROM dbstat"):
        out.setdefault(name, []).extend(at for at in range(offset, offset + size) if content[at])
    db.close()
    return out


def test_a_flipped_bit_is_found_or_changes_nothing(whole: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with SqliteStore(whole, clock=lambda: NOON) as store:
        before = everything(store)
        assert store.check() == []
    dice, tables = Random(3), written(whole)
    unseen = []
    for _ in range(20_000 if request.config.getoption("--soak") else 600):
        table = dice.choice(sorted(tables))
        offset, bit = dice.choice(tables[table]), dice.randrange(8)
        flip(whole, tmp_path / "damaged.db", offset, bit)
        what = found(tmp_path / "damaged.db", before)
        if what.startswith("UNSEEN"):
            unseen.append((table, offset, bit, what))
    assert unseen == []


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("UPDATE scope SET tenant = ''", "name of a scope"),
        ("UPDATE session SET scope = 68 WHERE scope = 4", "session number 4, which is gone"),
    ],
)
def test_a_session_that_is_lost_is_reported(whole: Path, tmp_path: Path, damage: str, problem: str) -> None:
    damaged = tmp_path / "damaged.db"
    shutil.copy(whole, damaged)
    db = apsw.Connection(str(damaged))
    db.execute(damage)
    db.close()
    with SqliteStore(damaged, clock=lambda: NOON) as store:
        (finding,) = store.check()
    assert (finding.part, finding.fix) == ("log", "restore a backup")
    assert problem in finding.problem


def test_a_backup_with_names_that_are_no_text_is_refused(whole: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.db"
    shutil.copy(whole, damaged)
    with closing(apsw.Connection(str(damaged))) as db:
        db.execute("UPDATE scope SET user = CAST(x'ff' AS TEXT) WHERE user = 'ada'")
        assert db.changes()
    with (
        SqliteStore(tmp_path / "memory.db") as store,
        pytest.raises(StoreError, match=r"damaged .*nothing was changed"),
    ):
        store.restore(damaged)


@pytest.mark.parametrize(
    ("damage", "call"),
    [
        ("UPDATE scope SET user = CAST(x'ff' AS TEXT) WHERE user <> ''", lambda store: store.jobs.claim(worker="w")),
        ("UPDATE record SET body = x'7b2276616c7565223a312c2278223a317d'", lambda store: store.records.find(ADA)),
        ("UPDATE record SET superseded_at = 'noon'", lambda store: store.records.history(ADA, "fact", "city1")),
        (OTHER_LETTER.format("record"), lambda store: store.records.find(ADA)),
        (OTHER_LETTER.format("item"), lambda store: store.index.get(ADA, "note", ["n1"])),
        ("UPDATE item SET body = x'7b7d'", lambda store: store.index.get(ADA, "note", ["n1"])),
        ("DELETE FROM counter", lambda store: store.log.scan(ADA)),
    ],
)
def test_what_is_damaged_is_told_as_that(
    whole: Path, tmp_path: Path, damage: str, call: Callable[[SqliteStore], Any]
) -> None:
    damaged = tmp_path / "damaged.db"
    shutil.copy(whole, damaged)
    with SqliteStore(damaged, clock=lambda: NOON + timedelta(days=1)) as store:
        with closing(apsw.Connection(str(damaged))) as db:
            db.execute(damage)
        with pytest.raises(StoreError, match="damaged"):
            call(store)
        with pytest.raises(StoreError, match="damaged"), store.transaction():
            call(store)


def with_open_schema(path: Path, *statements: tuple[str, tuple[Any, ...]]) -> None:
    with closing(apsw.Connection(str(path))) as db:
        db.config(apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1)
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        for statement, values in statements:
            db.execute(statement, values)


def test_a_message_that_only_an_index_has_is_not_found(whole: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.db"
    shutil.copy(whole, damaged)
    with SqliteStore(damaged, clock=lambda: NOON) as store:
        lost = store.log.read(WORK)[0].position
    with closing(apsw.Connection(str(damaged))) as db:
        ((*index,),) = db.execute("SELECT * FROM sqlite_schema WHERE name = 'message_seq'")
    with_open_schema(damaged, ("DELETE FROM sqlite_schema WHERE name = 'message_seq'", ()))
    with_open_schema(
        damaged,
        ("DELETE FROM message WHERE position = ?", (lost,)),
        ("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", tuple(index)),
    )
    with SqliteStore(damaged, clock=lambda: NOON) as store:
        assert [item.id for item in store.index.missing(WORK, "other")] == [f"m{n}" for n in range(1, 30)]


def emptied(path: Path, *tables: str) -> None:
    """Take the bytes out of all rows of these tables."""
    schema, empty = "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = ?", "UPDATE {} SET {} = NULL"
    for table in tables:
        column = "payload" if table == "job" else "body"
        as_it_was, open_to_all = f"{column} BLOB NOT NULL", f"{column} ANY"
        with_open_schema(path, (schema, (as_it_was, open_to_all, table)))
        with_open_schema(path, (empty.format(table, column), ()), (schema, (open_to_all, as_it_was, table)))


def test_rows_without_bytes_are_erased_by_mending(whole: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.db"
    shutil.copy(whole, damaged)
    emptied(damaged, "record", "item", "job")
    with SqliteStore(damaged, clock=lambda: NOON) as store:
        gone = [finding for finding in store.check() if finding.fix == MEND]
        assert {finding.part for finding in gone} == {"records", "index", "jobs"}
        assert store.mend() >= len(gone)
        assert store.check() == [] and store.jobs.find(Scope("acme")) == []


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.log.read(TRIP),
        lambda store: store.log.spoken(ADA),
        lambda store: store.records.find(ADA),
        lambda store: store.index.get(ADA, "note", ["n1"]),
    ],
)
def test_rows_without_bytes_are_told_as_damage(whole: Path, tmp_path: Path, call: Callable[[SqliteStore], Any]) -> None:
    damaged = tmp_path / "damaged.db"
    shutil.copy(whole, damaged)
    emptied(damaged, "message", "record", "item")
    with SqliteStore(damaged, clock=lambda: NOON) as store, pytest.raises(StoreError, match="damaged"):
        call(store)


@pytest.mark.parametrize(
    ("damage", "finding", "left"),
    [
        (
            f"{OTHER_LETTER.format('record')} WHERE id = 'r3'",
            Finding("records", "the fact 'city3' (record 'r3') is damaged", ADA, fix=MEND),
            (9, 10, 68, 2),
        ),
        (
            f"{OTHER_LETTER.format('item')} WHERE id = 'n3'",
            Finding("index", "the note 'n3' is damaged", ADA, fix=MEND),
            (10, 9, 67, 2),
        ),
        (
            "UPDATE vector SET data = zeroblob(64) WHERE id = 1",
            Finding("index", "the vector of position 1 is damaged", fix=MEND),
            (10, 10, 67, 2),
        ),
        (
            "UPDATE job SET payload = zeroblob(length(payload)) WHERE position = 31",
            Finding("jobs", "the job at position 31 is damaged", fix=MEND),
            (10, 10, 68, 1),
        ),
    ],
)
def test_what_was_derived_and_is_damaged_can_be_erased(
    whole: Path, tmp_path: Path, damage: str, finding: Finding, left: tuple[int, ...]
) -> None:
    damaged = tmp_path / "damaged.db"
    shutil.copy(whole, damaged)
    with closing(apsw.Connection(str(damaged))) as db:
        db.execute(damage)
        assert db.changes() == 1
    with SqliteStore(damaged, clock=lambda: NOON) as store:
        said = store.log.scan(Scope("acme"))
        assert finding in store.check()
        assert store.mend() == 1
        assert store.check() == [] and store.log.scan(Scope("acme")) == said
        notes = store.index.get(ADA, "note", [f"n{n}" for n in range(10)])
        near = store.index.nearest(Scope("acme"), np.ones(16, np.float32), "e5", 100)
        assert (len(store.records.find(ADA)), len(notes), len(near), len(store.jobs.find(Scope("acme")))) == left
        assert store.mend() == 0


def test_a_keyword_index_whose_tables_have_other_columns_is_made_anew(whole: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.db"
    shutil.copy(whole, damaged)
    db = apsw.Connection(str(damaged))
    db.config(apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1)
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    db.execute("UPDATE sqlite_schema SET sql = replace(sql, 'id ', 'ie ') WHERE name = 'words_docsize'")
    db.close()
    with SqliteStore(damaged, clock=lambda: NOON) as store:
        assert {finding.fix for finding in store.check()} == {"run reindex"}
        store.reindex()
        assert store.check() == []


def test_a_file_too_damaged_to_be_opened_says_what_to_do_before_a_restore(whole: Path, tmp_path: Path) -> None:
    damaged, backup = tmp_path / "damaged.db", tmp_path / "backup.db"
    with SqliteStore(whole, clock=lambda: NOON) as store:
        store.backup(backup)
    shutil.copy(whole, damaged)
    db = apsw.Connection(str(damaged))
    db.execute("DELETE FROM counter")
    db.close()
    with pytest.raises(StoreError, match="move it and its -wal aside and restore a backup"):
        SqliteStore(damaged)
    for part in tmp_path.glob("damaged.db*"):
        part.rename(part.with_name(f"aside-{part.name}"))
    with SqliteStore(damaged, clock=lambda: NOON) as store:
        store.restore(backup)
        assert len(store.log.read(TRIP)) == 28 and store.check() == []
