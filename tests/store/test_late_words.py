"""Words are written to the keyword index in batches, and nobody who searches can tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import apsw
import pytest

from recollect.errors import StoreError
from recollect.store import Filter, Item
from recollect.store.sqlite import SqliteStore, database, keywords
from recollect.testing.stores.base import ADA, BOB, USER, found, said, say

from .disk import FullDisk


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
    with store._database._writers.turn(lambda _: None):
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


def crowd(store: SqliteStore, count: int) -> None:
    """Ada's messages, each with a word of its own, and one of Bob's that shares one."""
    store.log.append(ADA, [said(f"apple {own(number)}", str(number)) for number in range(count)])
    say(store, BOB, "apple plum")


def own(number: int) -> str:
    """A word that begins like no other, so that the index holds it whole."""
    return sha256(str(number).encode()).hexdigest()[:16]


def left_in_files(path: Path, numbers: Iterable[int]) -> list[int]:
    """Those of the messages whose own words are still in a file, but for what other words may begin with."""
    files = b"".join(file.read_bytes() for file in path.parent.iterdir())
    return [number for number in numbers if own(number)[6:].encode() in files]


def apples(store: SqliteStore, k: int) -> list[str]:
    return [match.id for match in store.index.search(USER, "apple", k)]


@pytest.mark.parametrize("share", [2, 3])
def test_words_of_much_that_is_erased_leave_the_file_at_once(store: SqliteStore, path: Path, share: int) -> None:
    crowd(store, count := 4 * keywords.FEW)
    gone = [number for number in range(1, count) if number % share or share == 3]
    kept = [str(number) for number in range(count) if number not in gone]
    assert left_in_files(path, range(count)) == [*range(count)]
    store.log.erase(ADA, [*map(str, gone)])
    assert left_in_files(path, gone) == []
    assert sorted(apples(store, count), key=int) == kept and len(found(store, BOB, "apple")) == 1
    assert store.check() == []
    store.log.erase(ADA, kept[:1])
    assert left_in_files(path, [0]) == []
    assert sorted(apples(store, count), key=int) == kept[1:] and store.check() == []


def test_words_of_a_very_long_text_leave_the_index_neither_one_by_one_nor_by_making_it_anew(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(store, ADA, "apple pie")
    store.log.append(ADA, [said(" ".join(map(own, range(50_000))), "long")])
    assert found(store, ADA, own(7)) == ["long"] and len(left_in_files(path, range(1_000))) > 900
    with monkeypatch.context() as marking, pytest.raises(StoreError, match='near "marked": syntax error'):
        marking.setattr(keywords, "_MARK_ONLY", "marked")
        store.log.erase(ADA, ["long"])
    store.log.erase(ADA, ["long"])
    assert left_in_files(path, range(1_000)) == [] and found(store, ADA, "apple") == ["apple pie"]
    assert store.check() == []


def test_no_marks_of_erased_words_are_left_by_a_merge(store: SqliteStore, path: Path) -> None:
    live, gone = list[int](), list[int]()
    for batches, erased in (((100, 300, 600, 100, 600, 300), 300), ((100, 600, 600, 100, 300, 1, 1), 1_600)):
        for size in batches:
            new = range(len(live) + len(gone), len(live) + len(gone) + size)
            store.log.append(ADA, [said(f"apple {own(n)} pear{n % 60} plum{n % 7}", str(n)) for n in new])
            live += new
        gone += (now := live[:: len(live) // erased][:erased])
        live = sorted(set(live).difference(now))
        store.log.erase(ADA, [*map(str, now)])
        assert left_in_files(path, gone) == []
    assert sorted(apples(store, 9_999), key=int) == [*map(str, live)]
    assert store.check() == []


@pytest.mark.parametrize("count", [3, 2 * keywords.FEW])
def test_who_erases_finds_the_others_in_the_same_transaction(store: SqliteStore, count: int) -> None:
    crowd(store, count)
    with store.transaction():
        store.log.erase(ADA, [str(number) for number in range(1, count)])
        assert apples(store, 1) == ["0"]
    assert apples(store, 1) == ["0"]
    assert store.check() == []


@pytest.mark.parametrize("count", [3, 2 * keywords.FEW])
@pytest.mark.parametrize("searches", [False, True])
def test_words_of_an_erasure_that_is_undone_stay(store: SqliteStore, path: Path, count: int, searches: bool) -> None:
    crowd(store, count)
    before = apples(store, count)
    with store.transaction():
        store.log.erase(ADA, [before[0]])
        with pytest.raises(ZeroDivisionError), store.transaction():
            store.log.erase(ADA, before)
            assert not searches or found(store, USER, "apple") == []
            raise ZeroDivisionError
        assert apples(store, count) == before[1:]
    assert store.check() == []
    store.log.erase(ADA, before[1:])
    assert left_in_files(path, map(int, before)) == []


def test_an_index_made_anew_after_an_erasure_in_the_same_transaction_is_whole(store: SqliteStore) -> None:
    crowd(store, keywords.FEW)
    with store.transaction():
        store.log.erase(ADA, ["1", "2"])
        store.reindex()
    assert len(apples(store, 999)) == keywords.FEW - 2
    assert store.check() == []
