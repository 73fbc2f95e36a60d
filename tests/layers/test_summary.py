"""The rolling summary: folded in the background once, shown up to the window, gone with what it cites."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import Conflict
from recollect.flow.summarise import Sentence, fold
from recollect.layers.marks import drop
from recollect.layers.summary import JOB, KIND, Summary
from recollect.store import Filter, Job, Record, Store
from recollect.store import open as open_store
from recollect.tokens import estimate
from recollect.types import Message, Scope, Text, ToolResult

TRIP = Scope("acme", "ada", "trip")
START = datetime(2024, 3, 4, 19, tzinfo=UTC)
CITIES = ["Oslo", "Bergen", "Rome", "Lisbon", "Prague", "Vienna", "Porto", "Krakow", "Ghent", "Seville"]


def line(n: int) -> Message:
    text = f"Then we drove to {CITIES[n % 10]} and paid {n * 7} euros for stop {n}. It was great fun!"
    return Message("user" if n % 2 else "assistant", text, id=f"m{n}", at=START + timedelta(minutes=n))


def talk(store: Store, last: int, first: int = 1, scope: Scope = TRIP) -> None:
    store.log.append(scope, [line(n) for n in range(first, last + 1)], jobs=[JOB])


def claim(store: Store) -> Job:
    return store.jobs.claim((JOB.kind,), worker="w")[0]


def records(store: Store) -> list[Record]:
    return store.records.find(TRIP, kind=KIND)


def test_after_n_messages_a_summary_artifact_is_created(store: Store) -> None:
    layer = Summary(store, estimate, every=12)
    talk(store, 11)
    assert layer.learn(claim(store)) == 0
    assert records(store) == []
    talk(store, 30, 12)
    assert layer.learn(claim(store)) == 2
    assert [record.key.split()[0] for record in records(store)] == ["000000012", "000000024"]
    assert {record.origin for record in records(store)} == {"conversation"}
    assert store.jobs.claim((JOB.kind,), worker="w") == []


def test_a_block_is_folded_once_however_often_it_is_asked_for(store: Store) -> None:
    layer = Summary(store, estimate)
    talk(store, 40)
    assert layer.catch_up(TRIP) == 3
    kept = records(store)
    assert layer.catch_up(TRIP) == 0
    assert Summary(store, estimate).learn(claim(store)) == 0
    assert records(store) == kept


def test_a_worker_that_lost_its_lease_keeps_nothing(store: Store) -> None:
    layer = Summary(store, estimate)
    talk(store, 24)
    job = claim(store)
    store.jobs.finish(job)
    with pytest.raises(Conflict):
        layer.learn(job)
    assert records(store) == []
    assert store.index.search(TRIP, "Oslo", where=Filter(kinds=(KIND,))) == []


def test_a_long_history_is_folded_in_several_jobs(store: Store) -> None:
    layer = Summary(store, estimate, every=1, max_tokens=30)
    talk(store, 120)
    rounds = []
    while jobs := store.jobs.claim((JOB.kind,), worker="w"):
        rounds.append(layer.learn(jobs[0]))
    assert rounds == [50, 50, 20]


def test_the_summary_is_of_what_lies_before_the_window_and_nothing_else(store: Store) -> None:
    layer = Summary(store, estimate)
    talk(store, 40)
    (shown,) = layer.offer(TRIP, 20)
    assert shown.section == "summary"
    assert shown.origin == "summary of messages 1\u201319"
    assert estimate(shown.text) <= 400
    assert set(shown.sources) <= {f"m{n}" for n in range(1, 20)}
    assert set(shown.sessions) == {"trip"}
    assert "stop 19" in shown.text
    assert "stop 20" not in shown.text
    assert layer.offer(TRIP, 1) == layer.offer(TRIP, 0) == layer.offer(Scope("acme", "eve", "trip"), 20) == []


def test_it_says_the_same_whether_or_not_the_background_got_to_it_and_whatever_came_later(store: Store) -> None:
    talk(store, 30)
    before = {first: Summary(store, estimate).offer(TRIP, first) for first in (2, 13, 24, 25, 31)}
    layer = Summary(store, estimate)
    layer.catch_up(TRIP)
    talk(store, 60, 31)
    layer.catch_up(TRIP)
    assert {first: Summary(store, estimate).offer(TRIP, first) for first in before} == before
    assert {first: layer.offer(TRIP, first) for first in before} == before


def test_it_is_the_same_as_of_an_earlier_moment(store: Store) -> None:
    layer = Summary(store, estimate)
    talk(store, 26)
    position = store.log.read(TRIP)[-1].position
    shown = layer.offer(TRIP, 26)
    layer.catch_up(TRIP)
    assert Summary(store, estimate).offer(TRIP, 26, as_of=position) == shown


def test_what_was_folded_since_an_earlier_moment_is_not_folded_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = Summary(store, estimate)
    talk(store, 100)
    position = store.log.read(TRIP)[-1].position
    shown = layer.offer(TRIP, 100)
    layer.catch_up(TRIP)
    folded: list[object] = []

    def counted(*given: Any) -> list[Sentence]:
        folded.append(given)
        return fold(*given)

    monkeypatch.setattr("recollect.layers.summary.fold", counted)
    assert Summary(store, estimate).offer(TRIP, 100, as_of=position) == shown
    assert len(folded) == 1


def test_the_text_covers_everything_said_so_far(store: Store) -> None:
    layer = Summary(store, estimate)
    assert layer.text(TRIP) == ""
    talk(store, 15)
    assert "stop 15" in layer.text(TRIP)
    assert "stop 1." in layer.text(TRIP)


def test_what_is_erased_is_in_no_summary_and_the_rest_is_made_as_if_it_had_never_been(store: Store) -> None:
    layer = Summary(store, estimate)
    talk(store, 40)
    layer.catch_up(TRIP)
    assert "stop 5." in layer.offer(TRIP, 30)[0].text
    with store.transaction():
        assert drop(store, TRIP, layer.after(TRIP, 5)) == 3
        store.log.erase(TRIP, ["m5"])
    layer.forget()
    assert records(store) == []
    shown = layer.offer(TRIP, 30)
    assert "stop 5." not in shown[0].text
    assert layer.catch_up(TRIP) == 3
    assert layer.offer(TRIP, 30) == Summary(store, estimate).offer(TRIP, 30) == shown


def test_what_is_offered_again_is_made_anew_once_a_message_was_erased_elsewhere(store: Store) -> None:
    layer = Summary(store, estimate)
    talk(store, 30)
    offered = layer.offer(TRIP, 25, before=(24, 25))
    assert layer.offer(TRIP, 25, before=(24, 25)) == offered
    store.log.erase(TRIP, ["m20"])
    (less,) = layer.offer(TRIP, 25, before=(23, 25))
    assert "m20" not in less.sources
    assert "stop 20" not in less.text


def test_the_same_summary_is_made_once(store: Store) -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return estimate(text)

    layer = Summary(store, count)
    talk(store, 30)
    offered = layer.offer(TRIP, 25, before=(24, 25))
    counted.clear()
    assert layer.offer(TRIP, 25, before=(24, 25)) == offered
    assert counted == []


def test_erasing_alone_takes_along_what_cites_the_message(store: Store) -> None:
    layer = Summary(store, estimate)
    talk(store, 40)
    layer.catch_up(TRIP)
    assert "stop 15." in layer.text(TRIP)
    store.log.erase(TRIP, ["m15"])
    assert [record.key.split()[0] for record in records(store)] == ["000000012"]
    assert "stop 15." not in layer.text(TRIP)
    assert layer.catch_up(TRIP) == 2
    assert "stop 15." not in layer.text(TRIP)
    assert all("stop 15." not in str(record.value) for record in records(store))


def test_a_message_erased_while_it_is_folded_leaves_no_trace(store: Store) -> None:
    talk(store, 12)

    def erasing(text: str) -> int:
        if store.log.get(TRIP, ["m3"]):
            store.log.erase(TRIP, ["m3"])
        return estimate(text)

    assert Summary(store, erasing).catch_up(TRIP) == 1
    (record,) = records(store)
    assert "m3" not in record.sources
    assert "stop 3." not in str(record.value)


def test_a_block_that_someone_else_folded_anew_after_an_erasure_is_theirs(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search folds what is new, too: it must not fail because the background was faster."""
    layer, begin, others = Summary(store, estimate, every=6), store.transaction, list[list[Record]]()
    talk(store, 12)

    def elsewhere(*scope: Any) -> Any:
        monkeypatch.setattr(store, "transaction", begin)
        store.log.erase(TRIP, ["m5"])
        layer.catch_up(TRIP)
        others.append(records(store))
        return begin(*scope)

    monkeypatch.setattr(store, "transaction", elsewhere)
    assert layer.learn(claim(store)) == 0
    assert [records(store)] == others
    assert store.jobs.find(TRIP) == []


def test_summaries_are_found_by_their_words_in_their_session(store: Store) -> None:
    layer = Summary(store, estimate)
    talk(store, 24)
    talk(store, 24, scope=Scope("acme", "ada", "other"))
    layer.catch_up(TRIP)
    found = store.index.search(TRIP, "Lisbon", where=Filter(kinds=(KIND,)))
    assert {match.scope for match in found} == {TRIP}
    assert len(found) == 2


def test_summaries_are_found_however_many_messages_have_the_same_words(store: Store) -> None:
    layer = Summary(store, estimate)
    talk(store, 24)
    layer.catch_up(TRIP)
    store.log.append(TRIP, [Message("user", "Lisbon!") for _ in range(30)])
    assert len(layer.find(TRIP, "Lisbon", 2, Filter())) == 2


def test_other_numbers_make_other_summaries(store: Store) -> None:
    talk(store, 40)
    long, short = Summary(store, estimate), Summary(store, estimate, every=5, max_tokens=60)
    long.catch_up(TRIP)
    assert short.catch_up(TRIP) == 8
    assert estimate(short.offer(TRIP, 30)[0].text) <= 60 < estimate(long.offer(TRIP, 30)[0].text)
    half = Summary(store, lambda text: 2 * estimate(text))
    assert 2 * estimate(half.offer(TRIP, 25)[0].text) <= 400


def test_a_models_text_stands_for_its_block_and_what_follows_is_added(store: Store) -> None:
    layer = Summary(store, estimate)
    talk(store, 20)
    layer.catch_up(TRIP)
    (record,) = records(store)
    told = "Ada drove through Europe for 84 euros."
    better = Record(KIND, record.key, {**record.value, "text": told}, sources=record.sources)
    store.records.supersede(TRIP, record.id, better)
    (shown,) = layer.offer(TRIP, 16)
    assert shown.text.startswith(f"{told}\n- ")
    assert "stop 15" in shown.text
    assert "stop 12" not in shown.text
    assert set(record.sources) < set(shown.sources)
    assert estimate(shown.text) <= 400


def test_a_models_text_stands_from_when_it_was_made_until_it_is_erased(store: Store) -> None:
    layer = Summary(store, estimate)
    talk(store, 20)
    layer.catch_up(TRIP)
    (record,), own = records(store), layer.offer(TRIP, 16)
    better = Record(KIND, record.key, {**record.value, "text": "Ada drove on."}, sources=record.sources)
    made = store.records.supersede(TRIP, record.id, better)
    assert made is not None
    assert layer.offer(TRIP, 16, as_of=made.position - 1) == own
    assert layer.offer(TRIP, 16, as_of=made.position) == layer.offer(TRIP, 16) != own
    store.records.delete(TRIP, [made.id])
    assert layer.catch_up(TRIP) == 1
    assert layer.catch_up(TRIP) == 0
    assert layer.offer(TRIP, 16) == own


def test_system_prompts_are_not_summarised_and_peers_count_alike(store: Store) -> None:
    store.log.append(
        TRIP,
        [
            Message("system", "You are the assistant of Acme, founded in 1987."),
            Message("assistant", "I moved to Oslo in 2021.", name="Melanie"),
            Message("tool", (ToolResult("c1", (Text("Rain in Bergen, 6 degrees."),)),)),
        ],
    )
    shown = Summary(store, estimate).text(TRIP)
    assert "Acme" not in shown
    assert "- Melanie: I moved to Oslo in 2021." in shown
    assert "- tool: Rain in Bergen, 6 degrees." in shown


def test_no_tokens_give_no_summary(store: Store) -> None:
    talk(store, 30)
    layer = Summary(store, estimate, max_tokens=0)
    assert layer.catch_up(TRIP) == 2
    assert layer.offer(TRIP, 20) == []


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["add", "learn", "erase", "forget"]), max_size=25), st.integers())
def test_whatever_happens_in_whatever_order_the_summary_is_that_of_the_log(steps: list[str], seed: int) -> None:
    dice = random.Random(seed)
    with open_store(":memory:") as store:
        layer, last, every = Summary(store, estimate, every=4, max_tokens=120), 0, 4
        for step in steps:
            if step == "add":
                more = dice.randint(1, 9)
                talk(store, last + more, last + 1)
                last += more
            elif step == "learn":
                layer.catch_up(TRIP)
            elif last:
                with store.transaction():
                    gone = dice.randint(1, last)
                    drop(store, TRIP, layer.after(TRIP, gone))
                    store.log.erase(TRIP, [f"m{gone}"])
                layer.forget()
        first = dice.randint(1, last + 1)
        left = {entry.message.id for entry in store.log.read(TRIP, until=first - 1)} if first > 1 else set()
        with open_store(":memory:") as fresh:
            fresh_layer = Summary(fresh, estimate, every=every, max_tokens=120)
            fresh.log.append(TRIP, [line(n) for n in range(1, last + 1)])
            fresh.log.erase(TRIP, [f"m{n}" for n in range(1, last + 1) if not store.log.get(TRIP, [f"m{n}"])])
            assert layer.offer(TRIP, first) == fresh_layer.offer(TRIP, first)
        for candidate in layer.offer(TRIP, first):
            assert set(candidate.sources) <= left
            assert estimate(candidate.text) <= 120
