"""The store: the same answers as LangGraph's own in memory, and what that has not: words, restarts, times to live."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import BaseStore, InvalidNamespaceError, PutOp
from langgraph.store.memory import InMemoryStore

from recollect import Memory, RecollectError, Scope
from recollect.adapters.langgraph import RecollectStore
from recollect.embed.hashing import HashingEmbedder
from recollect.errors import ConfigError, Conflict
from recollect.store.reference import ReferenceStore
from recollect.transfer import export_lines, import_lines

LABELS = st.sampled_from(["a", "b", "c"])
PATHS = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
VALUES = st.fixed_dictionaries({"n": st.integers(0, 3), "kind": st.sampled_from(["x", "y"])})
PUTS = st.tuples(PATHS, LABELS, st.none() | VALUES)
FILTERS = st.sampled_from(
    [None, {"n": 1}, {"n": {"$gt": 1}}, {"n": {"$gte": 1, "$lt": 3}}, {"kind": {"$ne": "x"}}, {"kind": "x", "n": 2}]
)


@pytest.fixture
def memory(store_url: str) -> Iterator[Memory]:
    with Memory.open(store_url, embedder=None) as memory:
        yield memory


def shown(store: BaseStore, prefix: tuple[str, ...], filter: Any) -> list[Any]:
    found = store.search(prefix, filter=filter, limit=1_000)
    return sorted((item.namespace, item.key, sorted(item.value.items())) for item in found)


@settings(max_examples=50)
@given(st.lists(PUTS, max_size=15), st.just(()) | PATHS, FILTERS)
def test_it_answers_as_langgraphs_own_store_does(puts: list[Any], prefix: Any, filter: Any) -> None:
    ours, theirs = RecollectStore(Memory(ReferenceStore())), InMemoryStore()
    for path, key, value in puts:
        for store in (ours, theirs):
            store.put(path, key, value) if value else store.delete(path, key)
    assert shown(ours, prefix, filter) == shown(theirs, prefix, filter)
    for path, key, _ in puts:
        mine, their = ours.get(path, key), theirs.get(path, key)
        assert (mine and mine.value) == (their and their.value)
    left = {item.namespace for item in theirs.search((), limit=1_000)}
    assert ours.list_namespaces(limit=1_000) == sorted(left)
    for way in ({"prefix": prefix or None}, {"suffix": prefix[-1:] or None}, {"prefix": ("*", "b")}, {"max_depth": 1}):
        names = [n for n in theirs.list_namespaces(limit=1_000, **way) if way.get("max_depth") or n in left]
        if "max_depth" in way:
            names = sorted({name[:1] for name in left})
        assert ours.list_namespaces(limit=1_000, **way) == names


def test_a_value_is_kept_over_a_restart_and_its_first_time_with_it(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        RecollectStore(memory, user="ada").put(("likes",), "food", {"what": "figs"})
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        store = RecollectStore(memory, user="ada")
        first = store.get(("likes",), "food")
        store.put(("likes",), "food", {"what": "plums"})
        second = store.get(("likes",), "food")
    assert first and second
    assert (first.value, second.value) == ({"what": "figs"}, {"what": "plums"})
    assert second.created_at == first.created_at < second.updated_at


@pytest.mark.parametrize(
    "index", [None, {"dims": 64, "embed": lambda texts: HashingEmbedder(64).embed(texts).tolist()}]
)
def test_a_query_finds_by_words_and_by_meaning(memory: Memory, index: Any) -> None:
    store = RecollectStore(memory, user="ada", index=index)
    store.put(("notes", "home"), "1", {"text": "The cat sleeps on the sofa."})
    store.put(("notes", "home"), "2", {"text": "The dog barks at the postman."})
    store.put(("work",), "3", {"text": "The cat picture goes to print."})
    found = store.search(("notes",), query="where is the cat", limit=1)
    assert [item.key for item in found] == ["1"]
    assert 0 < (found[0].score or 0) <= 1
    store.put(("notes", "home"), "1", {"text": "Nothing sleeps here."})
    assert "1" not in [item.key for item in store.search(("notes",), query="cat") if (item.score or 0) > 0.4]
    store.delete(("work",), "3")
    assert store.search(("work",), query="cat picture") == []


def test_only_the_fields_that_are_named_are_searched_by(memory: Memory) -> None:
    store = RecollectStore(memory, index={"dims": 0, "embed": "", "fields": ["title", "tags[*]"]})
    store.put(("d",), "1", {"title": "figs", "body": "plums", "tags": ["sweet", "green"]})
    store.put(("d",), "2", {"title": "figs"}, index=False)
    store.put(("d",), "3", {"body": "pears"}, index=["body"])
    asked = ("figs", "plums", "green", "pears")
    assert [[item.key for item in store.search(("d",), query=q)] for q in asked] == [["1"], [], ["1"], ["3"]]


def test_an_item_lives_as_long_as_it_is_read_in_time() -> None:
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    store = RecollectStore(Memory(ReferenceStore(lambda: now[0]), clock=lambda: now[0]), ttl={"default_ttl": 10})
    store.put(("s",), "short", {"text": "gone soon"})
    store.put(("s",), "long", {"text": "stays"}, ttl=None)
    for _ in range(3):
        now[0] += timedelta(minutes=8)
        assert store.get(("s",), "short")
    now[0] += timedelta(minutes=8)
    assert store.get(("s",), "short", refresh_ttl=False)
    now[0] += timedelta(minutes=2)
    assert store.get(("s",), "short") is None
    assert [item.key for item in store.search(("s",), query="gone soon stays")] == ["long"]
    assert (store.sweep_ttl(), store.sweep_ttl()) == (1, 0)


def test_what_is_put_anew_while_its_old_self_is_swept_is_found(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [datetime(2025, 3, 3, tzinfo=UTC)]
    monkeypatch.setattr(memory, "clock", lambda: now[0])
    store, begin = RecollectStore(memory), memory.store.transaction
    store.put(("s",), "key", {"word": "avocado"}, ttl=1)
    now[0] += timedelta(minutes=2)

    def late(scope: Scope | None = None) -> AbstractContextManager[None]:
        monkeypatch.setattr(memory.store, "transaction", begin)
        store.put(("s",), "key", {"word": "avocado"})
        return begin(scope)

    monkeypatch.setattr(memory.store, "transaction", late)
    assert store.sweep_ttl() == 0
    assert [item.key for item in store.search(("s",), query="avocado")] == ["key"]


def test_users_and_the_tenants_own_are_apart_and_a_user_can_be_erased(memory: Memory) -> None:
    ada, bob, all_of_them = (RecollectStore(memory, user=user) for user in ("ada", "bob", None))
    for store, word in ((ada, "avocado"), (bob, "banana"), (all_of_them, "cherry")):
        store.put(("s",), "word", {"word": word})
    words = [[item.value["word"] for item in store.search(())] for store in (ada, bob, all_of_them)]
    assert words == [["avocado"], ["banana"], ["cherry"]]
    assert [item.value for item in all_of_them.search((), query="avocado banana cherry")] == [{"word": "cherry"}]
    memory.store.log.erase(ada.scope)
    assert (ada.search(()), len(bob.search(()))) == ([], 1)


def test_awaited_it_does_the_same(memory: Memory) -> None:
    store = RecollectStore(memory)

    async def use() -> Any:
        await asyncio.gather(*(store.aput(("n",), str(n), {"n": n}) for n in range(10)))
        return await store.aget(("n",), "7"), await store.asearch(("n",), filter={"n": {"$lt": 3}})

    got, found = asyncio.run(use())
    assert got.value == {"n": 7}
    assert {item.key for item in found} == {"0", "1", "2"}


def test_what_can_not_be_used_is_refused_and_nothing_is_lost(memory: Memory) -> None:
    store = RecollectStore(memory)
    store.put(("s",), "k", {"n": 1})
    with pytest.raises(RecollectError, match="datetime is not JSON"):
        store.put(("s",), "k", {"at": datetime(2026, 1, 1, tzinfo=UTC)})
    with pytest.raises(ConfigError, match="at most 1000"):
        store.batch([PutOp(("s",), "k", {"n": 2}), PutOp(("s",), "x" * 2_000, {"n": 2})])
    with pytest.raises(ConfigError, match=r"\$near"):
        store.search(("s",), filter={"n": {"$near": 1}})
    pages: list[dict[str, Any]] = [{"limit": -1}, {"offset": -1}]
    for page in pages:
        with pytest.raises(ConfigError, match="neither can be negative"):
            store.search(("s",), **page)
        with pytest.raises(ConfigError, match="neither can be negative"):
            store.list_namespaces(**page)
    with pytest.raises(ConfigError, match="surrogate"):
        store.put(("s",), "\ud83d", {"n": 2})
    with pytest.raises(InvalidNamespaceError):
        store.put(("a.b",), "k", {})
    found = store.get(("s",), "k")
    assert found and found.value == {"n": 1}
    assert store.search(("s",), filter={"n": {"$gt": "text"}}) == []


def test_a_users_items_move_to_another_store_and_are_found_there(memory: Memory) -> None:
    ours = RecollectStore(memory, user="ada")
    ours.put(("notes", "trip"), "ferry", {"text": "The ferry sails at nine."})
    with Memory.open(":memory:", embedder=HashingEmbedder(64)) as other:
        for _ in range(2):
            import_lines(other, export_lines(memory, Scope("default", "ada")))
        theirs = RecollectStore(other, user="ada")
        assert theirs.get(("notes", "trip"), "ferry") == ours.get(("notes", "trip"), "ferry")
        assert [item.key for item in theirs.search(("notes",), query="ferry")] == ["ferry"]
        theirs.put(("notes", "trip"), "ferry", {"text": "It sails at ten."})
        with pytest.raises(Conflict, match="line 1"):
            import_lines(other, export_lines(memory, Scope("default", "ada")))
        assert [item.value["text"] for item in theirs.search(("notes",))] == ["It sails at ten."]
