"""The semantic layer: learned once, told by what is asked, right in every process, gone with its messages."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect.answers import Candidate, Fact
from recollect.errors import ConfigError, Conflict
from recollect.layers import semantic
from recollect.layers.semantic import JOB, KIND, Semantic
from recollect.store import Job, Record, Store
from recollect.store import open as open_store
from recollect.testing.stores.base import HOSTILE_TEXTS
from recollect.types import Message, Scope

START = datetime(2025, 5, 12, 9, tzinfo=UTC)
ADA = Scope("acme", "ada")
TRIP, WORK = Scope("acme", "ada", "trip"), Scope("acme", "ada", "work")


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    url = ":memory:" if request.param == "memory" else str(tmp_path / "memory.db")
    with open_store(url, durability="normal") as store:
        yield store


@pytest.fixture
def layer(store: Store) -> Semantic:
    return Semantic(store)


def day(n: float) -> datetime:
    return START + timedelta(days=n)


def say(store: Store, text: str, on: float = 0, scope: Scope = TRIP, **fields: Any) -> str:
    """The id of a turn's first message."""
    turn = [Message("user", text, at=day(on), **fields), Message("assistant", "I live in a data centre.", at=day(on))]
    return store.log.append(scope, turn, jobs=[JOB])[0].message.id


def work(layer: Semantic, store: Store) -> int:
    """Do the jobs that are due."""
    learned = 0
    while jobs := store.jobs.claim(("facts",), worker="w"):
        learned += layer.learn(jobs[0])
    return learned


def values(facts: list[Fact]) -> dict[str, str]:
    return {fact.key: fact.value for fact in facts}


def lines(offered: list[Candidate]) -> list[str]:
    return [candidate.text for candidate in offered if not candidate.out]


def test_five_turns_are_learned_in_one_batch(store: Store, layer: Semantic) -> None:
    for n, text in enumerate(["Hi, I'm Ada.", "Nice.", "I live in Oslo.", "Go on."]):
        say(store, text, n)
        assert work(layer, store) == 0
    say(store, "I love jazz.", 4)
    assert work(layer, store) == 3
    assert values(layer.facts(ADA)) == {"name": "Ada", "place": "Oslo", "likes:jazz": "jazz"}


def test_fewer_turns_wait_a_minute_and_are_learned_then(tmp_path: Path) -> None:
    now = [START]
    with open_store(str(tmp_path / "m.db"), durability="normal", clock=lambda: now[0]) as store:
        layer = Semantic(store)
        say(store, "I live in Oslo.")
        assert work(layer, store) == 0
        assert [job.delay > 0 or job.due for job in store.jobs.find(TRIP)] != []
        now[0] += timedelta(seconds=semantic.WAIT_SECONDS + 1)
        assert work(layer, store) == 1
        assert store.jobs.find(TRIP) == []
        assert work(layer, store) == 0


def test_whoever_asks_need_not_wait(store: Store, layer: Semantic) -> None:
    say(store, "I live in Oslo.")
    assert layer.catch_up(TRIP) == 1
    assert layer.catch_up(TRIP) == 0
    assert values(layer.facts(ADA)) == {"place": "Oslo"}


def test_a_fact_names_its_message_and_its_words(store: Store, layer: Semantic) -> None:
    id = say(store, "Well, my sister Nadia lives in Oslo.", 2)
    layer.catch_up(TRIP)
    place = layer.facts(ADA)[1]
    (entry,) = store.log.get(TRIP, [id])
    assert entry.message.text[slice(*place.span)] == "my sister Nadia lives in Oslo"
    assert (place.type, place.key, place.sources, place.session) == (
        "user_profile",
        "sister:nadia:place",
        (id,),
        "trip",
    )
    assert (place.at, place.updated_at, place.valid_to) == (day(2), day(2), None)


def test_only_the_user_states_facts(store: Store, layer: Semantic) -> None:
    store.log.append(
        TRIP, [Message(role, "My name is Mallory.") for role in ("system", "assistant")] + [Message("user", "hello")]
    )
    assert layer.catch_up(TRIP) == 0


def test_a_new_value_supersedes_and_the_old_is_history(store: Store, layer: Semantic) -> None:
    say(store, "I live in Paris.", 0)
    say(store, "Actually, I moved to Rome.", 3)
    layer.catch_up(TRIP)
    assert values(layer.facts(ADA)) == {"place": "Rome"}
    assert values(layer.facts(ADA, as_of=day(1))) == {"place": "Paris"}
    assert layer.facts(ADA, as_of=day(-1)) == []
    assert [(fact.value, fact.valid_to) for fact in layer.history(ADA, "place")] == [("Paris", day(3)), ("Rome", None)]


def test_what_a_clock_ahead_of_ours_dates_tomorrow_is_known_once_it_came(store: Store, layer: Semantic) -> None:
    before = datetime.now(UTC)
    said = Message("user", "I live in Oslo.", at=before + timedelta(hours=9))
    store.log.append(TRIP, [said])
    layer.catch_up(TRIP)
    assert values(layer.facts(ADA)) == {"place": "Oslo"}
    assert layer.facts(ADA, as_of=datetime.now(UTC)) == layer.facts(ADA)
    assert layer.facts(ADA, as_of=before) == []


def test_what_no_longer_holds_is_history(store: Store, layer: Semantic) -> None:
    say(store, "I work at Google and I love jazz.", 0)
    say(store, "I no longer work at Google. I don't like jazz any more.", 3)
    layer.catch_up(TRIP)
    assert layer.facts(ADA) == []
    assert [fact.valid_to for fact in layer.history(ADA, "company")] == [day(3)]


def test_an_older_message_learned_later_supersedes_nothing(store: Store, layer: Semantic) -> None:
    say(store, "I live in Paris.", 0, WORK)
    say(store, "I live in Rome.", 1, TRIP)
    layer.catch_up(TRIP)
    layer.catch_up(WORK)
    assert values(layer.facts(ADA)) == {"place": "Rome"}
    assert [fact.value for fact in layer.history(ADA, "place")] == ["Paris", "Rome"]


def test_an_old_conversation_brought_in_later_supersedes_nothing(store: Store, layer: Semantic) -> None:
    say(store, "I live in Rome.", 0)
    layer.catch_up(TRIP)
    say(store, "I live in Paris.", -900, WORK)
    layer.catch_up(WORK)
    assert values(layer.facts(ADA)) == {"place": "Rome"}


def test_among_messages_of_one_time_the_order_of_the_log_counts(store: Store, layer: Semantic) -> None:
    say(store, "I live in Rome.")
    say(store, "I live in Bonn.")
    layer.catch_up(TRIP)
    assert values(layer.facts(ADA)) == {"place": "Bonn"}


def test_what_is_said_again_is_one_fact(store: Store, layer: Semantic) -> None:
    ids = [say(store, "I love jazz.", n) for n in range(3)]
    layer.catch_up(TRIP)
    (fact,) = layer.facts(ADA)
    assert (fact.sources, fact.at, fact.updated_at) == (tuple(ids), day(0), day(2))


def test_a_failed_attempt_leaves_nothing_and_the_next_learns_all(
    store: Store, layer: Semantic, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(5):
        say(store, f"I love number{n}.", n)
    (job,) = store.jobs.claim(("facts",), worker="w")

    def lost(job: Job) -> None:
        raise Conflict("the lease is lost")

    with monkeypatch.context() as patch:
        patch.setattr(store.jobs, "finish", lost)
        with pytest.raises(Conflict):
            layer.learn(job)
    assert layer.facts(ADA) == []
    assert layer.learn(job) == 5
    assert len(layer.facts(ADA)) == 5


def test_two_who_learn_the_same_learn_it_once(store: Store) -> None:
    say(store, "I live in Oslo and I love jazz.")
    one, other = Semantic(store), Semantic(store)
    assert (one.catch_up(TRIP), other.catch_up(TRIP)) == (2, 0)
    store.records.delete(TRIP, [mark.id for mark in store.records.find(TRIP, kind="mark")])
    other.catch_up(TRIP)
    assert len(store.records.find(ADA, kind=KIND)) == 2


def test_a_long_session_is_learned_page_by_page(store: Store, layer: Semantic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic, "PAGE", 4)
    for n in range(7):
        say(store, f"I love number{n}.", n)
    assert work(layer, store) == 7
    assert store.jobs.find(TRIP) == []
    assert len(layer.facts(ADA)) == 7


def test_the_same_log_gives_the_same_records(tmp_path: Path) -> None:
    def learned(name: str) -> list[Record]:
        with open_store(str(tmp_path / name), durability="normal", clock=lambda: START) as store:
            say(store, "I live in Oslo and I love jazz.", id="m1")
            say(store, "Remind me to call mum on Friday.", id="m2")
            Semantic(store).catch_up(TRIP)
            return store.records.find(ADA, kind=KIND)

    assert learned("one.db") == learned("other.db")


def test_users_know_nothing_of_each_other(store: Store, layer: Semantic) -> None:
    say(store, "I live in Oslo.")
    layer.catch_up(TRIP)
    for stranger in (Scope("acme", "bob"), Scope("rival", "ada")):
        assert layer.facts(stranger) == []
        assert layer.offer(stranger, "Where do I live?", day(1)) == []


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_any_text_is_learned_from(store: Store, layer: Semantic, text: str) -> None:
    say(store, text + " Remind me to call " + text + " I live in Oslo.")
    layer.catch_up(TRIP)
    layer.offer(ADA, text, day(1))


def test_erasing_a_message_takes_its_facts_and_brings_back_what_they_superseded(store: Store, layer: Semantic) -> None:
    say(store, "I live in Paris.", 0)
    newer = say(store, "I moved to Rome and I love jazz.", 1)
    layer.catch_up(TRIP)
    assert lines(layer.offer(ADA, "Where do I live?", day(2)))[0] == "place: Rome (said 13 May 2025)"
    store.log.erase(TRIP, [newer])
    assert lines(layer.offer(ADA, "Where do I live?", day(2))) == ["place: Paris (said 12 May 2025)"]
    assert values(layer.facts(ADA)) == {"place": "Paris"}


def test_erasing_an_end_brings_the_fact_back(store: Store, layer: Semantic) -> None:
    say(store, "I love jazz.", 0)
    end = say(store, "I don't like jazz any more.", 1)
    layer.catch_up(TRIP)
    assert layer.offer(ADA, "music", day(2)) == []
    store.log.erase(TRIP, [end])
    assert lines(layer.offer(ADA, "music", day(2))) == ["likes: jazz (said 12 May 2025)"]


def test_what_another_process_learns_and_erases_is_seen(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    program = (
        "import sys\n"
        "from recollect.layers.semantic import Semantic\n"
        "from recollect.store import open\n"
        "from recollect.types import Message, Scope\n"
        "trip = Scope('acme', 'ada', 'trip')\n"
        "with open(sys.argv[1]) as store:\n"
        "    if sys.argv[2] == 'erase':\n"
        "        store.log.erase(trip)\n"
        "    else:\n"
        "        store.log.append(trip, [Message('user', sys.argv[2])])\n"
        "        Semantic(store).catch_up(trip)\n"
    )

    def elsewhere(word: str) -> None:
        subprocess.run([sys.executable, "-W", "error", "-c", program, path, word], check=True)

    with open_store(path, durability="normal") as store:
        layer = Semantic(store)
        assert layer.offer(ADA, "", day(0)) == []
        elsewhere("I live in Oslo.")
        assert [line.partition(" (")[0] for line in lines(layer.offer(ADA, "", day(0)))] == ["place: Oslo"]
        elsewhere("erase")
        assert layer.offer(ADA, "", day(0)) == []
        assert layer.facts(ADA) == []


def test_what_is_erased_elsewhere_is_not_told_though_an_end_of_something_else_was_said_after_it(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with open_store(path, durability="normal") as store, open_store(path, durability="normal") as elsewhere:
        layer = Semantic(store)
        id = say(store, "I live in Paris.")
        say(store, "I no longer live in Rome.", 1)
        layer.catch_up(TRIP)
        assert len(lines(layer.offer(ADA, "", day(2)))) == 1
        elsewhere.log.erase(TRIP, [id])
        assert layer.offer(ADA, "", day(2)) == []


def test_plans_are_told_on_the_day_they_were_moved_to_until_they_are_done(store: Store, layer: Semantic) -> None:
    say(store, "I have a dentist appointment on Friday.", 0)
    say(store, "I have to renew my passport by 30 May.", 0)
    say(store, "Actually, the appointment was moved to 20 May.", 1)
    layer.catch_up(TRIP)
    assert lines(layer.offer(ADA, "", day(2))) == [
        "to do: dentist appointment by 20 May 2025 (said 13 May 2025)",
        "to do: renew my passport by 30 May 2025 (said 12 May 2025)",
    ]
    say(store, "I've renewed my passport. The appointment is cancelled.", 3)
    layer.catch_up(TRIP)
    assert layer.facts(ADA) == []
    assert len(layer.facts(ADA, as_of=day(2))) == 2


def test_a_family_that_moved_lives_in_the_new_place_if_it_lived_in_the_old_one(store: Store, layer: Semantic) -> None:
    say(store, "I live in Berlin.", 0)
    say(store, "We moved from Jenkins to Travis.", 1)
    say(store, "We moved from Berlin to Hamburg.", 2)
    layer.catch_up(TRIP)
    assert values(layer.facts(ADA)) == {"place": "Hamburg"}
    assert values(layer.facts(ADA, as_of=day(1))) == {"place": "Berlin"}


def test_what_is_asked_of_the_user_is_not_answered_with_what_is_known_of_others(store: Store, layer: Semantic) -> None:
    say(store, "I live in Oslo.", 0)
    say(store, "My aunt Zoe lives in Rome. My brother Bob lives in Paris. My sister Nadia lives in Bonn.", 9)
    layer.catch_up(TRIP)

    def first(question: str) -> str:
        return lines(layer.offer(ADA, question, day(10)))[0].partition(" (")[0]

    assert first("Where do I live?") == "place: Oslo"
    assert first("Where does Bob live?") == first("Where does my brother live?") == "brother Bob, place: Paris"


def test_the_name_and_what_someone_must_not_eat_are_told_however_much_was_said_since(
    store: Store, layer: Semantic
) -> None:
    say(store, "My name is Ada. I'm allergic to nuts.", 0)
    for n in range(20):
        say(store, f"I have a dog named Rex{n}.", 100 + n)
    layer.catch_up(TRIP)
    assert [line.partition(" (")[0] for line in lines(layer.offer(ADA, "", day(200)))[:2]] == [
        "allergy: nuts",
        "name: Ada",
    ]


def test_what_is_kept_in_memory_serves_until_something_changes(store: Store, layer: Semantic) -> None:
    say(store, "I live in Oslo.")
    layer.catch_up(TRIP)
    for _ in range(4):
        layer.offer(ADA, "Where do I live?", day(1))
    assert (layer.hits, layer.misses) == (3, 1)
    say(store, "I live in Bonn.", 1)
    layer.catch_up(TRIP)
    assert lines(layer.offer(ADA, "Where do I live?", day(1))) == ["place: Bonn (said 13 May 2025)"]
    assert (layer.hits, layer.misses) == (3, 2)
    layer.forget(TRIP)
    layer.offer(ADA, "", day(1))
    assert (layer.hits, layer.misses) == (3, 3)


def test_only_so_many_users_are_kept_in_memory(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic, "KEPT_USERS", 2)
    layer = Semantic(store)
    for n in range(5):
        layer.offer(Scope("acme", f"user{n}"), "", day(0))
    assert len(layer._users) == 2


def test_what_the_question_asks_for_comes_first(store: Store, layer: Semantic) -> None:
    say(store, "Hi, I'm Ada. I live in Oslo. My sister Nadia is a nurse. I'm allergic to peanuts.")
    say(store, "I love jazz. Please keep your answers short from now on.", 1)
    layer.catch_up(TRIP)

    def first(question: str, section: str) -> str:
        offered = [one for one in layer.offer(ADA, question, day(2)) if one.section == section]
        return offered[0].text.partition(" (")[0]

    assert first("Where do I live?", "profile") == "place: Oslo"
    assert first("What is the job of my sister?", "profile") == "sister Nadia, role: nurse"
    assert first("Suggest a restaurant for dinner", "profile") == "allergy: peanuts"
    assert first("Which music do I love?", "facts") == "likes: jazz"
    assert first("Write me a poem", "facts") == "answer length: short"


def test_a_candidate_says_where_it_comes_from(store: Store, layer: Semantic) -> None:
    id = say(store, "I love jazz.")
    layer.catch_up(TRIP)
    (offered,) = layer.offer(ADA, "jazz", day(1))
    assert (offered.section, offered.origin, offered.sources, offered.at) == ("facts", "user", (id,), day(0))


def test_what_is_due_is_told_until_its_day_is_over(store: Store, layer: Semantic) -> None:
    say(store, "Remind me to call mum on Friday.", 0)
    layer.catch_up(TRIP)
    line = "to do: call mum by 16 May 2025 (said 12 May 2025)"
    assert lines(layer.offer(ADA, "", day(4))) == [line]
    assert [(one.text, one.out) for one in layer.offer(ADA, "", day(5))] == [(line, "past its day")]
    assert layer.facts(ADA, as_of=day(5)) == []


def test_at_most_so_many_a_section_and_ten_near_misses(store: Store) -> None:
    layer = Semantic(store, most=3)
    for n in range(20):
        say(store, f"I love number{n} and I have a dog named Rex{n}.", n)
    layer.catch_up(TRIP)
    offered = layer.offer(ADA, "number7", day(30))
    kept = [one.section for one in offered if not one.out]
    assert (kept.count("profile"), kept.count("facts")) == (3, 3)
    assert [one.out for one in offered if one.out] == ["limit"] * 10
    assert offered[0].text.startswith("likes: number7")
    assert [one.score for one in offered] == sorted((one.score for one in offered), reverse=True)


def test_an_earlier_moment_is_told_as_it_was(store: Store, layer: Semantic) -> None:
    say(store, "I live in Paris.", 0)
    then = store.log.read(TRIP)[-1].position
    before = layer.catch_up(TRIP), layer.offer(ADA, "home", day(9))
    say(store, "I moved to Rome.", 1)
    layer.catch_up(TRIP)
    assert layer.offer(ADA, "home", day(9), until=then) == before[1]
    assert lines(layer.offer(ADA, "home", day(9))) == ["place: Rome (said 13 May 2025)"]


def test_a_fact_can_be_stated_outright_and_taken_back(store: Store, layer: Semantic) -> None:
    say(store, "My name is Bob.", 0)
    layer.catch_up(TRIP)
    fact = layer.remember(ADA, "user_profile", "name", "Ada", day(1), "trip")
    assert fact and (fact.value, fact.confidence, fact.session, fact.sources) == ("Ada", 1.0, "trip", ())
    assert values(layer.facts(ADA)) == {"name": "Ada"}
    assert layer.remember(ADA, "user_profile", "name", None, day(2)) is None
    assert layer.facts(ADA) == []
    assert [one.value for one in layer.history(ADA, "name")] == ["Bob", "Ada"]


def test_what_is_stated_outright_stands_where_the_clock_went_back(store: Store, layer: Semantic) -> None:
    say(store, "I live in Paris and I hate jazz.", 3)
    layer.catch_up(TRIP)
    place = layer.remember(ADA, "user_profile", "place", "Rome", day(1))
    assert place is not None
    assert (place.value, place.updated_at) == ("Rome", day(1))
    layer.remember(ADA, "interest", "likes", "jazz", day(1))
    assert values(layer.facts(ADA)) == {"place": "Rome", "likes:jazz": "jazz"}
    assert layer.remember(ADA, "user_profile", "place", None, day(0)) is None
    assert values(layer.facts(ADA, as_of=day(2))) == {}


def test_likes_that_are_stated_stand_side_by_side(store: Store, layer: Semantic) -> None:
    for what in ("tea", "The Beatles"):
        layer.remember(ADA, "interest", "likes", what, day(0))
    assert values(layer.facts(ADA)) == {"likes:tea": "tea", "likes:beatles": "The Beatles"}


def test_likes_are_taken_back_one_by_one_or_all_at_once(store: Store, layer: Semantic) -> None:
    say(store, "I love hiking.", 0)
    layer.catch_up(TRIP)
    for what in ("tea", "milk"):
        layer.remember(ADA, "interest", "likes", what, day(1))
    assert layer.remember(ADA, "interest", "likes:tea", None, day(2)) is None
    assert set(values(layer.facts(ADA)).values()) == {"hiking", "milk"}
    assert layer.remember(ADA, "interest", "likes", None, day(3)) is None
    assert layer.facts(ADA) == []


@pytest.mark.parametrize(
    ("type", "key", "value", "wrong"),
    [
        ("hobby", "likes", "tea", "'hobby' is not one of user_profile"),
        ("interest", "", "tea", "key must be text"),
        ("interest", "likes", " ", "value is text that is not empty"),
        ("interest", "likes", 7, "value is text that is not empty"),
        ("interest", "a\x00", "tea", "NUL"),
    ],
)
def test_what_is_no_fact_is_refused(layer: Semantic, type: Any, key: str, value: Any, wrong: str) -> None:
    with pytest.raises(ConfigError, match=wrong):
        layer.remember(ADA, type, key, value, day(0))
    assert layer.facts(ADA) == []
