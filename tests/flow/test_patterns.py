"""What the counts bear out: claims with evidence, none without, and the same however the log is cut."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from recollect.flow.patterns import (
    ACTIVE_HOURS,
    CONVERSATIONS,
    FEWEST,
    REACTIONS,
    SCORED,
    clustered,
    derive,
    hints,
    surely_over_half,
)
from recollect.flow.tally import Recurring, Tally
from recollect.patterns import Patterns
from recollect.types import Message

START = datetime(2024, 3, 4, 9, tzinfo=UTC)


def telling(text: str) -> list[tuple[str, str]]:
    return [(word.lower(), word) for word in text.rstrip("?.!").split() if len(word) > 3]


def said(tally: Tally, session: str, text: str, before: str = "", at: datetime = START, id: str = "m") -> None:
    answer = Message("assistant", before) if before else None
    tally.said(session, Message("user", text, id=id, at=at), answer, telling)


@pytest.mark.parametrize(
    "junk", ["-" * 200_000, "\n" * 200_000, "| " * 100_000, "? " * 100_000, "`" * 100_000, "ok " * 90_000]
)
def test_hostile_text_costs_little(junk: str) -> None:
    tally = Tally()
    tally.answered(Message("assistant", junk), 1)
    said(tally, "s", junk, before="x")
    assert tally.answers == 1


def test_nothing_gives_no_claim_and_no_hint() -> None:
    assert derive(Tally()) == Patterns()
    assert hints(Patterns()) == []


def test_a_question_counts_by_conversation_not_by_repetition() -> None:
    tally = Tally()
    for _ in range(10):
        said(tally, "one", "How does billing work here?")
    assert derive(tally).questions == ()
    for n in range(1, CONVERSATIONS):
        said(tally, f"session {n}", "How does billing work here?", id=f"m{n}")
    (question,) = derive(tally).questions
    assert (question.text, question.conversations, question.source) == (
        "How does billing work here?",
        CONVERSATIONS,
        "m",
    )


def test_questions_that_are_alike_are_one() -> None:
    bags = {"export invoice": 4, "export invoice csv": 2, "delete account": 3}
    table = {bag: Recurring(bag, bag, {f"{bag} {n}" for n in range(size)}) for bag, size in bags.items()}
    assert [(s.text, len(s.sessions)) for s in clustered(table)] == [("export invoice", 6), ("delete account", 3)]
    assert len(table["export invoice"].sessions) == 4


def asked_about(bags: Mapping[str, int]) -> dict[str, Recurring]:
    return {bag: Recurring(bag, bag, {f"{bag} {n}" for n in range(size)}) for bag, size in bags.items()}


def axis(n: int) -> NDArray[np.float32]:
    """A direction of its own; all have much in common, as a model's vectors do."""
    out = np.zeros(64, np.float32)
    out[n], out[63] = 1.0, 5.0
    return out


def test_questions_that_mean_the_same_are_one_in_whatever_words() -> None:
    table = asked_about(
        {"export invoice": 4, "bill pdf": 3, "delete account": 2} | {f"other {n}x": 1 for n in range(30)}
    )
    far = {f"other {n}x": axis(n + 3) for n in range(30)}
    meanings = {"export invoice": axis(1), "bill pdf": axis(1), "delete account": axis(2)} | far
    found = clustered(table, meanings)
    assert [(s.text, len(s.sessions)) for s in found[:2]] == [("export invoice", 7), ("delete account", 2)]
    assert len(found) == 32
    assert len(clustered(table)) == 33
    few = {bag: vector for bag, vector in meanings.items() if bag in list(meanings)[: FEWEST - 1]}
    assert len(clustered(table, few)) == 33


@given(
    st.lists(st.sets(st.sampled_from("abcdefgh"), min_size=1), min_size=1, max_size=40, unique_by=tuple),
    st.integers(0, 2**32 - 1),
)
def test_taking_questions_together_loses_no_conversation(bags: list[set[str]], seed: int) -> None:
    table = asked_about({" ".join(sorted(bag)): 1 + n % 3 for n, bag in enumerate(bags)})
    dice = np.random.default_rng(seed)
    meanings = {bag: dice.normal(size=4).astype(np.float32) for bag in table if dice.random() < 0.9}
    found = clustered(table, meanings)
    assert sorted(name for said in found for name in said.sessions) == sorted(
        name for said in table.values() for name in said.sessions
    )
    assert clustered(table, meanings) == found


def test_a_topic_needs_its_share_of_the_conversations() -> None:
    tally = Tally()
    for n in range(100):
        said(tally, f"s{n}", "sailing" if n < 5 else "gardens" if n < 9 else "so", id=f"m{n}")
    assert [(t.text, t.conversations) for t in derive(tally).topics] == [("sailing", 5)]
    said(tally, "one more", "so")
    assert derive(tally).topics == ()


def test_pasted_material_and_quotations_are_nobodys_topic() -> None:
    tally = Tally()
    for n in range(5):
        said(tally, f"s{n}", "```\ndatabase\n```\n> mortgage rates?\nsailing?")
        said(tally, f"s{n}", "inheritance " * 300)
    assert [t.text for t in derive(tally).topics] == ["sailing"]
    assert [q.text for q in derive(tally).questions] == ["sailing?"]


def test_who_asks_for_shorter_answers_prefers_them() -> None:
    tally = Tally()
    for n in range(REACTIONS):
        assert derive(tally).length == ""
        said(tally, f"s{n}", "shorter please", before="long answer")
    patterns = derive(tally)
    assert (patterns.length, patterns.follow_ups) == ("short", {"shorter": REACTIONS})
    assert hints(patterns)[0].text == "The user prefers short answers (asked for shorter ones 5 times)."


def test_a_reaction_to_nothing_is_none() -> None:
    tally = Tally()
    for n in range(20):
        said(tally, f"s{n}", "shorter please")
    assert derive(tally).length == ""


def test_what_is_said_after_thanks_counts() -> None:
    tally = Tally()
    for n in range(CONVERSATIONS):
        said(tally, f"s{n}", "Thanks! How does billing work here?", before="Here you are.")
        said(tally, f"s{n}", f"Thank you. {'I also have a bakery, ' * 4}as you know.", before="Here you are.")
        said(tally, f"s{n}", "Thanks, splendid", before="Here you are.")
    assert derive(tally).follow_ups == {"thanks": 3 * CONVERSATIONS}
    assert [question.text for question in derive(tally).questions] == ["How does billing work here?"]
    assert {"billing", "bakery,"} <= tally.topics.keys()
    assert "splendid" not in tally.topics


def test_wishes_that_contradict_each_other_are_no_preference() -> None:
    tally = Tally()
    for n in range(6):
        said(tally, f"s{n}", "shorter please", before="a")
        said(tally, f"s{n}", "tell me more", before="a")
    assert (derive(tally).length, derive(tally).depth) == ("", "")


def test_a_few_wishes_among_very_many_answers_are_no_preference() -> None:
    tally = Tally()
    for n in range(REACTIONS):
        said(tally, f"s{n}", "shorter please", before="a")
    for _ in range(1_000):
        tally.answered(Message("assistant", "x"), 10)
    assert derive(tally).length == ""


def scored(tally: Tally, text: str, tokens: int, *scores: float) -> None:
    for score in scores:
        tally.answered(Message("assistant", text, metadata={"score": score}), tokens)


def test_answers_that_scored_better_are_told() -> None:
    tally = Tally()
    scored(tally, "- a\n- b", 50, *[9.0] * SCORED)
    scored(tally, "prose", 50, *[6.0] * SCORED)
    (worked,) = derive(tally).worked
    assert (worked.trait, worked.score, worked.answers, worked.others, worked.other_answers) == (
        "with a list",
        9.0,
        SCORED,
        6.0,
        SCORED,
    )
    assert hints(derive(tally))[0].text == "Answers with a list scored 9 on average (5), others 6 (5)."


def test_scores_that_differ_by_chance_are_not_told() -> None:
    tally = Tally()
    scored(tally, "- a\n- b", 50, 9, 3, 10, 8, 4, 9)
    scored(tally, "prose", 50, 8, 3, 9, 2, 7, 5)
    assert derive(tally).worked == ()


def test_too_few_scores_are_not_told() -> None:
    tally = Tally()
    scored(tally, "- a\n- b", 50, *[10.0] * (SCORED - 1))
    scored(tally, "prose", 50, *[1.0] * 50)
    assert derive(tally).worked == ()


def test_scores_and_wishes_that_disagree_are_no_preference() -> None:
    tally = Tally()
    scored(tally, "x", 1_000, *[9.5] * 10)
    scored(tally, "x", 10, *[5.0] * 10)
    assert derive(tally).length == "long"
    for n in range(10):
        said(tally, f"s{n}", "shorter please", before="a")
    assert derive(tally).length == ""


@pytest.mark.parametrize("score", [None, True, "9", -1, 10.5, [9]])
def test_what_is_no_score_is_not_counted(score: object) -> None:
    tally = Tally()
    tally.answered(Message("assistant", "x", metadata={"score": score}), 10)
    assert (tally.answers, tally.scores) == (1, {})


def test_active_hours_need_many_different_hours() -> None:
    tally = Tally()
    for _ in range(ACTIVE_HOURS):
        said(tally, "s", "hello", at=START.replace(hour=19))
    assert derive(tally).active is None
    for n in range(ACTIVE_HOURS):
        said(tally, "s", "hello", at=START.replace(hour=18 + n % 3) + timedelta(days=n))
    assert derive(tally).active == (18, 21)  # nothing was said from 17 to 18
    assert derive(tally).rhythm == "daily"


@given(st.integers(0, 23))
def test_somebody_who_is_there_at_one_hour_of_the_day_is_active_then(hour: int) -> None:
    tally = Tally()
    for n in range(ACTIVE_HOURS):
        said(tally, "s", "hello", at=START.replace(hour=hour) + timedelta(days=n))
    assert derive(tally).active == (hour, (hour + 1) % 24)


def test_somebody_who_is_there_all_day_has_no_active_hours() -> None:
    tally = Tally()
    for n in range(240):
        said(tally, "s", "hello", at=START + timedelta(hours=n))
    assert derive(tally).active is None
    assert derive(tally).hours == (10,) * 24


def test_hours_are_those_of_the_zone_the_message_names() -> None:
    tally = Tally()
    said(tally, "s", "hello", at=datetime(2024, 1, 1, 23, tzinfo=timezone(timedelta(hours=5))))
    assert derive(tally).hours[23] == 1


@pytest.mark.parametrize(("gap", "rhythm"), [(1, "daily"), (7, "weekly"), (30, "occasional")])
def test_how_often(gap: int, rhythm: str) -> None:
    tally = Tally()
    for n in range(10):
        said(tally, "s", "hello", at=START + timedelta(days=n * gap))
    assert derive(tally).rhythm == rhythm


def test_hints_cite_the_messages_they_repeat() -> None:
    tally = Tally()
    for n in range(4):
        said(tally, f"s{n}", "How does billing work?", id=f"m{n}")
    found = hints(derive(tally))
    assert [hint.sources for hint in found] == [("m0",), ("m0", "m0", "m0")]
    assert found[0].text == "Asked in 4 conversations: “How does billing work?”"
    assert found[1].text.endswith("does (4), billing (4), work (4)")


@given(st.integers(0, 200), st.integers(0, 200))
def test_over_half_is_claimed_only_above_half(k: int, more: int) -> None:
    n = k + more
    assert not surely_over_half(k, n) or k > n / 2
    assert not surely_over_half(k, n) or surely_over_half(k + 1, n + 1)
    assert not (surely_over_half(k, n) and surely_over_half(more, n))


texts = st.sampled_from(
    [
        "How does billing work?",
        "billing",
        "shorter please",
        "tell me more",
        "thanks",
        "Where is Oslo?",
        "x" * 9,
        "ليلى؟",
    ]
)
events = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", "d"]),
        st.sampled_from(["user", "assistant"]),
        texts,
        st.integers(0, 300),
        st.sampled_from([None, 3, 7.5, 9.9]),
    ),
    max_size=40,
)


def replayed(log: list[tuple[str, str, str, int, float | None]], start: int = 0) -> Tally:
    """The counts of a log from some place on; what stands before that place is known, not counted."""
    tally, before = Tally(), dict[str, Message]()
    for n, (session, role, text, hours, score) in enumerate(log):
        at = START + timedelta(hours=hours)
        if role == "user":
            message = Message("user", text, id=f"m{n}", at=at)
            if n >= start:
                tally.said(session, message, before.get(session), telling)
        else:
            message = Message("assistant", text, id=f"m{n}", at=at, metadata={"score": score})
            if n >= start:
                tally.answered(message, len(text) * 20)
        before[session] = message
    return tally


@given(events, st.integers(0, 40), st.integers(0, 40))
def test_any_cut_of_the_log_counts_the_same(log: list[tuple[str, str, str, int, float | None]], i: int, j: int) -> None:
    i, j = sorted((min(i, len(log)), min(j, len(log))))
    parts = [replayed(log[:i]), replayed(log[:j], i), replayed(log, j)]
    total = Tally()
    for part in parts:
        total.add(Tally.from_dict(part.to_dict()))
    assert total == replayed(log)
    assert derive(total).to_dict() == derive(replayed(log)).to_dict()


@given(events)
def test_patterns_claim_only_what_was_counted(log: list[tuple[str, str, str, int, float | None]]) -> None:
    tally = replayed(log)
    patterns = derive(tally)
    users = [(session, text) for session, role, text, _, _ in log if role == "user"]
    assert patterns.turns == len(users)
    assert patterns.conversations == len({session for session, _ in users})
    for question in patterns.questions:
        assert CONVERSATIONS <= question.conversations <= patterns.conversations
        assert any(question.text == text for _, text in users)
    assert Patterns.from_dict(patterns.to_dict()) == patterns
    assert patterns.length == "" or sum(patterns.follow_ups.values()) >= REACTIONS or patterns.worked
