"""The pure rules that every backend follows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ConfigError, Conflict, InvalidTranscript
from recollect.frozen import freeze
from recollect.store import Filter, Item, Record, codec, queue, rules
from recollect.store.values import same, tagged
from recollect.types import Message, Scope, Text

times = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
messages = st.builds(
    Message,
    st.sampled_from(["user", "assistant"]),
    st.text() | st.lists(st.builds(Text, st.text()), max_size=3).map(tuple),
    st.sampled_from(["", "m"]),
    at=st.none() | times,
    received=st.none() | times,
    name=st.none() | st.text(),
    metadata=st.dictionaries(st.text(), json_values, max_size=3).map(freeze),
    shape=st.sampled_from([None, "", "openai"]),
    extra=st.dictionaries(st.text(), json_values, max_size=2).map(freeze),
)
names = st.sampled_from(["a", "b"])
scopes = st.builds(Scope, names) | st.builds(Scope, names, names) | st.builds(Scope, names, names, names)


@given(messages, times)
def test_a_message_survives_as_bytes(message: Message, now: datetime) -> None:
    (arrived,) = rules.arrived([message], now)
    again = codec.decode(arrived.id, codec.encode(arrived))
    assert again == arrived
    assert (again.at, again.received) == (message.at or message.received or now, message.received or now)
    rules.check_same_message(message.replace(id=again.id), again)


@given(messages, messages, times)
def test_other_content_is_told_apart(one: Message, other: Message, now: datetime) -> None:
    kept, changed = rules.arrived([one.replace(id="m"), other.replace(id="m")], now)
    if kept == changed:
        rules.check_same_message(changed, kept)
    else:
        with pytest.raises(Conflict):
            rules.check_same_message(changed, kept)


@given(st.binary(max_size=8), st.text(max_size=4), st.binary(max_size=8), st.integers(0, 200))
def test_a_flipped_bit_changes_the_hash(salt: bytes, id: str, body: bytes, bit: int) -> None:
    id = id.encode("utf-8", "ignore").decode()
    before = codec.chained(codec.START, salt, id, body)
    flipped = bytearray(body or b"x")
    flipped[bit // 8 % len(flipped)] ^= 1 << bit % 8
    assert codec.chained(codec.START, salt, id, bytes(flipped)) != before
    assert codec.chained(before, salt, id, body) != before


@given(st.builds(Record, st.just("fact"), st.just("k"), json_values, valid_from=st.none() | times))
def test_a_record_survives_as_bytes(record: Record) -> None:
    assert codec.decode_record(codec.encode_record(record), None, kind="fact", key="k") == record


@given(times)
def test_microseconds_are_exact(when: datetime) -> None:
    assert codec.from_micros(codec.micros(when)) == when


@given(scopes, scopes, scopes)
def test_covering_is_an_order(a: Scope, b: Scope, c: Scope) -> None:
    assert a.covers(a)
    assert not (a.covers(b) and b.covers(c)) or a.covers(c)
    assert not (a.covers(b) and b.covers(a)) or a == b
    assert a.owner.covers(a)


@given(st.integers(1, 10_000))
def test_backoff_grows_to_an_hour(attempts: int) -> None:
    assert 1 <= queue.backoff(attempts) <= queue.backoff(attempts + 1) <= 3600


@given(st.floats(0, 1e9), st.floats(0, 1e6), st.floats(-1e9, 1e9))
def test_no_jump_of_the_clock_holds_a_job_for_ever(since: float, wait: float, jump: float) -> None:
    assert queue.is_due(since + wait, since, since + wait)
    assert queue.is_due(since + wait, since, since + jump) == (jump >= wait or jump < -queue.CLOCK_SLACK) or abs(
        jump - wait
    ) < 1e-3 or abs(jump + queue.CLOCK_SLACK) < 1e-3  # fmt: skip


@given(st.dictionaries(st.text(), json_values), st.dictionaries(st.text(), json_values))
def test_tags_lie_over_metadata(metadata: dict[str, Any], tags: dict[str, Any]) -> None:
    merged = tagged(Message("user", metadata=freeze(metadata)), tags).metadata
    for key in metadata.keys() | tags.keys():
        if key in tags and tags[key] is None:
            assert key not in merged
        else:
            assert merged[key] == tags.get(key, metadata.get(key))


def test_true_is_not_one() -> None:
    assert not same(True, 1)
    assert same(1, 1.0)


@given(times, times)
def test_a_time_filter_is_half_open(at: datetime, bound: datetime) -> None:
    item = Item("k", "i", at=at)
    assert Filter(since=bound).passes(item) == (at >= bound)
    assert Filter(before=bound).passes(item) == (at < bound)
    assert not Filter(since=bound).passes(Item("k", "i"))


@pytest.mark.parametrize("make", [lambda: Scope("t", None, "s"), lambda: Scope(""), lambda: Scope("t", "")])
def test_half_a_scope_is_refused(make: Any) -> None:
    with pytest.raises(ConfigError):
        make()


def test_what_json_can_not_hold_is_refused() -> None:
    with pytest.raises(InvalidTranscript):
        codec.to_bytes(10**5_000)
