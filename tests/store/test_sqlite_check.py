"""What `check` finds in a file that was changed behind the store's back."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import pytest

from recollect.store.sqlite import SqliteStore
from recollect.testing.stores.base import ADA, fill, found, said, say, v
from tests.store.disk import with_raw


@pytest.mark.parametrize(
    ("damage", "part"),
    [
        ("UPDATE message SET body = CAST(replace(CAST(body AS TEXT), 'zebra one', 'zebra 0ne') AS BLOB)", "log"),
        ("UPDATE message SET id = 'other' WHERE seq = 1", "log"),
        ("UPDATE message SET hash = zeroblob(32) WHERE seq = 2", "log"),
        ("UPDATE message SET at = at + 1 WHERE seq = 1", "log"),
        ("UPDATE message SET tokens = 9 WHERE seq = 1", "log"),
        ("UPDATE message SET tags = x'ff' WHERE seq = 1", "log"),
        ("DELETE FROM message WHERE seq = 1", "log"),
        ("DELETE FROM message WHERE seq = 2", "log"),
        ("UPDATE session SET hash = zeroblob(32)", "log"),
        ("UPDATE scope SET user_id = tenant_id WHERE session <> ''", "log"),
        ("UPDATE scope SET tenant_id = tenant_id + 1 WHERE session <> ''", "log"),
        ("UPDATE scope SET tenant = 'other' WHERE session <> ''", "log"),
        ("UPDATE scope SET user = 'bob' WHERE user <> '' AND session = ''", "log"),
        ("DELETE FROM scope WHERE user = ''", "log"),
        ("UPDATE record SET body = CAST(replace(CAST(body AS TEXT), 'zebra', 'zebrb') AS BLOB)", "records"),
        ("UPDATE item SET body = CAST(replace(CAST(body AS TEXT), 'zebra', 'zebrb') AS BLOB)", "index"),
        ("UPDATE vector SET data = zeroblob(8) WHERE id = 1", "index"),
        ("DELETE FROM item", "index"),
        ("INSERT INTO words (words) VALUES ('delete-all')", "index"),
        ("INSERT INTO words (rowid, scope, text) VALUES (999, 't1', 'stray')", "index"),
        ("UPDATE counter SET indexed = indexed - 2", "index"),
        ("UPDATE counter SET indexed = position + 1", "index"),
        ("UPDATE counter SET position = 1, indexed = 1", "index"),
    ],
)
def test_damage_is_reported(path: Path, damage: str, part: str) -> None:
    with SqliteStore(path) as store:
        fill(store, ADA)
        assert found(store, ADA, "zebra")
        assert store.check() == []
    with_raw(path, damage)
    with SqliteStore(path) as store:
        assert part in {finding.part for finding in store.check()}


@pytest.mark.parametrize(
    ("damage", "lacking", "extra"),
    [
        (("INSERT INTO words (rowid, scope, text) VALUES (999, 't1', 'aardvark zulu \u6771 oslo')",), 0, 5),
        (("INSERT INTO words (words) VALUES ('delete-all')",), 12, 0),
        (
            (
                "INSERT INTO words (words) VALUES ('delete-all')",
                "INSERT INTO words (rowid, scope, text) VALUES (1, 't1', 'oslo aardvark')",
            ),
            10,
            1,
        ),
    ],
)
def test_check_counts_the_words_that_are_wrong(path: Path, damage: tuple[str, ...], lacking: int, extra: int) -> None:
    with SqliteStore(path) as store:
        say(store, ADA, "oslo trip", "oslo \u6771")
        assert found(store, ADA, "oslo")
    with_raw(path, *damage)
    with SqliteStore(path) as store:
        wrong = f"words missing from the keyword index: {lacking}, too many: {extra}"
        assert [finding.problem for finding in store.check()] == [wrong]


def test_a_schema_that_a_newer_version_changed_meanwhile_is_told(path: Path) -> None:
    with SqliteStore(path) as store:
        with_raw(path, "INSERT INTO migration VALUES (999, 'later')")
        (finding,) = store.check()
        assert (finding.part, finding.fix) == ("schema", "restart this process with the version that the other one has")
        assert "schema 999" in finding.problem


def test_check_holds_no_index_of_words_in_memory(path: Path) -> None:
    text = " ".join(f"word{number}" for number in range(200))
    with SqliteStore(path, durability="normal") as store:
        store.log.append(ADA, [said(text, str(number)) for number in range(1_000)])
        assert found(store, ADA, "word1")
        apsw.memory_high_water(True)
        before = apsw.memory_used()
        assert store.check() == []
        taken = apsw.memory_high_water() - before
        assert taken < 12 * 2**20


def test_a_byte_flipped_in_the_keyword_index_is_noticed_or_harmless_and_mended(path: Path) -> None:
    with SqliteStore(path) as store:
        fill(store, ADA)
        assert found(store, ADA, "zebra")
    db = apsw.Connection(str(path))
    ((id, block),) = list(
        db.execute("SELECT id, block FROM words_data WHERE id > 10 ORDER BY length(block) DESC LIMIT 1")
    )
    db.close()
    noticed = 0
    for place in range(0, len(block), 5):
        copy = path.with_name(f"{place}.db")
        shutil.copy(path, copy)
        flipped = bytearray(block)
        flipped[place] ^= 0xFF
        db = apsw.Connection(str(copy))
        db.execute("UPDATE words_data SET block = ? WHERE id = ?", (bytes(flipped), id))
        db.close()
        with SqliteStore(copy, durability="normal") as store:
            problems = store.check()
            noticed += bool(problems)
            assert problems or set(found(store, ADA, "zebra")) == {"m1", "m2", "t1", "t2"}
            store.reindex()
            assert store.check() == []
            assert set(found(store, ADA, "zebra")) == {"m1", "m2", "t1", "t2"}
    assert noticed > 5


def test_a_damaged_vector_is_left_out(path: Path) -> None:
    with SqliteStore(path) as store:
        fill(store, ADA)
    with_raw(path, "UPDATE vector SET data = x'0000803f0000803f' WHERE id = 1")
    with SqliteStore(path) as store:
        assert {match.id for match in store.index.nearest(ADA, v(1, 0), "m")} == {"m2", "t1", "t2"}
