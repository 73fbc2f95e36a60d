"""What is known follows from what was said, in the order it was said, whatever order it is learned in."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from unittest.mock import Mock, patch

from hypothesis import given
from hypothesis import strategies as st

from recollect.answers import FactType
from recollect.flow.facts import Known, Statement, known
from recollect.flow.facts.known import Knowing, _words, opposite, order_of
from recollect.flow.facts.people import FEW

OF_A_DOG = ("dog:a", "dog:a:age", "dog:age", "dog", "called:a:age")
START = datetime(2025, 5, 1, tzinfo=UTC)


def say(
    day: int,
    key: str,
    value: str,
    *,
    ended: bool = False,
    type: FactType = "user_profile",
    valid_from: int | None = None,
    valid_to: int | None = None,
    then: str = "",
    apart: bool = False,
    says: tuple[tuple[str, str], ...] = (),
) -> Statement:
    at = START + timedelta(days=day)
    return Statement(
        f"{day}.{key}.{value}.{ended}",
        (at, day, 0),
        type,
        key,
        value,
        0.9,
        at,
        "a",
        (f"m{day}",),
        (0, 1),
        None if valid_from is None else START + timedelta(days=valid_from),
        None if valid_to is None else START + timedelta(days=valid_to),
        ended,
        then,
        says=says,
        apart=apart,
    )


def plan(day: int, what: str, valid_to: int | None = None, *, ended: bool = False, then: str = "") -> Statement:
    return say(day, f"todo:{what}", what, type="action_item", valid_to=valid_to, ended=ended, then=then)


def values(found: Known) -> dict[str, str]:
    return {fact.key: fact.value for fact in found.standing}


statements = st.lists(
    st.builds(
        say,
        st.integers(0, 30),
        st.sampled_from(["name", "place", "likes:jazz", "dislikes:jazz", "todo:call", "note:1", *OF_A_DOG]),
        st.sampled_from(["a", "A", "b", "c"]),
        ended=st.booleans(),
        type=st.sampled_from(["user_profile", "action_item"]),
        valid_from=st.none() | st.integers(-10, 30),
        valid_to=st.none() | st.integers(0, 60),
        then=st.sampled_from(["", "", "d"]),
        apart=st.booleans(),
    ),
    max_size=15,
    unique_by=lambda one: one.id,
)


def test_what_ended_of_someone_who_is_not_known_ends_nobody_of_that_word() -> None:
    told = [say(0, "dog:rome", "Rome"), say(1, "called:nadia:place", "Rome", ended=True), say(2, "called", "Ada")]
    assert values(known(told)) == {"dog:rome": "Rome", "called": "Ada"}


def test_a_boss_by_their_full_name_is_the_same_one() -> None:
    told = [say(0, "boss", "Tom"), say(1, "boss:place", "Oslo"), say(2, "boss", "Tom Berg")]
    assert values(known(told)) == {"boss": "Tom Berg", "boss:place": "Oslo"}
    another = say(3, "boss", "Ann")
    assert values(found := known([*told, another])) == {"boss": "Ann"}
    assert found.rests["boss:place"] == (another.id,)


@given(statements, st.randoms())
def test_the_order_of_learning_does_not_matter(said: list[Statement], random: Random) -> None:
    assert known(random.sample(said, len(said))) == known(said)


@given(statements)
def test_one_key_has_one_value_and_the_past_is_over(said: list[Statement]) -> None:
    found = known(said)
    keys = [fact.key for fact in found.standing]
    assert len(keys) == len(set(keys))
    assert not {opposite(key) for key in keys}.intersection(keys)
    assert all(fact.valid_to is not None for fact in found.past)
    told = {source for one in said for source in one.sources}
    assert all(set(fact.sources) <= told and fact.sources for fact in (*found.standing, *found.past))
    assert all(fact.at <= fact.updated_at for fact in (*found.standing, *found.past))


@given(statements)
def test_the_last_word_on_a_key_stands(said: list[Statement]) -> None:
    found = values(known(said))
    for key in {one.key for one in said} - {"called:a:age", "dog:age"}:
        ends = [one for one in said if one.ended and key.startswith(f"{one.key}:")]
        about = [*ends, *(one for one in said if one.key in (key, opposite(key), "called:a:age", "dog:age"))]
        last = max(about, key=lambda one: (one.order, one.id))
        if last.key == key and not last.ended:
            assert found[key].casefold() == last.value.casefold()


def test_a_new_value_supersedes_and_the_old_stays_on_record() -> None:
    found = known([say(1, "place", "Paris"), say(5, "place", "Rome", valid_from=3)])
    assert values(found) == {"place": "Rome"}
    assert [(fact.value, fact.valid_to) for fact in found.of("place")] == [
        ("Paris", START + timedelta(days=3)),
        ("Rome", None),
    ]


def test_what_is_said_again_is_one_fact_with_two_sources() -> None:
    (fact,) = known([say(1, "name", "Ada"), say(9, "name", "ada")]).standing
    assert (fact.value, fact.sources, fact.at, fact.updated_at) == (
        "Ada",
        ("m1", "m9"),
        START + timedelta(days=1),
        START + timedelta(days=9),
    )


def test_who_my_sister_is_takes_no_longer_to_tell_the_more_is_known() -> None:
    said = [say(day, f"likes:{day}", "x") if day % 2 else say(day, "sister:place", "Oslo") for day in range(20_000)]
    started = time.thread_time()
    found = known(said)
    assert time.thread_time() - started < 3
    assert len(found.standing) == 10_001


def test_what_is_said_in_every_conversation_takes_no_longer_to_know_each_time() -> None:
    said = [say(day, "place", "Oslo") for day in range(20_000)]
    started = time.thread_time()
    (fact,) = known(said).standing
    assert time.thread_time() - started < 3
    assert fact.sources == tuple(f"m{day}" for day in range(20_000))
    assert fact.sessions == ("a",) * 20_000


def test_who_moves_back_has_lived_there_twice() -> None:
    found = known([say(1, "place", "Paris"), say(2, "place", "Rome"), say(3, "place", "Paris")])
    assert [fact.value for fact in found.of("place")] == ["Paris", "Rome", "Paris"]


def test_an_end_ends_only_what_it_names() -> None:
    job = say(1, "company", "Acme")
    assert values(known([job, say(2, "company", "Globex", ended=True)])) == {"company": "Acme"}
    assert values(known([job, say(2, "company", "acme", ended=True)])) == {}
    assert values(known([job, say(2, "company", "", ended=True)])) == {}


def test_with_someone_goes_all_that_is_known_of_them_and_nothing_else() -> None:
    told = [say(1, "dog:rex", "Rex"), say(1, "dog:rex:age", "7"), say(1, "dog:bo", "Bo"), say(1, "place", "Rome")]
    left = {"dog:bo": "Bo", "place": "Rome"}
    for key, value in (("dog:rex", ""), ("dog:rex", "rex"), ("called:rex", "Rex")):
        found = known([*told, say(2, key, value, ended=True)])
        assert values(found) == left
        assert [fact.value for fact in found.past] == ["Rex", "7"]
    assert values(known([say(1, "wife:place", "Oslo"), say(2, "wife", "", ended=True)])) == {}


def test_someone_without_a_name_is_the_only_one_who_is_known() -> None:
    gone, rex, bo = say(2, "dog", "", ended=True), say(1, "dog:rex", "Rex"), say(1, "dog:bo", "Bo")
    assert values(known([rex, gone])) == {}
    assert len(known([rex, bo, gone]).standing) == 2
    assert len(known([say(1, "cousin:ida", "Ida"), say(2, "cousin", "", ended=True)]).standing) == 1


def test_a_name_ends_nothing_where_it_is_that_of_nobody_or_of_two() -> None:
    died = say(2, "called:ida", "Ida", ended=True)
    for told in (
        [say(1, "name", "Ida")],
        [say(1, "place", "Ida")],
        [say(1, "cat:ida", "Ida"), say(1, "mother", "Ida")],
    ):
        assert len(known([*told, died]).standing) == len(told)
    assert values(known([say(1, "mother", "Ida"), say(1, "mother:age", "80"), died])) == {}


def test_what_is_said_by_name_alone_is_of_the_one_who_is_known_by_it() -> None:
    told, moved = (
        [say(1, "sister:ida", "Ida"), say(1, "sister:ida:place", "Oslo")],
        say(2, "called:ida:place", "Bergen"),
    )
    found = known([*told, moved])
    assert values(found) == {"sister:ida": "Ida", "sister:ida:place": "Bergen"}
    assert [fact.value for fact in found.of("sister:ida:place")] == ["Oslo", "Bergen"]
    assert values(known([*told, say(1, "cat:ida", "Ida"), moved]))["sister:ida:place"] == "Oslo"
    assert known([moved, say(3, "sister:ida", "Ida")]).past == ()
    assert known([moved]).standing == ()


@given(st.sampled_from(sorted(FEW)), st.sampled_from(["place", "company", "role", "diet", "allergy"]))
def test_the_one_who_is_known_is_meant_without_a_name(kind: str, about: str) -> None:
    ida, mia = say(1, f"{kind}:ida", "Ida"), say(2, f"{kind}:mia", "Mia")
    before, told = say(0, f"{kind}:{about}", "a"), say(3, f"{kind}:{about}", "b")
    assert values(known([ida, told])) == {f"{kind}:ida": "Ida", f"{kind}:ida:{about}": "b"}
    found = known([before, ida, told])
    assert values(found) == {f"{kind}:ida": "Ida", f"{kind}:ida:{about}": "b"}
    assert [fact.value for fact in found.of(f"{kind}:{about}")] == ["a"]
    for unclear in ([ida, mia, told], [told], [ida, replace(told, apart=True)], [ida, replace(told, sources=())]):
        assert values(known(unclear))[f"{kind}:{about}"] == "b"
    assert values(known([say(1, "cousin:ida", "Ida"), say(2, "cousin:place", "Rome")]))["cousin:place"] == "Rome"


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 3_000))
def test_nobody_grows_younger_or_fast_older(first: int, then: int, days: int) -> None:
    told = [say(0, "son:max", "Max"), say(0, "son:max:age", str(first)), say(days, "son:age", str(then))]
    same = values(known(told)).get("son:max:age") == str(then)
    assert same == (0 <= then - first <= days / 365 + 1)
    assert same or values(known(told))["son:age"] == str(then)


def test_a_birthday_is_the_same_every_year() -> None:
    told = [say(0, "son:max", "Max"), say(0, "son:max:birthday", "3 May")]
    assert values(known([*told, say(1, "son:birthday", "3 May")]))["son:max:birthday"] == "3 May"
    assert values(known([*told, say(1, "son:birthday", "9 June")]))["son:birthday"] == "9 June"


def note(day: int, *says: tuple[str, str]) -> Statement:
    return say(day, f"note:{day}", "as another memory put it", says=says)


@given(st.sampled_from(["place", "company", "age", "diet", "boss"]), st.integers(0, 9))
def test_what_is_said_later_ends_a_note_that_says_nothing_else_and_cannot_be_true_too(key: str, day: int) -> None:
    told, later = note(day, (key, "a")), day + 1
    assert f"note:{day}" not in values(known([told, say(later, key, "b")]))
    assert f"note:{day}" not in values(known([told, say(later, key, "A", ended=True)]))
    assert f"note:{day}" not in values(known([told, say(day - 1, key, "b"), say(later, key, "b")]))
    for no_end in (
        [told, say(later, key, "A")],
        [told, say(later, key, "b", ended=True)],
        [told, say(later, "hometown", "b")],
        [told, say(day - 1, key, "b")],
        [note(day, (key, "a"), ("name", "Ada")), say(later, key, "b")],
        [note(day), say(later, key, "b")],
    ):
        assert f"note:{day}" in values(known(no_end))
    assert [fact.key for fact in known([told, say(later, key, "b")]).past] == [f"note:{day}"]


def test_a_note_of_what_is_liked_ends_when_it_is_not() -> None:
    likes = note(1, ("likes:jazz", "jazz"))
    assert values(known([likes, say(2, "dislikes:jazz", "jazz")])) == {"dislikes:jazz": "jazz"}
    assert "note:1" in values(known([likes, say(2, "likes:tea", "tea")]))


def test_a_diet_with_an_exception_ends_like_the_diet() -> None:
    diet = say(1, "diet", "vegetarian except for fish")
    for gone in (say(2, "diet", "vegetarian", ended=True), say(2, "avoids:meat", "meat", ended=True)):
        assert values(known([diet, gone])) == {}
    assert values(known([diet, say(2, "diet", "vegan", ended=True)])) == {"diet": diet.value}


def test_what_was_known_of_a_boss_is_not_so_of_the_next() -> None:
    told = [say(1, "boss", "Karin"), say(1, "boss:age", "51"), say(1, "mother", "Ana"), say(1, "mother:age", "80")]
    found = values(known([*told, say(2, "boss", "Stefan"), say(2, "mother", "Anna")]))
    assert found == {"boss": "Stefan", "mother": "Anna", "mother:age": "80"}
    assert values(known([*told, say(2, "boss", "karin")]))["boss:age"] == "51"
    assert values(known([say(1, "boss:age", "51"), say(2, "boss", "Karin")])) == {"boss:age": "51", "boss": "Karin"}


def test_who_likes_something_no_longer_dislikes_it() -> None:
    found = known([say(1, "dislikes:jazz", "jazz"), say(2, "likes:jazz", "jazz")])
    assert values(found) == {"likes:jazz": "jazz"}


def test_a_new_day_is_a_new_plan() -> None:
    first = say(1, "todo:call", "call", type="action_item", valid_to=5)
    again = say(2, "todo:call", "call", type="action_item", valid_to=9)
    assert [fact.valid_to for fact in known([first, again]).standing] == [START + timedelta(days=9)]
    assert len(known([first, again]).past) == 1


def test_what_ends_gives_way_to_what_came_then_if_it_was_known() -> None:
    moved = say(5, "place", "Berlin", ended=True, then="Hamburg")
    found = known([say(1, "place", "Berlin"), moved])
    assert [(fact.value, fact.sources) for fact in found.standing] == [("Hamburg", ("m5",))]
    assert len(found.rests["place"]) == 2
    assert [fact.value for fact in found.of("place")] == ["Berlin", "Hamburg"]
    assert values(known([say(1, "place", "Oslo"), moved])) == {"place": "Oslo"}
    assert known([moved]).standing == ()


def test_a_plan_is_moved_done_or_off_in_fewer_words() -> None:
    told = [
        plan(1, "dentist appointment", 9),
        plan(1, "meeting with lars at 3 pm", 9),
        plan(1, "renew my passport", 40),
    ]
    moved = known([*told, plan(2, "appointment", 12, ended=True, then="appointment")])
    (appointment,) = [fact for fact in moved.standing if "appointment" in fact.key]
    assert (appointment.value, appointment.valid_to) == ("dentist appointment", START + timedelta(days=12))
    assert appointment.sources == ("m2",)
    assert "todo:meeting with lars at 3 pm" not in values(known([*told, plan(2, "meeting with lars", ended=True)]))
    assert "todo:renew my passport" not in values(known([*told, plan(2, "renew passport", ended=True)]))


def test_a_plan_that_may_be_one_of_two_stays() -> None:
    told = [plan(1, "meeting with lars", 9), plan(1, "meeting with ada", 10), plan(1, "exam", 2)]
    assert len(known([*told, plan(2, "meeting", ended=True)]).standing) == 3
    assert len(known([*told, plan(2, "meeting", 10, ended=True)]).standing) == 2
    assert len(known([*told, plan(3, "big exam", ended=True)]).standing) == 3


@given(statements)
def test_what_is_known_rests_on_all_that_it_cites(said: list[Statement]) -> None:
    found, sources = known(said), {one.id: one.sources for one in said}
    for fact in found.standing:
        assert {source for id in found.rests[fact.key] for source in sources[id]} >= set(fact.sources)


some_words = st.sets(st.sampled_from(["rome", "report", "flight", "12", "ann", "draft"]), min_size=1).map(sorted)


@given(st.lists(some_words, max_size=8, unique_by=tuple), some_words)
def test_an_end_in_fewer_words_is_that_of_the_only_plan_which_has_them_all(
    plans: list[list[str]], end: list[str]
) -> None:
    named = [" ".join(words) for words in plans]
    fits = [name for words, name in zip(plans, named, strict=True) if set(end) <= set(words)]
    said = " ".join(end)
    done = [said] if said in named else fits if len(fits) == 1 else []
    found = known([*(plan(day, name) for day, name in enumerate(named)), plan(9, said, ended=True)])
    assert [fact.value for fact in found.standing] == [name for name in named if name not in done]


def test_a_plan_is_found_by_its_words_among_hundreds() -> None:
    said = [plan(0, f"write report {n} of the team") for n in range(300)]
    said += [plan(1, f"report {n}", ended=True) for n in range(300)]
    with patch("recollect.flow.facts.known._words", Mock(wraps=_words)) as looked_at:
        found = known(said)
    assert looked_at.call_count <= 1_000
    assert (len(found.standing), len(found.past)) == (0, 300)


class Name(str):
    """A name that counts how often it is compared."""

    compared = 0
    __slots__ = ()

    def casefold(self) -> str:
        Name.compared += 1
        return super().casefold()


def test_someone_is_found_by_name_among_hundreds() -> None:
    said = [say(0, f"friend:f{n}", Name(f"F{n}")) for n in range(300)]
    said += [say(1, f"called:f{n}:place", "Oslo") for n in range(300)]
    said += [say(2, f"called:f{n}", Name(f"F{n}"), ended=True) for n in range(150)]
    Name.compared = 0
    found = known(said)
    assert Name.compared <= 3_000
    assert (len(found.standing), len(found.past)) == (300, 300)


@given(statements, st.randoms(use_true_random=False))
def test_what_is_known_bit_by_bit_is_what_follows_from_all_at_once(said: list[Statement], random: Random) -> None:
    knowing, rest, found = Knowing(), sorted(said, key=order_of), Known()
    while rest:
        number = random.randint(1, 3)
        found, rest = knowing.with_more(rest[:number]), rest[number:]
    assert found == known(said)
