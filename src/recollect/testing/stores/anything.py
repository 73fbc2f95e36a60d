"""What a store must take, whatever it is given."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from recollect.arguments import MAX_WHOLE
from recollect.errors import ConfigError, RecollectError, StoreUnavailable
from recollect.frozen import MOST_NESTED, freeze
from recollect.store import Erased, Filter, Item, Job, Store
from recollect.store.spoken import spoken_of
from recollect.testing.stores.base import (
    ACME,
    ADA,
    HOSTILE_IDS,
    HOSTILE_TEXTS,
    NOON,
    StoreTests,
    fact,
    fill,
    found,
    nothing,
    said,
    say,
    texts,
    v,
)
from recollect.types import Message, Scope, Text, ToolResult


class AnythingTests(StoreTests):
    """Any text comes back exactly, or is refused clearly; nothing reaches across scopes."""

    @pytest.mark.parametrize("text", HOSTILE_TEXTS)
    def test_any_text_comes_back(self, store: Store, text: str) -> None:
        messages = [
            Message("user", text, "1", name=text or None, metadata=freeze({text: text, "nan": [text]})),
            Message("tool", (ToolResult("c", (Text(text),)),), "2"),
        ]
        store.log.append(ADA, messages)
        kept = [entry.message.replace(at=None, received=None) for entry in store.log.read(ADA)]
        assert kept == messages
        assert store.log.spoken(ADA) == list(map(spoken_of, store.log.scan(ADA)))
        store.log.tag(ADA, "1", {text + "tag": text})
        assert store.log.get(ADA, ["1"])[0].message.metadata[text + "tag"] == text
        assert store.log.verify(ADA) == []

    @pytest.mark.parametrize("id", HOSTILE_IDS)
    def test_any_id_names_just_one_thing(self, store: Store, id: str) -> None:
        scope = Scope(id, id, id)
        say(store, ADA, "bystander")
        store.log.append(scope, [said("apple", id)], jobs=[Job(id, key=id)])
        store.records.put(scope, [fact(id, 1, id=id, origin=id, trust=id, sources=(id,))])
        store.index.put(scope, [Item(id, id, "apple", sources=(id,))])
        store.index.embed(scope, id, id, {id: v(1, 0)})
        assert [entry.message.id for entry in store.log.get(scope, [id])] == [id]
        assert [(spoken.session, spoken.id) for spoken in store.log.spoken(Scope(id))] == [(id, id)]
        assert [record.id for record in store.records.find(Scope(id), kind="fact", key=id)] == [id]
        assert found(store, Scope(id), "apple") == [id, id]
        assert found(store, scope, "apple", where=Filter(kinds=(id,))) == [id]
        assert [match.id for match in store.index.nearest(scope, v(1, 0), id)] == [id]
        assert [job.scope for job in store.jobs.claim([id], worker=id)] == [scope]
        assert store.log.erase(Scope(id, id)) == Erased(1, 1, 1, 1)
        assert texts(store.log.scan(ACME)) == ["bystander"]
        assert store.check() == []

    def test_mending_a_sound_store_changes_nothing(self, store: Store) -> None:
        fill(store, ADA)
        before = [
            store.log.scan(ADA),
            store.records.find(ADA),
            store.jobs.find(ADA),
            store.index.search(ADA, "zebra", 9),
        ]
        told = list[tuple[int, int]]()
        assert store.mend(lambda done, total: told.append((done, total))) == 0
        assert told[-1:] == [(store.reindex(),) * 2]
        after = [
            store.log.scan(ADA),
            store.records.find(ADA),
            store.jobs.find(ADA),
            store.index.search(ADA, "zebra", 9),
        ]
        assert before == after and before[0]
        assert store.check() == []

    @pytest.mark.parametrize("id", ["", "x" * 1_001, "nul\x00", "half\ud83d", None, 7, b"bytes"])
    def test_what_can_not_be_an_id_is_refused(self, store: Store, id: Any) -> None:
        for make in (lambda: Scope(id), lambda: Scope("t", "u", id or ""), lambda: fact(id, 1), lambda: Item("k", id)):
            with pytest.raises(ConfigError):
                make()
        if id:
            with pytest.raises(ConfigError):
                store.log.append(ADA, [said("text", id)])
        assert store.log.read(ADA) == []

    @pytest.mark.parametrize("id", ["x" * 1_001, "nul\x00", "half\ud83d"])
    def test_asking_for_what_can_not_be_finds_nothing(self, store: Store, id: str) -> None:
        say(store, ADA, "a")
        nothing(store.log.get(ADA, [id]), store.records.get(ADA, [id]), store.index.get(ADA, "message", [id]))
        assert store.log.erase(ADA, [id]) == Erased()
        assert store.index.embed(ADA, "message", "m", {id: v(1, 0)}) == store.records.delete(ADA, [id]) == 0
        records, index, here = store.records, store.index, v(1, 0)
        nothing(records.find(ADA, kind=id), records.find(ADA, key=id), records.history(ADA, id, id))
        nothing(index.get(ADA, id, ["0"]), index.vectors(ADA, id, "m", ["0"]), index.vectors(ADA, "message", id, ["0"]))
        nothing(index.nearest(ADA, here, id), list(index.nearest_positions(ADA, here, id)[0]), index.embedded(ADA, id))
        assert index.embed(ADA, id, "m", {"0": here}) == index.delete(ADA, id, ["0"]) == index.drop(ADA, id) == 0
        assert [item.text for item in index.missing(ADA, id)] == ["a"]
        with pytest.raises(RecollectError):
            store.log.tag(ADA, id, {"x": 1})

    def test_ids_that_look_alike_differ(self, store: Store) -> None:
        alike = ["e\u0301", "\u00e9", "E\u0301", "a", "A", "a ", " a", "\uff41", "1", "01", "1.0"]
        say(store, ADA, *alike)
        for id in alike:
            scope = Scope("acme", id, id)
            store.log.append(scope, [said(id)])
            assert texts(store.log.read(scope)) == [id]
        assert texts(store.log.read(ADA)) == alike

    def test_what_is_kept_can_be_read_however_deep_the_program_is_in_its_calls(self, store: Store) -> None:
        def nested(levels: int) -> dict[str, Any]:
            value: Any = "core"
            for _ in range(levels - 1):
                value = [value]
            return {"m": value}

        def further(calls: int) -> list[Any]:
            if calls:
                return further(calls - 1)
            return [store.log.read(ADA)[0].message.metadata, store.records.find(ADA)[0].value]

        store.log.append(ADA, [said("a", metadata=nested(MOST_NESTED))])
        store.records.put(ADA, [fact("a", nested(MOST_NESTED))])
        assert further(300) == [nested(MOST_NESTED)] * 2
        with pytest.raises(RecollectError, match="nested too deeply"):
            store.log.append(ADA, [said("b", metadata=nested(MOST_NESTED + 1))])
        with pytest.raises(RecollectError, match="nested too deeply"):
            store.records.put(ADA, [fact("b", {"again": freeze(nested(MOST_NESTED))})])

    def test_ten_megabytes(self, store: Store) -> None:
        text = "line of text\n" * 800_000 + "needle"
        (entry,) = store.log.append(ADA, [said(text, "big")])
        assert store.log.read(ADA) == [entry]
        assert entry.message.text == text
        assert found(store, ADA, "needle") == ["big"]
        store.log.erase(ADA, ["big"])
        assert found(store, ADA, "needle") == []

    def test_a_batch_of_five_thousand(self, store: Store) -> None:
        names = [f"message {number}" for number in range(5_000)]
        with store.transaction():
            for start in range(0, 5_000, 1_000):
                say(store, ADA, *names[start : start + 1_000])
        assert texts(store.log.read(ADA)) == names
        assert store.log.sessions(ADA)[0].messages == 5_000

    def test_the_largest_number_is_a_bound_like_any_other(self, store: Store) -> None:
        fill(store, ADA)
        log, records, index, most = store.log, store.records, store.index, MAX_WHOLE
        assert (
            texts(log.read(ADA, until=most, limit=most))
            == texts(log.scan(ADA, limit=most))
            == ["zebra one", "zebra two"]
        )
        assert len(log.sessions(ADA, before=most, limit=most)) == len(store.jobs.find(ADA, limit=most)) == 1
        assert len(records.find(ADA, as_of=most, limit=most)) == 2
        assert len(index.search(ADA, "zebra", most)) == len(index.nearest(ADA, v(1, 0), "m", most)) == 4
        assert len(index.missing(ADA, "other", limit=most)) == len(index.embedded(ADA, "m", limit=most)) == 4
        nothing(log.read(ADA, after=most), log.scan(ADA, after=most), records.find(ADA, after=most))
        nothing(index.embedded(ADA, "m", after=most))

    def test_numbers_survive(self, store: Store) -> None:
        numbers = [0, -1, 2**53 + 1, 10**30, 0.1, 1e300, -0.0, True, None]
        store.log.append(ADA, [said("a", "a", metadata=freeze({"numbers": numbers}))])
        kept = store.log.read(ADA)[0].message.metadata["numbers"]
        assert [repr(number) for number in kept] == [repr(number) for number in numbers]

    def test_times_survive(self, store: Store) -> None:
        for number, year in enumerate((1, 1969, 1970, 2026, 9999)):
            when = NOON.replace(year=year, microsecond=number)
            store.log.append(ADA, [said("x", str(year), at=when)])
            assert store.log.get(ADA, [str(year)])[0].message.at == when
        assert [session.first for session in store.log.sessions(ADA)] == [NOON.replace(year=1, microsecond=0)]

    @pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
    def test_a_time_that_utc_has_no_year_for_is_one_all_the_same(self, store: Store, at: str) -> None:
        store.log.append(ADA, [said("zebra", "m", at=datetime.fromisoformat(at))])
        store.index.put(ADA, [Item("chunk", "c", "zebra", at=datetime.fromisoformat(at))])
        assert store.log.read(ADA)[0].message.at == datetime.fromisoformat(at)
        assert store.log.sessions(ADA)[0].messages == 1
        assert set(found(store, ADA, "zebra", where=Filter(roles=("user",)))) == {"m"}
        assert set(found(store, ADA, "zebra", where=Filter(before=NOON))) == ({"m", "c"} if at < "2" else set())
        assert store.log.verify(ADA) == store.check() == []

    def test_after_closing_nothing_works_and_closing_again_does(self, store: Store) -> None:
        store.check_writable()
        store.close()
        store.close()
        calls = (lambda: store.log.read(ADA), lambda: say(store, ADA, "a"), lambda: store.jobs.claim(worker="w"))
        for call in (*calls, store.check_writable):
            with pytest.raises(StoreUnavailable, match="closed"):
                call()
