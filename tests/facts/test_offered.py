"""The facts that a question gets, in their order."""

from __future__ import annotations

from recollect.layers.semantic import Semantic
from recollect.store import Store
from tests.facts.told import ADA, TRIP, day, lines, say


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


def test_all_that_is_asked_for_is_offered_however_many_a_section_has(store: Store) -> None:
    layer = Semantic(store, most=3)
    for n in range(110):
        say(store, f"I love number{n} and I have a dog named Rex{n}.", n)
    layer.catch_up(TRIP)
    kept = [one.section for one in layer.offer(ADA, "What do you know about me?", day(300)) if not one.out]
    assert (kept.count("profile"), kept.count("facts")) == (100, 100)
    dogs = [one.text for one in layer.offer(ADA, "Which dogs do I have?", day(300)) if not one.out]
    assert sum(text.startswith("dog") for text in dogs) == 100
    assert sum(text.startswith("likes") for text in dogs) == 3


def test_an_earlier_moment_is_told_as_it_was(store: Store, layer: Semantic) -> None:
    say(store, "I live in Paris.", 0)
    then = store.log.read(TRIP)[-1].position
    before = layer.catch_up(TRIP), layer.offer(ADA, "home", day(9))
    say(store, "I moved to Rome.", 1)
    layer.catch_up(TRIP)
    assert layer.offer(ADA, "home", day(9), until=then) == before[1]
    assert lines(layer.offer(ADA, "home", day(9))) == ["place: Rome (said 13 May 2025)"]


def test_a_plan_with_an_hour_is_told_as_any_other(store: Store, layer: Semantic) -> None:
    say(store, "My flight to Oslo is on Friday at 9:25.", 0)
    layer.catch_up(TRIP)
    told = "to do: flight to Oslo at 9:25 by 16 May 2025 (said 12 May 2025)"
    assert lines(layer.offer(ADA, "", day(1))) == [told]


def test_what_is_asked_for_by_its_kind_is_told_however_much_is_known(store: Store, layer: Semantic) -> None:
    say(store, "I'm a nurse at Lakeside. I live in Rome.")
    for n, name in enumerate(
        ("Ida", "Kim", "Bo", "Max", "Eva", "Tom", "Lea", "Ben", "Zoe", "Leo", "Mia", "Sam", "Joe")
    ):
        say(store, f"I met my cousin {name}.", 1 + n)
    layer.catch_up(TRIP)

    def told(question: str) -> list[str]:
        return [one.text.partition(" (")[0] for one in layer.offer(ADA, question, day(20)) if not one.out]

    assert {"role: nurse", "company: Lakeside"} <= set(told("What do I do for a living?")[:3])
    assert told("Which city am I in?")[0] == "place: Rome"
    assert {"role: nurse", "company: Lakeside", "place: Rome"} <= set(told("What do you know about me?"))
