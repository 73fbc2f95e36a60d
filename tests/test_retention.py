"""Retention previews what policies let go, erases exactly that, and spares all else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import Conflict
from recollect.retention import KINDS, Policy, apply, preview
from recollect.store import Item, Record, Records, Store
from recollect.store import open as open_store
from recollect.types import Message, Scope, ToolCall, ToolResult

NOW = datetime(2025, 6, 1, tzinfo=UTC)
ADA = Scope("acme", "ada")
TRIP = Scope("acme", "ada", "trip")
WORK = Scope("acme", "ada", "work")
EVE = Scope("acme", "eve", "trip")


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with open_store(store_url, durability="normal", clock=lambda: NOW) as store:
        yield store


def turn(store: Store, scope: Scope, n: int, days: float) -> None:
    store.log.append(
        scope,
        [
            Message("user", f"question {n}", id=f"q{n}", at=ago(days)),
            Message("assistant", "yes", id=f"a{n}", at=ago(days)),
        ],
    )


def fact(value: str, *sources: str, days: float = 0) -> Record:
    body = {"type": "interest", "value": value, "at": ago(days).isoformat(), "ended": False}
    return Record("fact", f"likes:{value}", body, 0.9, "rules", "user", sources, id=f"fact {value}")


def ids(store: Store, scope: Scope = ADA) -> list[str]:
    return [entry.message.id for entry in store.log.scan(scope)]


def test_old_turns_go_and_new_ones_stay(store: Store) -> None:
    turn(store, TRIP, 1, days=100)
    turn(store, TRIP, 2, days=10)
    turn(store, EVE, 3, days=100)
    plan = preview(store, ADA, [Policy("messages", days=30)], NOW)
    (going,) = plan.going
    assert (going.layer, going.count, going.oldest, going.sample) == ("messages", 2, ago(100), ("a1", "q1"))
    assert ids(store) == ["q1", "a1", "q2", "a2"]
    assert apply(store, plan).messages == 2
    assert ids(store) == ["q2", "a2"]
    assert ids(store, EVE) == ["q3", "a3"]
    assert store.check() == []


def test_a_turn_goes_whole_or_not_at_all(store: Store) -> None:
    messages = [
        Message("system", "be brief", id="s", at=ago(99)),
        Message("user", "look", id="q", at=ago(99)),
        Message("assistant", (ToolCall("c", "f"),), id="c", at=ago(99)),
        Message("tool", (ToolResult("c", "r"),), id="r", at=ago(1)),
    ]
    store.log.append(TRIP, messages)
    assert preview(store, ADA, [Policy("messages", days=30)], NOW).going == ()
    assert preview(store, ADA, [Policy("messages", count=1)], NOW).going == ()
    assert preview(store, ADA, [Policy("messages", days=0.5)], NOW).count("messages") == 4


def test_the_system_message_stays_as_long_as_a_turn_does(store: Store) -> None:
    store.log.append(TRIP, [Message("system", "be brief", id="s", at=ago(99))])
    turn(store, TRIP, 1, days=50)
    turn(store, TRIP, 2, days=5)
    apply(store, preview(store, ADA, [Policy("messages", days=30)], NOW))
    assert ids(store) == ["s", "q2", "a2"]
    apply(store, preview(store, ADA, [Policy("messages", days=1)], NOW))
    assert ids(store) == []


def test_all_but_a_users_newest_messages_go_over_all_sessions(store: Store) -> None:
    for n in range(6):
        turn(store, TRIP if n % 2 else WORK, n, days=n)
    turn(store, EVE, 9, days=0)
    apply(store, preview(store, Scope("acme"), [Policy("messages", count=4)], NOW))
    assert ids(store) == ["q0", "a0", "q1", "a1"]  # the newest by when they were said: old ones may be imported last
    assert ids(store, EVE) == ["q9", "a9"]


def test_an_idle_session_goes_with_all_it_has(store: Store) -> None:
    turn(store, TRIP, 1, days=100)
    turn(store, WORK, 2, days=100)
    turn(store, WORK, 3, days=1)
    store.records.put(TRIP, [Record("summary", "1", "a trip", sources=("q1",)), Record("mark", "facts", 2)])
    plan = preview(store, ADA, [Policy("messages", idle=30)], NOW)
    assert (plan.count("messages"), plan.count("summaries")) == (2, 1)
    apply(store, plan)
    assert [session.scope for session in store.log.sessions(ADA)] == [WORK]
    assert store.records.find(TRIP) == []
    assert len(ids(store)) == 4


def test_facts_outlive_their_messages_and_what_was_made_of_them_does_not(store: Store) -> None:
    turn(store, TRIP, 1, days=100)
    turn(store, TRIP, 2, days=1)
    store.records.put(
        ADA, [fact("tea", "q1", "q2"), fact("milk", "q2"), Record("pattern", "part", "x", sources=("q1",))]
    )
    store.records.put(
        TRIP, [Record("summary", "1", "old", sources=("q1",)), Record("summary", "2", "new", sources=("q2",))]
    )
    plan = preview(store, ADA, [Policy("messages", days=30)], NOW)
    assert {going.layer: going.count for going in plan.going} == {"messages": 2, "summaries": 1, "patterns": 1}
    erased = apply(store, plan)
    assert (erased.messages, erased.records) == (2, 2)
    assert {r.key: r.sources for r in store.records.find(ADA, kind="fact")} == {
        "likes:tea": ("q2",),
        "likes:milk": ("q2",),
    }
    assert [r.value for r in store.records.find(ADA, kind="summary")] == ["new"]


def test_facts_stay_also_when_only_one_session_is_looked_at(store: Store) -> None:
    turn(store, TRIP, 1, days=100)
    store.records.put(ADA, [fact("tea", "q1")])
    apply(store, preview(store, TRIP, [Policy("messages", idle=30), Policy("facts", days=0)], NOW))
    assert [r.sources for r in store.records.find(ADA, kind="fact")] == [()]
    assert ids(store) == []


def test_facts_go_by_their_own_policy_by_the_time_they_were_said(store: Store) -> None:
    store.records.put(ADA, [fact("tea", days=100), fact("milk", days=5), fact("cake", days=1)])
    apply(store, preview(store, ADA, [Policy("facts", days=30)], NOW))
    assert [r.key for r in store.records.find(ADA)] == ["likes:milk", "likes:cake"]
    apply(store, preview(store, ADA, [Policy("facts", count=1)], NOW))
    assert [r.key for r in store.records.find(ADA)] == ["likes:cake"]


def test_documents_and_excerpts_go_with_what_they_are_found_by(store: Store) -> None:
    store.records.put(ADA, [Record("document", "guide.md", {"chunks": ["c1", "c2"], "at": ago(90).isoformat()})])
    store.records.put(TRIP, [Record("artifact", "x", {"text": "rain", "at": ago(90).isoformat()}, id="x")])
    store.index.put(ADA, [Item("chunk", id, "guide to fjords") for id in ("c1", "c2", "c3")])
    store.index.put(TRIP, [Item("artifact", "x", "rain in Oslo")])
    plan = preview(store, ADA, [Policy("documents", days=30), Policy("tools", days=30)], NOW)
    assert {going.layer: going.count for going in plan.going} == {"documents": 1, "tools": 1}
    assert apply(store, plan).records == 2
    assert [match.id for match in store.index.search(ADA, "fjords rain")] == ["c3"]


def test_earlier_versions_go_with_the_last(store: Store) -> None:
    (old,) = store.records.put(ADA, [Record("pattern", "patterns", {"at": ago(90).isoformat()})])
    store.records.supersede(ADA, old.id, Record("pattern", "patterns", {"at": ago(60).isoformat()}))
    assert apply(store, preview(store, ADA, [Policy("patterns", days=30)], NOW)).records == 2
    assert store.records.history(ADA, "pattern", "patterns") == []


def test_a_plan_that_no_longer_holds_is_refused_and_nothing_is_gone(store: Store) -> None:
    turn(store, TRIP, 1, days=100)
    plan = preview(store, ADA, [Policy("messages", idle=30)], NOW)
    turn(store, TRIP, 2, days=0)
    with pytest.raises(Conflict, match=r"messages 2 then, 0 now.*new preview"):
        apply(store, plan)
    assert len(ids(store)) == 4
    assert apply(store, preview(store, ADA, plan.policies, NOW)).messages == 0


def test_a_plan_can_be_applied_once(store: Store) -> None:
    turn(store, TRIP, 1, days=100)
    plan = preview(store, ADA, [Policy("messages", days=30)], NOW)
    apply(store, plan)
    with pytest.raises(Conflict):
        apply(store, plan)


def test_what_has_no_policy_stays_and_an_empty_store_is_fine(store: Store) -> None:
    assert preview(store, Scope("nobody"), [Policy("messages", days=0)], NOW).going == ()
    turn(store, TRIP, 1, days=100)
    plan = preview(store, ADA, [], NOW)
    assert plan.going == ()
    assert apply(store, plan) == apply(store, preview(store, Scope("nobody"), [], NOW))
    assert len(ids(store)) == 2


def test_the_same_id_in_another_session_is_spared(store: Store) -> None:
    turn(store, TRIP, 1, days=100)
    turn(store, WORK, 1, days=1)
    apply(store, preview(store, ADA, [Policy("messages", days=30)], NOW))
    assert [(entry.scope, entry.message.id) for entry in store.log.scan(ADA)] == [(WORK, "q1"), (WORK, "a1")]


logs = st.lists(st.tuples(st.sampled_from([TRIP, WORK, EVE]), st.integers(0, 60), st.booleans()), max_size=10)
records = st.lists(
    st.tuples(
        st.sampled_from(sorted(KINDS.values())),
        st.sampled_from([ADA, TRIP, WORK]),
        st.integers(0, 60),
        st.integers(0, 12),
    ),
    max_size=8,
)
policies = st.lists(
    st.builds(
        Policy, st.sampled_from(["messages", *KINDS]), days=st.integers(0, 60), count=st.none() | st.integers(0, 6)
    ),
    max_size=3,
)
everyone = Scope("acme")


def everything(store: Store) -> dict[str, set[Any]]:
    return {
        "messages": {(entry.scope, entry.message.id) for entry in store.log.scan(everyone)},
        **{
            layer: {(record.scope, record.id) for record in store.records.find(everyone, kind=kind)}
            for layer, kind in KINDS.items()
        },
    }


def filled(store: Store, log: list[tuple[Scope, int, bool]], learned: list[tuple[str, Scope, int, int]]) -> None:
    for n, (scope, days, answered) in enumerate(log):
        store.log.append(scope, [Message("user", f"{n}", id=f"q{n}", at=ago(days))])
        if answered:
            store.log.append(scope, [Message("assistant", "yes", id=f"a{n}", at=ago(days / 2))])
    for n, (kind, scope, days, source) in enumerate(learned):
        known = [entry.message.id for entry in store.log.get(scope, [f"q{source}"])]
        value = {"at": ago(days).isoformat(), "n": n}
        store.records.put(scope, [Record(kind, f"k{n}", value, sources=tuple(known), id=f"r{n}")])


@settings(max_examples=100)
@given(logs, records, policies, st.sampled_from([everyone, ADA, TRIP]))
def test_what_was_previewed_goes_and_all_else_stays(
    log: list[tuple[Scope, int, bool]],
    learned: list[tuple[str, Scope, int, int]],
    policies: list[Policy],
    scope: Scope,
) -> None:
    with open_store(":memory:", clock=lambda: NOW) as store:
        filled(store, log, learned)
        before, plan = everything(store), preview(store, scope, policies, NOW)
        assert everything(store) == before
        erased = apply(store, plan)
        after = everything(store)
        assert {layer: len(before[layer] - after[layer]) for layer in before} == {
            layer: plan.count(layer) for layer in before
        }
        assert erased.messages == plan.count("messages")
        assert erased.records == sum(plan.count(layer) for layer in KINDS)
        assert all(after[layer] <= before[layer] for layer in before)
        assert all(scope.covers(place) for place, _ in before["messages"] - after["messages"])
        assert preview(store, scope, policies, NOW).count("messages") == 0
        assert store.check() == []


@settings(max_examples=50)
@given(logs, records, st.integers(0, 60))
def test_a_message_that_a_policy_spares_is_never_removed(
    log: list[tuple[Scope, int, bool]], learned: list[tuple[str, Scope, int, int]], days: int
) -> None:
    with open_store(":memory:", clock=lambda: NOW) as store:
        filled(store, log, learned)
        spared = {
            (e.scope, e.message.id) for e in store.log.scan(everyone) if e.message.at and e.message.at >= ago(days)
        }
        facts = everything(store)["facts"]
        apply(store, preview(store, everyone, [Policy("messages", days=days)], NOW))
        after = everything(store)
        assert spared <= after["messages"]
        assert facts == after["facts"]


def test_facts_under_one_key_go_without_a_look_at_all_of_them_for_each(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [replace(fact(f"town {n}", days=100), key="place") for n in range(20)]
    store.records.put(ADA, places)
    looked, history = list[str](), type(store.records).history

    def counted(records: Records, scope: Scope, kind: str, key: str) -> list[Record]:
        looked.append(key)
        return history(records, scope, kind, key)

    monkeypatch.setattr(type(store.records), "history", counted)
    plan = preview(store, ADA, [Policy("facts", days=30)], NOW)
    assert apply(store, plan).records == len(places)
    assert store.records.find(ADA) == []
    assert looked == ["place"]
