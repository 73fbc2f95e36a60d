"""Words are written to the keyword index in batches, and nobody who searches can tell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from recollect.store import Filter, Item
from recollect.store.sqlite import SqliteStore, database, keywords
from recollect.testing.stores.base import ADA, BOB, USER, found, said, say

from .disk import FullDisk


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(path, durability="normal") as opened:
        yield opened


def behind(path: Path) -> int:
    """How many positions the index is behind."""
    with closing(apsw.Connection(str(path))) as db:
        count: int = db.execute("SELECT position - indexed FROM counter").get
        return count


def parts(path: Path) -> int:
    """How many parts of the index a search looks into."""
    with closing(apsw.Connection(str(path))) as db:
        count: int = db.execute("SELECT count(DISTINCT segid) FROM words_idx").get
        return count


def test_words_wait_for_others_and_are_written_together(store: SqliteStore, path: Path) -> None:
    for number in range(keywords.LAG - 1):
        say(store, ADA, f"apple {number}")
    assert behind(path) == keywords.LAG - 1
    say(store, ADA, "the last apple")
    assert behind(path) == 0
    assert store.check() == []


def test_a_large_batch_is_written_at_once(store: SqliteStore, path: Path) -> None:
    store.log.append(ADA, [said(f"apple {number}", str(number)) for number in range(keywords.LAG)])
    assert behind(path) == 0


def test_an_index_that_caught_up_often_has_few_parts(store: SqliteStore, path: Path) -> None:
    for number in range(15):
        say(store, ADA, f"apple {number}")
        store.index.search(USER, "apple")
    assert parts(path) < 8
    assert store.check() == []


def test_an_index_made_anew_is_one_part(store: SqliteStore, path: Path) -> None:
    for batch in range(2):
        many = [" ".join(f"w{batch}x{number}x{word}" for word in range(1_000)) for number in range(100)]
        store.log.append(ADA, [said(text, f"{batch} {number}") for number, text in enumerate(many)])
    store.reindex()
    assert parts(path) == 1
    assert found(store, ADA, "w1x42x3") == ["1 42"]


def test_a_search_finds_what_waits_as_if_it_did_not(store: SqliteStore, path: Path) -> None:
    say(store, ADA, "apple pie", "pear")
    store.index.put(USER, [Item("chunk", "c", "apple tart and apple juice")])
    assert behind(path) == 3
    matches = store.index.search(USER, "apple")
    assert [match.id for match in matches] == ["c", "apple pie"]
    assert behind(path) == 0
    store.reindex()
    assert store.index.search(USER, "apple") == matches


def test_what_a_search_is_not_about_is_left_waiting(store: SqliteStore, path: Path) -> None:
    store.index.put(ADA, [Item("chunk", "c", "apple")])
    assert found(store, ADA, "apple") == ["c"]
    say(store, ADA, "apple")
    assert found(store, BOB, "apple") == []
    assert found(store, ADA, "apple", where=Filter(kinds=("chunk",))) == ["c"]
    assert behind(path) == 1


def test_another_handle_finds_what_waits(store: SqliteStore, path: Path) -> None:
    say(store, ADA, "apple")
    with SqliteStore(path) as other:
        assert other.check() == []
        assert found(other, ADA, "apple") == ["apple"]


def test_what_waits_can_be_erased_replaced_and_deleted(store: SqliteStore, path: Path) -> None:
    say(store, ADA, "apple", "pear")
    store.index.put(ADA, [Item("chunk", "c", "apple"), Item("chunk", "d", "apple")])
    store.index.put(ADA, [Item("chunk", "c", "plum")])
    store.index.delete(ADA, "chunk", ["d"])
    store.log.erase(ADA, ["apple"])
    assert behind(path) > 0
    assert found(store, ADA, "apple") == []
    assert set(found(store, ADA, "pear plum")) == {"pear", "c"}
    assert store.check() == []


def test_a_block_finds_what_it_wrote_and_forgets_it_when_undone(store: SqliteStore, path: Path) -> None:
    say(store, ADA, "apple")
    with pytest.raises(RuntimeError), store.transaction():
        say(store, ADA, "pear")
        assert found(store, ADA, "pear") == ["pear"]
        raise RuntimeError
    assert found(store, ADA, "pear") == []
    assert found(store, ADA, "apple") == ["apple"]
    with store.transaction():
        with pytest.raises(RuntimeError), store.transaction():
            assert found(store, ADA, say(store, ADA, "plum")[0].message.text) == ["plum"]
            raise RuntimeError
        say(store, ADA, "fig")
        assert found(store, ADA, "fig plum") == ["fig"]
    assert store.check() == []


def test_while_another_process_writes_a_search_does_not_wait_long(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "FREE_MS", 1)
    say(store, ADA, "apple", "a pear and an apple")
    assert len(found(store, ADA, "apple")) == 2
    say(store, ADA, "apple, apple and apple", "plum")
    store.index.put(USER, [Item("chunk", "c", "apple", role="tool")])
    with closing(apsw.Connection(str(path))) as other:
        other.execute("BEGIN IMMEDIATE")
        in_the_way = found(store, USER, "apple")
        assert set(in_the_way) == {"apple", "a pear and an apple", "apple, apple and apple", "c"}
        assert [match.id for match in store.index.search(USER, "apple", 2)] == in_the_way[:2]
        assert found(store, USER, "apple", where=Filter(kinds=("chunk",))) == ["c"]
        assert found(store, USER, "apple", where=Filter(roles=("tool",))) == ["c"]
        assert found(store, USER, "apple", where=Filter(exact=True)) == ["c"]
        assert found(store, BOB, "apple") == []
        other.execute("ROLLBACK")
    assert set(found(store, USER, "apple")) == set(in_the_way)
    assert behind(path) == 0
    assert store.check() == []


def test_while_this_process_writes_for_long_a_search_does_not_wait(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "FREE_MS", 1)
    say(store, ADA, "apple")
    with store._database._writers:
        assert found(store, ADA, "apple") == ["apple"]


def test_on_a_full_disk_what_waits_is_found(tmp_path: Path) -> None:
    disk = FullDisk("late-words")
    with SqliteStore(tmp_path / "memory.db", vfs=disk.name) as store:
        say(store, ADA, "apple")
        disk.full = True
        assert found(store, ADA, "apple") == ["apple"]
        disk.full = False
        assert found(store, ADA, "apple") == ["apple"]
        assert store.check() == []


@pytest.mark.parametrize("waits", [True, False])
def test_what_can_not_be_read_any_more_can_be_erased(store: SqliteStore, path: Path, waits: bool) -> None:
    say(store, ADA, "apple", "pear")
    store.index.put(ADA, [Item("chunk", "c", "apple")])
    if not waits:
        assert len(found(store, ADA, "apple")) == 2
    with closing(apsw.Connection(str(path))) as other:
        other.execute("UPDATE message SET body = x'ff' WHERE id = 'apple'")
        other.execute("UPDATE item SET body = x'ff'")
    assert store.log.erase(ADA, ["apple"]).messages == 1
    assert store.index.delete(ADA, "chunk", ["c"]) == 1
    assert found(store, ADA, "apple") == []
    assert found(store, ADA, "pear") == ["pear"]
    assert store.check() == []


def test_what_waits_is_ranked_alike_inside_a_moment(store: SqliteStore) -> None:
    store.index.put(ADA, [Item("chunk", str(n), f"apple pear {'plum ' * n}") for n in range(5)])
    with store.reading():
        first = store.index.search(ADA, "apple plum")
    assert first == store.index.search(ADA, "apple plum")
