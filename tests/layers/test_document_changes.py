"""Documents that are added again, changed and removed, by two at once too."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import NotFound
from recollect.layers.documents import Documents
from recollect.layers.embedding import CHUNK
from recollect.store import Filter, Record, Records, Store
from recollect.store import open as open_store
from recollect.tokens import estimate
from recollect.types import Scope
from tests.layers.guide import ADA, GUIDE, Counted, work


def test_the_same_content_is_kept_once(store: Store) -> None:
    documents = Documents(store, estimate)
    first = documents.add(ADA, GUIDE, name="guide.md")
    assert documents.add(ADA, GUIDE, name="guide.md") == first
    assert documents.add(ADA, GUIDE, name="copy.md") == first
    assert documents.list(ADA) == [first]
    assert len(store.index.search(ADA, "everyone", 99, where=Filter(kinds=(CHUNK,)))) == 3


_STEP = st.tuples(st.sampled_from("aaars"), st.booleans(), st.sampled_from("abcd"), st.sampled_from("xyz"))


@given(st.lists(_STEP, min_size=8))
def test_what_two_processes_add_and_remove_is_kept_once(steps: list[tuple[str, bool, str, str]]) -> None:
    with open_store(":memory:") as store:
        processes = Documents(store, estimate), Documents(store, estimate)
        kept = dict[str, tuple[int, str]]()
        for n, (verb, first, name, text) in enumerate(steps):
            documents = processes[first]
            if verb == "a" and (name in kept or text not in {one for _, one in kept.values()}):
                kept[name] = kept[name] if name in kept and kept[name][1] == text else (n, text)
            if verb == "a":
                expected = name if name in kept else min(kept, key=lambda name: (kept[name][1] != text, kept[name]))
                assert documents.add(ADA, text, name=name).name == expected
            elif verb == "s" and name not in kept:
                documents.restore(ADA, text, name)
                kept[name] = n, text
            elif verb == "r" and name in kept:
                documents.remove(ADA, name)
                del kept[name]
            assert [document.name for document in documents.list(ADA)] == sorted(kept)


def test_what_a_restored_backup_has_is_kept_once(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "memory.db"), durability="normal") as store:
        documents = Documents(store, estimate)
        for name in "ab":
            documents.add(ADA, f"text {name}", name=name)
        store.backup(tmp_path / "backup.db")
        documents.remove(ADA, "b")
        for name in "cd":
            documents.add(ADA, f"text {name}", name=name)
        store.restore(tmp_path / "backup.db")
        assert documents.add(ADA, "text b", name="copy of b").name == "b"


def test_a_further_document_is_added_without_a_look_at_all_others(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents, found, find = Documents(store, estimate), list[Record](), type(store.records).find

    def counted(records: Records, scope: Scope, **by: Any) -> list[Record]:
        page = find(records, scope, **by)
        found.extend(page)
        return page

    monkeypatch.setattr(type(store.records), "find", counted)
    for n in range(20):
        documents.add(ADA, f"The code of door {n} is {n}.", name=f"{n}.md")
    assert len(found) <= 20


def test_the_same_name_again_updates_in_place_and_embeds_only_what_changed(store: Store) -> None:
    embedder = Counted()
    documents = Documents(store, estimate, embedder)
    documents.add(ADA, GUIDE, name="guide.md")
    assert work(store, embedder) == 3
    embedder.passages.clear()
    changed = documents.add(ADA, GUIDE.replace("24 months", "36 months"), name="guide.md")
    assert work(store, embedder) == 1
    assert "36 months" in embedder.passages[0]
    assert documents.list(ADA) == [changed]
    found = documents.search(ADA, "How many months is the warranty?")
    assert "36 months" in found[0].text
    assert all("24 months" not in passage.text for passage in found)


def test_a_new_date_alone_is_the_date_of_its_passages_too(store: Store) -> None:
    documents = Documents(store, estimate)
    for year in (2024, 2025):
        documents.add(ADA, "The door code is 4417.", name="a", at=datetime(year, 1, 1, tzinfo=UTC))
        assert [passage.at for passage in documents.search(ADA, "door code")] == [datetime(year, 1, 1, tzinfo=UTC)]


def test_an_update_may_not_take_the_content_of_another(store: Store) -> None:
    documents = Documents(store, estimate)
    documents.add(ADA, "The door code is 4417.", name="a")
    documents.add(ADA, "The gate code is 9000.", name="b")
    documents.add(ADA, "The door code is 4417.", name="b")
    assert [document.name for document in documents.list(ADA)] == ["a", "b"]
    assert documents.search(ADA, "gate 9000") == []
    assert [passage.text for passage in documents.search(ADA, "door code")] == ["The door code is 4417."]


def test_a_removed_document_is_gone_with_all_its_versions(store: Store) -> None:
    documents = Documents(store, estimate)
    documents.add(ADA, "The door code is 4417.", name="codes")
    documents.add(ADA, "The door code is 9000.", name="codes")
    assert documents.remove(ADA, "codes").name == "codes"
    assert documents.list(ADA) == []
    assert documents.search(ADA, "door code") == []
    assert store.records.history(ADA, "document", "codes") == []
    with pytest.raises(NotFound, match="'codes'; the documents are: none"):
        documents.remove(ADA, "codes")
    assert documents.add(ADA, "The door code is 4417.", name="codes").chunks == 1


class Slow(Documents):
    """Documents of a process that is held up once it has read what there is."""

    def _current(self, scope: Scope, name: str) -> Record | None:
        found = super()._current(scope, name)
        held_up.set()
        time.sleep(0.2)
        return found


held_up = threading.Event()


def _meanwhile(slow: Callable[[], object], work: Callable[[], object]) -> None:
    """Do the work of another process as soon as the slow one has read what there is."""
    held_up.clear()
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(slow)
        assert held_up.wait(10)
        work()
        held.result()


@pytest.mark.parametrize("before", [[], ["The kettle costs 10 euro."]])
def test_two_processes_that_change_a_document_at_once_both_succeed(tmp_path: Path, before: list[str]) -> None:
    path = str(tmp_path / "memory.db")
    with open_store(path) as mine, open_store(path) as theirs:
        slow, other = Slow(mine, estimate), Documents(theirs, estimate)
        for text in before:
            other.add(ADA, text, name="prices.md")
        _meanwhile(
            lambda: slow.add(ADA, "The kettle costs 20 euro.", name="prices.md"),
            lambda: other.add(ADA, "The kettle costs 30 euro.", name="prices.md"),
        )
        assert [passage.text for passage in other.search(ADA, "kettle")] == ["The kettle costs 30 euro."]
        assert [document.chunks for document in other.list(ADA)] == [1]


def test_a_document_that_is_changed_while_it_is_removed_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with open_store(path) as mine, open_store(path) as theirs:
        slow, other = Slow(mine, estimate), Documents(theirs, estimate)
        other.add(ADA, "The kettle costs 10 euro.", name="prices.md")
        _meanwhile(
            lambda: slow.remove(ADA, "prices.md"),
            lambda: other.add(ADA, "The kettle costs 30 euro.", name="prices.md"),
        )
        assert [passage.text for passage in other.search(ADA, "kettle")] == ["The kettle costs 30 euro."]
        assert len(theirs.records.history(ADA, "document", "prices.md")) == len(other.list(ADA)) == 1


def test_parts_that_a_damaged_store_lost_are_back_once_their_document_is_added_again(store: Store) -> None:
    documents = Documents(store, estimate)
    added = documents.add(ADA, GUIDE, name="guide.md")
    whole = documents.search(ADA, "kettle vinegar")
    store.index.delete(ADA.owner, CHUNK, [whole[0].id])
    assert documents.search(ADA, "kettle vinegar") != whole
    assert documents.add(ADA, GUIDE, name="guide.md") == added
    assert documents.search(ADA, "kettle vinegar") == whole
