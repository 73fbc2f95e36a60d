"""What an index must do with vectors."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from recollect.errors import ConfigError
from recollect.frozen import freeze
from recollect.store import Filter, Item, Store
from recollect.testing.stores.base import ACME, ADA, ADA_TOO, BOB, EVERYONE, NOON, RIVAL, USER, StoreTests, said, say, v
from recollect.types import Message, Role, Scope


def near(store: Store, scope: Scope, vector: Any, **options: Any) -> list[str]:
    """The ids of the nearest."""
    return [match.id for match in store.index.nearest(scope, vector, "m", 100, **options)]


class VectorTests(StoreTests):
    """Finding by meaning."""

    def test_nearest_first_by_cosine(self, store: Store) -> None:
        say(store, ADA, "east", "north", "west")
        assert store.index.embed(ADA, "message", "m", {"east": v(9, 0), "north": v(0, 0.1), "west": v(-1, 0)}) == 3
        matches = store.index.nearest(ADA, v(2, 1), "m")
        assert [match.id for match in matches] == ["east", "north", "west"]
        assert [match.score for match in matches] == pytest.approx([0.8944, 0.4472, -0.8944], abs=1e-3)

    def test_no_more_than_k_come(self, store: Store) -> None:
        say(store, ADA, *(str(number) for number in range(20)))
        store.index.embed(ADA, "message", "m", {str(number): v(number + 1, 1) for number in range(20)})
        assert [match.id for match in store.index.nearest(ADA, v(1, 0), "m", 3)] == ["19", "18", "17"]

    def test_small_integers_are_vectors_too(self, store: Store) -> None:
        say(store, ADA, "east", "north")
        store.index.embed(ADA, "message", "m", {"east": np.array([127, 0], np.int8), "north": v(0, 1)})
        assert near(store, ADA, v(1, 0.1)) == ["east", "north"]
        assert near(store, ADA, np.array([0, 127], np.int8)) == ["north", "east"]

    def test_models_live_side_by_side(self, store: Store) -> None:
        say(store, ADA, "a", "b")
        store.index.embed(ADA, "message", "m", {"a": v(1, 0), "b": v(0, 1)})
        store.index.embed(ADA, "message", "other", {"a": v(0, 1, 0)})
        assert near(store, ADA, v(1, 0)) == ["a", "b"]
        assert [match.id for match in store.index.nearest(ADA, v(0, 1, 0), "other")] == ["a"]
        assert store.index.nearest(ADA, v(1), "unknown") == []

    def test_a_later_vector_replaces(self, store: Store) -> None:
        say(store, ADA, "a", "b")
        store.index.embed(ADA, "message", "m", {"a": v(1, 0), "b": v(0, 1)})
        assert near(store, ADA, v(1, 0)) == ["a", "b"]
        store.index.embed(ADA, "message", "m", {"a": v(0, -1)})
        assert near(store, ADA, v(1, 0.01)) == ["b", "a"]

    def test_more_vectors_are_seen(self, store: Store) -> None:
        for number in range(30):
            say(store, ADA, str(number))
            store.index.embed(ADA, "message", "m", {str(number): v(1, number)})
            assert near(store, ADA, v(0, 1))[0] == str(number)

    def test_what_is_not_there_takes_no_vector(self, store: Store) -> None:
        say(store, ADA, "a")
        assert store.index.embed(ADA, "message", "m", {"gone": v(1, 0)}) == 0
        assert store.index.embed(ADA, "chunk", "m", {"a": v(1, 0)}) == 0
        assert store.index.embed(ADA_TOO, "message", "m", {"a": v(1, 0)}) == 0
        assert store.index.embed(USER, "message", "m", {"a": v(1, 0)}) == 0
        assert near(store, ADA, v(1, 0)) == []

    @pytest.mark.parametrize("bad", [[], [0.0, 0.0], [float("nan"), 1], [float("inf"), 1], [[1.0, 2.0]]])
    def test_senseless_vectors_are_refused(self, store: Store, bad: Any) -> None:
        say(store, ADA, "a")
        with pytest.raises(ConfigError):
            store.index.embed(ADA, "message", "m", {"a": np.array(bad, np.float32)})
        with pytest.raises(ConfigError):
            store.index.nearest(ADA, np.array(bad, np.float32), "m")

    def test_lengths_must_fit_the_model(self, store: Store) -> None:
        say(store, ADA, "a", "b")
        say(store, RIVAL, "a")
        store.index.embed(ADA, "message", "m", {"a": v(1, 0)})
        with pytest.raises(ConfigError, match="2"):
            store.index.embed(ADA, "message", "m", {"b": v(1, 0, 0)})
        with pytest.raises(ConfigError, match="2"):
            store.index.nearest(ADA, v(1, 0, 0), "m")
        assert store.index.embed(RIVAL, "message", "m", {"a": v(1, 0, 0)}) == 1

    def test_the_nearest_are_those_of_the_scope(self, store: Store) -> None:
        for scope in EVERYONE:
            store.log.append(scope, [said("x", str(scope))])
            store.index.embed(scope, "message", "m", {str(scope): v(1, 0)})
        store.index.put(ACME, [Item("message2", "shared", "x")])
        store.index.embed(ACME, "message2", "m", {"shared": v(1, 0)})
        assert near(store, ADA, v(1, 0)) == [str(ADA)]
        assert set(near(store, USER, v(1, 0))) == {str(ADA), str(ADA_TOO)}
        assert set(near(store, ACME, v(1, 0))) == {str(ADA), str(ADA_TOO), str(BOB), "shared"}
        assert near(store, ACME, v(1, 0), where=Filter(exact=True)) == ["shared"]
        assert near(store, Scope("nobody"), v(1, 0)) == []

    def test_the_nearest_pass_the_filter(self, store: Store) -> None:
        day = timedelta(days=1)
        roles: tuple[Role, ...] = ("user", "assistant", "user")
        for number, role in enumerate(roles):
            metadata = freeze({"n": number})
            store.log.append(ADA, [Message(role, "x", str(number), at=NOON + number * day, metadata=metadata)])
            store.index.embed(ADA, "message", "m", {str(number): v(1, number)})
        store.index.put(ADA, [Item("chunk", "timeless", "x")])
        store.index.embed(ADA, "chunk", "m", {"timeless": v(1, 5)})
        entries = store.log.read(ADA)
        assert near(store, ADA, v(1, 0), where=Filter(since=NOON + day)) == ["1", "2"]
        assert near(store, ADA, v(1, 0), where=Filter(before=NOON + day)) == ["0"]
        assert near(store, ADA, v(1, 0), where=Filter(roles=("user",))) == ["0", "2"]
        assert near(store, ADA, v(1, 0), where=Filter(kinds=("chunk",))) == ["timeless"]
        assert near(store, ADA, v(1, 0), where=Filter(metadata=freeze({"n": 1}))) == ["1"]
        assert near(store, ADA, v(1, 0), where=Filter(as_of=entries[1].position)) == ["0", "1"]

    def test_missing_lists_what_has_no_vector(self, store: Store) -> None:
        say(store, ADA, "a", "b")
        store.log.append(ADA, [Message("user", "", "silent")])
        store.index.put(USER, [Item("chunk", "c", "words"), Item("chunk", "empty", "")])
        store.index.embed(ADA, "message", "m", {"a": v(1, 0)})
        assert [item.id for item in store.index.missing(USER, "m")] == ["b", "c"]
        assert [item.id for item in store.index.missing(USER, "m", kinds=["chunk"])] == ["c"]
        assert [item.id for item in store.index.missing(USER, "new", limit=2)] == ["a", "b"]
        first = store.log.read(ADA)[0].position
        assert [item.id for item in store.index.missing(USER, "new", after=first, limit=2)] == ["b", "c"]
        assert store.index.missing(BOB, "m") == []
        store.index.embed(USER, "chunk", "m", {"c": v(1, 0)})
        assert [item.id for item in store.index.missing(USER, "m")] == ["b"]
        assert [item.id for item in store.index.missing(USER, "new")] == ["a", "b", "c"]
        last = store.index.missing(USER, "new")[-1].position
        assert store.index.missing(USER, "new", after=last) == []

    def test_drop_a_model(self, store: Store) -> None:
        say(store, ADA, "a")
        say(store, ADA_TOO, "b")
        store.index.embed(ADA, "message", "m", {"a": v(1, 0)})
        store.index.embed(ADA_TOO, "message", "m", {"b": v(1, 0)})
        store.index.embed(ADA, "message", "other", {"a": v(1)})
        assert len(near(store, USER, v(1, 0))) == 2
        assert store.index.drop(ADA, "m") == 1
        assert near(store, USER, v(1, 0)) == ["b"]
        assert store.index.drop(ACME, "m") == 1
        assert near(store, USER, v(1, 0)) == []
        assert [match.id for match in store.index.nearest(ADA, v(1), "other")] == ["a"]
        assert store.index.embed(ADA, "message", "m", {"a": v(1, 0, 0)}) == 1

    def test_replaced_and_deleted_items_lose_their_vectors(self, store: Store) -> None:
        store.index.put(ADA, [Item("chunk", "a", "x"), Item("chunk", "b", "x")])
        store.index.embed(ADA, "chunk", "m", {"a": v(1, 0), "b": v(1, 0)})
        assert len(near(store, ADA, v(1, 0))) == 2
        store.index.put(ADA, [Item("chunk", "a", "y")])
        assert near(store, ADA, v(1, 0)) == ["b"]
        store.index.delete(ADA, "chunk", ["b"])
        assert near(store, ADA, v(1, 0)) == []

    def test_positions_are_those_of_the_nearest(self, store: Store) -> None:
        for scope, text in ((ADA, "a"), (ADA_TOO, "b"), (BOB, "c")):
            say(store, scope, text)
        store.index.put(USER, [Item("chunk", "d", "x", metadata=freeze({"n": 1}))])
        for scope, kind, id, row in ((ADA, "message", "a", v(1, 0)), (ADA_TOO, "message", "b", v(3, 4))):
            store.index.embed(scope, kind, "m", {id: row})
        store.index.embed(USER, "chunk", "m", {"d": v(0, 1)})
        placed = {entry.message.id: entry.position for entry in store.log.scan(USER)}
        placed |= {item.id: item.position for item in store.index.get(USER, "chunk", ["d"])}

        def found(k: int, **options: Any) -> dict[int, float]:
            positions, cosines = store.index.nearest_positions(USER, v(1, 0), "m", k, **options)
            return dict(zip(positions.tolist(), cosines.tolist(), strict=True))

        assert found(9) == pytest.approx({placed["a"]: 1.0, placed["b"]: 0.6, placed["d"]: 0.0}, abs=1e-6)
        assert set(found(2)) == {placed["a"], placed["b"]}
        assert set(found(9, where=Filter(kinds=("message",)))) == {placed["a"], placed["b"]}
        assert set(found(9, where=Filter(metadata=freeze({"n": 1})))) == {placed["d"]}
        for scope, model in ((USER, "unknown"), (Scope("nobody"), "m")):
            assert [len(row) for row in store.index.nearest_positions(scope, v(1, 0), model)] == [0, 0]
        with pytest.raises(ConfigError):
            store.index.nearest_positions(USER, v(1, 0), "m", 0)
        with pytest.raises(ConfigError):
            store.index.nearest_positions(USER, v(1, 0, 0), "m")

    def test_of_equally_near_ones_the_later_come(self, store: Store) -> None:
        say(store, ADA, *"abcd")
        store.index.embed(ADA, "message", "m", {"a": v(1, 0), "b": v(0, 1), "c": v(2, 0), "d": v(3, 0)})
        assert [match.id for match in store.index.nearest(ADA, v(1, 0), "m", 2)] == ["d", "c"]
        placed = {entry.position: entry.message.id for entry in store.log.read(ADA)}
        positions, _ = store.index.nearest_positions(ADA, v(1, 0), "m", 2)
        assert {placed[position] for position in positions.tolist()} == {"c", "d"}

    def test_vectors_of_some_items_are_read_by_their_ids(self, store: Store) -> None:
        say(store, ADA, "a", "b", "c")
        say(store, BOB, "a")
        store.index.put(USER, [Item("chunk", "a", "x")])
        store.index.embed(ADA, "message", "m", {"c": v(0, 5), "a": v(2, 0)})
        store.index.embed(BOB, "message", "m", {"a": v(1, 0)})
        store.index.embed(USER, "chunk", "m", {"a": np.array([0, -127], np.int8)})
        store.index.embed(ADA, "message", "other", {"b": v(1)})
        found = store.index.vectors(USER, "message", "m", ["c", "b", "a", "none", "c"])
        assert [(item.scope, item.id, item.text, row.tolist()) for item, row in found] == [
            (ADA, "a", "a", [1, 0]),
            (ADA, "c", "c", [0, 1]),
        ]
        assert [row.tolist() for _, row in store.index.vectors(USER, "chunk", "m", ["a"])] == [[0, -1]]
        store.log.erase(ADA, ["c"])
        assert [item.id for item, _ in store.index.vectors(ADA, "message", "m", ["a", "c"])] == ["a"]
        assert store.index.vectors(ADA, "message", "m", []) == store.index.vectors(ADA, "message", "none", ["a"]) == []
        assert store.index.vectors(Scope("nobody"), "message", "m", ["a"]) == []
        assert store.index.vectors(USER, "message", "m", ["\0", "\ud800"]) == []

    def test_embedded_pages_through_what_has_a_vector(self, store: Store) -> None:
        say(store, ADA, "a", "b", "c")
        say(store, BOB, "d")
        store.index.put(USER, [Item("chunk", "e", "x", role="user", metadata=freeze({"n": 1}))])
        store.index.embed(ADA, "message", "m", {"c": v(0, 5), "a": v(2, 0)})
        store.index.embed(BOB, "message", "m", {"d": v(1, 0)})
        store.index.embed(USER, "chunk", "m", {"e": np.array([0, -127], np.int8)})
        store.index.embed(ADA, "message", "other", {"b": v(1)})
        pairs = store.index.embedded(USER, "m")
        assert [item.id for item, _ in pairs] == ["a", "c", "e"]
        assert [row.tolist() for _, row in pairs] == [[1, 0], [0, 1], [0, -1]]
        assert (pairs[2][0].kind, pairs[2][0].metadata, pairs[0][0].text) == ("chunk", {"n": 1}, "a")
        first = store.index.embedded(USER, "m", limit=1)
        assert [item.id for item, _ in first] == ["a"]
        rest = store.index.embedded(USER, "m", after=first[0][0].position)
        assert [item.id for item, _ in rest] == ["c", "e"]
        store.log.erase(ADA, ["c"])
        assert [item.id for item, _ in store.index.embedded(ACME, "m")] == ["a", "d", "e"]
        assert store.index.embedded(USER, "unknown") == store.index.embedded(Scope("nobody"), "m") == []
        with pytest.raises(ConfigError):
            store.index.embedded(USER, "m", limit=0)

    def test_the_length_of_what_is_asked_does_not_matter(self, store: Store) -> None:
        say(store, ADA, "east", "north")
        store.index.embed(ADA, "message", "m", {"east": v(1, 0), "north": v(0, 1)})
        for scale in (1e-12, 1.0, 1e12):
            matches = store.index.nearest(ADA, v(3 * scale, 4 * scale), "m")
            assert [(match.id, round(match.score, 4)) for match in matches] == [("north", 0.8), ("east", 0.6)]

    def test_exact_against_all_pairs(self, store: Store) -> None:
        rows = np.random.default_rng(7).standard_normal((400, 24)).astype(np.float32)
        store.index.put(ADA, [Item("chunk", str(n), "x") for n in range(400)])
        store.index.embed(ADA, "chunk", "m", {str(n): rows[n] for n in range(400)})
        asked = np.random.default_rng(8).standard_normal(24).astype(np.float32)
        best = np.argsort(-(rows @ asked) / np.linalg.norm(rows, axis=1))[:10]
        assert [match.id for match in store.index.nearest(ADA, asked, "m", 10)] == [str(n) for n in best]
