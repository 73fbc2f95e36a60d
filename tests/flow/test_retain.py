"""Which things policies let go: the old and those beyond a number, and nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ConfigError
from recollect.flow.retain import LAYERS, Aged, Policy, cutoff, expired, idle_sessions

NOW = datetime(2025, 6, 1, tzinfo=UTC)


def thing(n: int, days: float, owner: str = "ada", session: str = "s", size: int = 1) -> Aged[int]:
    return Aged(n, owner, session, NOW - timedelta(days=days), (n,), size)


def keys(things: list[Aged[int]]) -> list[int]:
    return [thing.key for thing in things]


def test_what_is_older_goes_and_what_is_just_as_old_stays() -> None:
    things = [thing(0, 31), thing(1, 30.0001), thing(2, 30), thing(3, 0), thing(4, -5)]
    assert keys(expired(things, [Policy("facts", days=30)], NOW)) == [0, 1]


def test_all_but_the_newest_of_each_owner_go() -> None:
    things = [thing(0, 0), thing(1, 0, "eve"), thing(2, 0), thing(3, 0)]
    assert keys(expired(things, [Policy("facts", count=2)], NOW)) == [0]
    assert keys(expired(things, [Policy("facts", count=0)], NOW)) == [0, 1, 2, 3]


def test_a_turn_that_reaches_into_the_newest_stays_whole() -> None:
    things = [thing(0, 0, size=4), thing(1, 0, size=4), thing(2, 0, size=4)]
    assert keys(expired(things, [Policy("messages", count=5)], NOW)) == [0]
    assert keys(expired(things, [Policy("messages", count=4)], NOW)) == [0, 1]


def test_limits_add_up() -> None:
    things = [thing(0, 1), thing(1, 40), thing(2, 1)]
    assert keys(expired(things, [Policy("facts", days=30, count=2)], NOW)) == [0, 1]
    assert keys(expired(things, [Policy("facts", days=30), Policy("facts", count=2)], NOW)) == [0, 1]


def test_a_session_is_idle_since_its_last_word() -> None:
    things = [thing(0, 50, session="a"), thing(1, 1, session="a"), thing(2, 50, session="b")]
    assert idle_sessions(things, [Policy("messages", idle=30)], NOW) == {"b"}
    assert idle_sessions(things, [Policy("messages", days=30)], NOW) == set()


def test_longer_than_time_itself_lets_nothing_go() -> None:
    for days in (10**9, 10**400):
        assert cutoff(NOW, days) < NOW
        assert expired([thing(0, 700_000)], [Policy("facts", days=days)], NOW) == []


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"layer": "dreams", "days": 1}, "not one of messages, facts"),
        ({"layer": "facts"}, "no limit"),
        ({"layer": "facts", "days": -1}, "days=-1"),
        ({"layer": "facts", "days": float("nan")}, "days=nan"),
        ({"layer": "facts", "days": "7"}, "days='7'"),
        ({"layer": "facts", "count": 1.5}, "count=1.5"),
        ({"layer": "facts", "count": True}, "count=True"),
        ({"layer": "facts", "idle": 3}, "only sessions"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        Policy(**fields)


things = st.lists(
    st.tuples(st.integers(-3, 60), st.sampled_from(["ada", "eve"]), st.sampled_from("abc"), st.integers(1, 3)),
    max_size=12,
).map(lambda drawn: [thing(n, *fields) for n, fields in enumerate(drawn)])
policies = st.lists(
    st.builds(
        Policy,
        st.just(LAYERS[0]),
        days=st.integers(0, 60) | st.none(),
        count=st.integers(0, 9),
        idle=st.integers(0, 60) | st.none(),
    ),
    min_size=1,
    max_size=3,
)


@given(things, policies)
def test_only_what_a_limit_names_goes_and_all_of_it(things: list[Aged[int]], policies: list[Policy]) -> None:
    gone = set(keys(expired(things, policies, NOW)))
    for one in things:
        newer = sum(other.size for other in things if other.owner == one.owner and other.order > one.order)
        age = (NOW - one.at) / timedelta(days=1)
        named = any(
            (p.days is not None and age > p.days) or (p.count is not None and newer >= p.count) for p in policies
        )
        assert (one.key in gone) == named


@given(things, policies, st.integers(0, 30))
def test_what_has_gone_stays_gone_as_time_passes(things: list[Aged[int]], policies: list[Policy], days: int) -> None:
    later = NOW + timedelta(days=days)
    assert set(keys(expired(things, policies, NOW))) <= set(keys(expired(things, policies, later)))
    assert idle_sessions(things, policies, NOW) <= idle_sessions(things, policies, later)
