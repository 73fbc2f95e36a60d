"""The semantic layer: learned once, in its order, right in every process, gone with its messages."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import Conflict
from recollect.layers import semantic
from recollect.layers.semantic import JOB, KIND, Semantic
from recollect.store import Job, Record, Store
from recollect.store import open as open_store
from recollect.testing.stores.base import HOSTILE_TEXTS
from recollect.types import Message, Scope
from tests.facts.told import ADA, START, TRIP, WORK, day, lines, say, values, work


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


def test_an_answer_that_came_alone_is_not_waited_with_for_ever(tmp_path: Path) -> None:
    now = [START]
    with open_store(str(tmp_path / "m.db"), durability="normal", clock=lambda: now[0]) as store:
        layer = Semantic(store)
        say(store, "I live in Oslo.")
        layer.catch_up(TRIP)
        store.log.append(TRIP, [Message("assistant", "So you do.", at=START)], jobs=[JOB])
        assert work(layer, store) == 0
        now[0] += timedelta(seconds=semantic.WAIT_SECONDS + 1)
        assert work(layer, store) == 0
        assert store.jobs.find(TRIP) == []
        assert values(layer.facts(ADA)) == {"place": "Oslo"}


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


def test_a_page_without_a_word_of_the_user_is_read_past(
    store: Store, layer: Semantic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(semantic, "PAGE", 4)
    store.log.append(TRIP, [Message("assistant", f"Step {n}.", at=day(0)) for n in range(4)], jobs=[JOB])
    say(store, "I love jazz.", 1)
    assert layer.catch_up(TRIP) == 1


def test_the_birthdays_of_a_question_are_those_it_may_mean(store: Store, layer: Semantic) -> None:
    say(store, "My birthday is on 9 June. I live in Oslo.", 0)
    layer.remember(ADA, "user_profile", "sister:birthday", "1 May 1990", day(1))
    layer.catch_up(TRIP)
    known = {"my sister's birthday": "1 May", "my birthday": "9 June"}
    assert layer.days(ADA, "What did I buy before My BIRTHDAY?") == known
    assert layer.days(ADA, "What did I buy?") == {}


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
    say(store, "I live in Bergen.", 0.5)
    layer.catch_up(TRIP)
    assert "Bergen" in values(layer.facts(ADA)).values()
    assert all(candidate.text for candidate in layer.offer(ADA, text, day(1)))


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


def test_what_is_kept_in_memory_is_not_read_again_however_much_has_ended(
    store: Store, layer: Semantic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One question tells whether something is new or gone."""
    for n in range(20):
        say(store, f"I love number{n}. I work at Firm{n}.", n)
        say(store, f"I don't like number{n} any more.", n)
    layer.catch_up(TRIP)
    first = layer.offer(ADA, "work", day(30))
    asked, read = list[str](), list[Any]()

    def counted(name: str) -> None:
        method = getattr(store.records, name)

        def call(*given: Any, **named: Any) -> Any:
            asked.append(name)
            found = method(*given, **named)
            read.extend(found if isinstance(found, list) else ())
            return found

        monkeypatch.setattr(store.records, name, call)

    for name in ("find", "get", "history", "extent"):
        counted(name)
    assert layer.offer(ADA, "work", day(30)) == first
    assert (asked, read) == (["extent"], [])


def test_only_so_many_users_are_kept_in_memory(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semantic, "KEPT_USERS", 2)
    layer = Semantic(store)
    for n in range(5):
        layer.offer(Scope("acme", f"user{n}"), "", day(0))
    assert len(layer._users) == 2


def test_what_was_read_before_an_erasure_is_not_kept_after_it(
    store: Store, layer: Semantic, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(store, "My birthday is on 9 November.", 0)
    layer.catch_up(TRIP)
    take = Semantic._take

    def erased_meanwhile(self: Semantic, kept: Any, user: Scope) -> None:
        take(self, kept, user)
        monkeypatch.setattr(Semantic, "_take", take)
        store.log.erase(TRIP)
        layer.forget(TRIP)

    layer.forget(TRIP)
    monkeypatch.setattr(Semantic, "_take", erased_meanwhile)
    assert layer.facts(ADA)
    assert layer.days(ADA, "What of my birthday?") == {}


def places(layer: Semantic) -> list[str]:
    return [candidate.text.partition(" (")[0] for candidate in layer.offer(ADA, "Where do I live?", day(1))]


def test_what_was_learned_in_a_transaction_that_is_undone_is_not_told(store: Store, layer: Semantic) -> None:
    with pytest.raises(ZeroDivisionError), store.transaction(TRIP):
        say(store, "I live in Atlantis.")
        layer.catch_up(TRIP)
        assert places(layer) == ["place: Atlantis"]
        raise ZeroDivisionError
    say(store, "I live in Rome.")
    layer.catch_up(TRIP)
    assert places(layer) == ["place: Rome"]


def test_after_a_restore_the_facts_of_the_backup_are_told(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "m.db")) as store:
        layer = Semantic(store)
        say(store, "I live in Oslo.")
        layer.catch_up(TRIP)
        store.backup(tmp_path / "backup")
        store.log.erase(TRIP)
        say(store, "I live in Rome.")
        layer.catch_up(TRIP)
        assert places(layer) == ["place: Rome"]
        store.restore(tmp_path / "backup")
        assert places(layer) == ["place: Oslo"]
