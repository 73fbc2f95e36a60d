"""What changes in a life: a new job is a plan until its day, a car is sold, an allergy comes on top of another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.facts import amended, extract
from recollect.flow.facts.corrections import meant
from recollect.layers.semantic import Semantic
from recollect.store import Store
from recollect.store import open as open_store
from tests.facts.scores import SAID, labels
from tests.facts.told import ADA, TRIP, day, lines, say, values

FIRMS = st.sampled_from(["Kelpie", "Northwind Labs", "Johnson & Johnson", "the BBC"])
HIRED = st.sampled_from(
    [
        "I got the job at {}",
        "I accepted an offer from {}",
        "I've taken a position at {}",
        "I signed the offer letter from {}",
        "I signed with {} as a nurse",
        "I'm joining {} as a nurse",
    ]
)


@given(HIRED, FIRMS)
def test_who_has_a_new_job_works_there(words: str, firm: str) -> None:
    said = extract(f"{words.format(firm)}.", SAID)
    assert {one.value for one in said if one.key == "company"} == {firm.removeprefix("the ")}


@given(HIRED, FIRMS, st.sampled_from([", but I turned it down", ", but I changed my mind", ", but it fell through"]))
def test_a_job_that_fell_through_is_none(words: str, firm: str, but: str) -> None:
    assert not [one for one in extract(f"{words.format(firm)}{but}.", SAID) if one.key == "company"]


@given(HIRED, FIRMS)
def test_a_job_that_begins_on_a_day_ahead_is_a_plan_until_then(words: str, firm: str) -> None:
    said = labels(extract(f"{words.format(firm)}, and I start on 2 June.", SAID))
    assert not [one for one in said if one[1] == "company"]
    assert "2025-06-02" in {one[-1] for one in said}


@pytest.mark.parametrize("ahead", ["I start at Kelpie on 2 June.", "I'm joining Kelpie on 2 June as a nurse."])
def test_the_old_company_stands_until_a_new_one_is_told(store: Store, ahead: str) -> None:
    say(store, "I work at Acme.", 0)
    say(store, ahead, 1)
    facts = Semantic(store)
    facts.catch_up(TRIP)
    known = facts.facts(ADA)
    assert values(known)["company"] == "Acme"
    assert [fact.type for fact in known if "Kelpie" in fact.value] == ["action_item"]
    say(store, "I left Acme to join Kelpie.", 25)
    facts.catch_up(TRIP)
    assert values(facts.facts(ADA))["company"] == "Kelpie"


def test_an_allergy_of_someone_comes_on_top_of_what_was_known(store: Store) -> None:
    first = say(store, "My son Unai is allergic to walnuts.", 0)
    more = say(store, "Unai's allergy is to pistachios too.", 1)
    say(store, "Unai is allergic to Walnuts.", 2)
    facts = Semantic(store)
    facts.catch_up(TRIP)
    (known,) = facts.history(ADA, "son:unai:allergy")
    assert known.value.lower() == "walnuts, pistachios"
    assert known.sources[:2] == (first, more)
    facts.remember(ADA, "user_profile", "son:unai:allergy", "eggs", day(3))
    assert values(facts.facts(ADA))["son:unai:allergy"] == "eggs"


def test_an_allergy_that_is_put_right_takes_the_place_of_the_wrong_one() -> None:
    right = meant("I meant Hazelnuts, not Walnuts")
    assert right
    said = amended("My son Unai is allergic to Walnuts.", "I meant Hazelnuts, not Walnuts", right, SAID)
    assert [(one.key, one.value, one.ended) for one in said] == [
        ("son:unai:allergy", "Walnuts", True),
        ("son:unai:allergy", "Hazelnuts", False),
    ]


def test_a_car_that_was_named_right_before_is_sold(store: Store) -> None:
    say(store, "We bought a used Kia Niro. I also drive a Skoda.", 0)
    say(store, "My Skoda kept breaking down, so I sold it.", 1)
    facts = Semantic(store)
    facts.catch_up(TRIP)
    assert values(facts.facts(ADA)) == {"drives:kia niro": "Kia Niro"}


def test_another_dentist_takes_the_place_of_the_one_before(store: Store) -> None:
    say(store, "My dentist is Dr. Ahn. My dentist works at Lakeside.", 0)
    say(store, "My dentist is Dr. Lee.", 1)
    facts = Semantic(store)
    facts.catch_up(TRIP)
    assert values(facts.facts(ADA)) == {"dentist": "Dr. Lee"}


@given(
    st.sampled_from(["My brother Tom", "Tom"]),
    st.sampled_from(
        ["quit {}", "left {} last month", "no longer works at {}", "lost his job", "was laid off", "retired in May"]
    ),
    FIRMS.filter(lambda firm: firm[0].isupper()),
)
def test_what_others_did_ends_with_their_job(who: str, over: str, firm: str) -> None:
    with open_store(":memory:") as store:
        facts = Semantic(store)
        say(store, f"My brother Tom works at {firm}.", 0)
        say(store, f"{who} {over.format(firm)}.", 1)
        facts.catch_up(TRIP)
        assert values(facts.facts(ADA)) == {"brother:tom": "Tom"}


@pytest.mark.parametrize(
    "said",
    [
        "My brother Tom left Oslo.",
        "My brother Tom quit smoking.",
        "Tom left Eva a message.",
        "My brother Tom got fired up.",
        "My sister lost her job.",
    ],
)
def test_what_only_sounds_like_leaving_a_job_leaves_it(store: Store, said: str) -> None:
    say(store, "My brother Tom works at Kelpie.", 0)
    say(store, said, 1)
    facts = Semantic(store)
    facts.catch_up(TRIP)
    assert values(facts.facts(ADA))["brother:tom:company"] == "Kelpie"


@pytest.mark.parametrize(
    ("known", "said", "left"),
    [
        ("My manager is Helen.", "My manager Helen left the company.", {}),
        ("My boss is Tim.", "My boss got fired yesterday.", {}),
        ("My colleague Sam is 30.", "My colleague Sam quit.", {}),
        ("My flatmate is Jo.", "My flatmate Jo moved out last week.", {}),
        ("My flatmate is Jo.", "My roommate has moved out.", {}),
        ("My flatmate is Jo.", "My flatmate moved out years ago.", {"roommate:jo": "Jo"}),
        ("My flatmates are Jo and Ida.", "My flatmate moved out.", {"roommate:jo": "Jo", "roommate:ida": "Ida"}),
        ("My boss is Tim.", "My boss quit smoking.", {"boss": "Tim"}),
        ("My manager is Helen.", "My manager Helen left the office early.", {"manager": "Helen"}),
        ("I work at Acme.", "I've handed in my notice at Acme.", {}),
        ("I work at Acme. My boss is Tim. My boss lives in Oslo.", "I left Acme last month.", {}),
        ("My manager is Helen.", "I quit my job.", {}),
        ("I work at Acme. My boss is Tim.", "I left Kelpie last year.", {"company": "Acme", "boss": "Tim"}),
        ("I work at Acme.", "I retired in June.", {"role": "retired"}),
        ("I work at Acme.", "I'm retired now.", {"role": "retired"}),
        ("I work at Acme.", "I retired to my room.", {"company": "Acme"}),
        ("I work at Acme.", "I retired in 2019, but I'm back at it again.", {"company": "Acme"}),
        ("I'm vegetarian.", "I've gone back to eating meat.", {}),
        ("I'm vegetarian.", "I'm back to eating no meat.", {"diet": "vegetarian"}),
        ("I live in Oslo.", "We moved into our new house in Bergen.", {"place": "Bergen"}),
        ("I live in Oslo.", "I moved into a flat in Bergen for a month.", {"place": "Oslo"}),
    ],
)
def test_who_is_gone_and_what_is_over_is_no_longer_known(
    store: Store, known: str, said: str, left: dict[str, str]
) -> None:
    say(store, known, 0)
    say(store, said, 1)
    facts = Semantic(store)
    facts.catch_up(TRIP)
    assert values(facts.facts(ADA)) == left


@given(
    st.sampled_from(["never commit directly to main", "never push to main without asking me", "always use type hints"]),
    st.sampled_from(["always run the tests before you commit", "always open a PR against develop"]),
)
def test_rules_for_work_on_code_are_known_each(one: str, other: str) -> None:
    text = f"Great. {one.capitalize()}, {other}."
    assert [found.value for found in extract(text, SAID) if found.key.startswith("asked:")] == [one, other]


@pytest.mark.parametrize(
    "text",
    ["Always use Main Street.", "Never use my main account.", "Run the tests.", "Never push your luck.", "Open a PR."],
)
def test_what_is_asked_for_once_or_not_of_code_is_no_rule(text: str) -> None:
    assert extract(text, SAID) == []


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("We adopted a puppy, a beagle named Waffle.", "dog:waffle", "Waffle"),
        (
            "We bought a used Toyota Yaris hybrid yesterday, bright red",
            "drives:toyota yaris hybrid",
            "Toyota Yaris hybrid",
        ),
        ("I bought a new car, a Kia EV6.", "drives:kia ev6", "Kia EV6"),
        ("We bought a second-hand Kia Niro last week.", "drives:kia niro", "Kia Niro"),
        ("Repo is payments-api, python 3.12, we use pytest and ruff.", "uses:ruff", "ruff"),
    ],
)
def test_what_came_new_is_known(text: str, key: str, value: str) -> None:
    assert (key, value) in {(one.key, one.value) for one in extract(text, SAID)}


FIRST = st.sampled_from(
    ["First day at {}!", "Today was my first day at {}.", "first week at {} done", "First day at {} today"]
)


@given(FIRST, st.sampled_from(["Kelpie", "Mott MacDonald", "Northwind Labs"]))
def test_who_has_the_first_day_at_a_firm_works_there(words: str, firm: str) -> None:
    assert [(one.key, one.value) for one in extract(words.format(firm), SAID)] == [("company", firm)]
    for ahead in (f"First day at {firm} tomorrow!", f"My first day at {firm} is next Monday."):
        assert [one.type for one in extract(ahead, SAID)] == ["action_item"]


@pytest.mark.parametrize(
    "text", ["First day at Lakeside School!", "First day at the gym was brutal", "His first day at Kelpie is Monday"]
)
def test_a_first_day_elsewhere_is_no_job(text: str) -> None:
    assert extract(text, SAID) == []


@pytest.mark.parametrize(
    ("plan", "done", "left"),
    [
        ("We're moving to Utrecht in August.", "Moved to Utrecht last weekend!", {"place": "Utrecht"}),
        ("First day at Kelpie on Friday!", "First day at Kelpie!", {"company": "Kelpie"}),
        ("My last day at Kelpie is 30 May.", "Today was my last day at Kelpie.", {}),
        (
            "I have to call Kelpie on Friday.",
            "First day at Kelpie!",
            {"company": "Kelpie", "todo:call kelpie": "call Kelpie"},
        ),
    ],
)
def test_a_plan_that_is_carried_out_is_over(store: Store, plan: str, done: str, left: dict[str, str]) -> None:
    say(store, plan, 0)
    say(store, done, 1)
    facts = Semantic(store)
    facts.catch_up(TRIP)
    assert values(facts.facts(ADA, as_of=day(2))) == left


@pytest.mark.parametrize("denied", ["I don't live in Berlin.", "That's wrong, I don't live in Berlin"])
def test_a_denial_ends_what_it_denies_and_nothing_else(store: Store, denied: str) -> None:
    say(store, "I live in Berlin.", 0)
    say(store, denied, 1)
    facts = Semantic(store)
    facts.catch_up(TRIP)
    assert facts.facts(ADA) == []
    say(store, "I live in Bonn.", 2)
    say(store, denied, 3)
    facts.catch_up(TRIP)
    assert values(facts.facts(ADA)) == {"place": "Bonn"}


def test_a_word_in_small_letters_is_put_right(store: Store) -> None:
    say(store, "my name is tom", 0)
    say(store, "I meant Tim", 0)
    facts = Semantic(store)
    facts.catch_up(TRIP)
    assert values(facts.facts(ADA)) == {"name": "Tim"}


@given(
    st.sampled_from(["Last year ", "In 2019 ", "Two weeks ago ", "Since January ", "After my exams ", "Yesterday, "])
)
def test_when_it_began_may_stand_first(when: str) -> None:
    assert labels(extract(f"{when}I moved to Leeds.", SAID)) == {("user_profile", "place", "Leeds")}
    assert extract(f"{when}I worked at Kelpie.", SAID) == []


@pytest.mark.parametrize(
    "before", ["I should mention that ", "Keep in mind ", "As I said, ", "I told you ", "you keep forgetting that "]
)
def test_words_that_stress_a_fact_cast_no_doubt_on_it(before: str) -> None:
    assert labels(extract(f"{before}I live in Oslo.", SAID)) == {("user_profile", "place", "Oslo")}
    assert extract(f"{before}she lives in Oslo.", SAID) == []


def test_who_moves_between_what_is_not_known_to_be_a_place_may_have_changed_jobs() -> None:
    (left,) = extract("I moved from Kestrel to Northwind.", SAID)
    assert (left.key, left.value, left.ended) == ("place", "Kestrel", True)


@pytest.mark.parametrize(
    "text",
    [
        "My wife left me at the airport.",
        "My husband left me with the kids this weekend.",
        "We broke up several meetings.",
        "My dad retired to bed.",
        "I'm vegan on Mondays.",
        "I originally started at Google in 2010.",
        "I'm usually the designated driver.",
        "I moved to Lisbon for about three months.",
        "I'm a lawyer by education.",
    ],
)
def test_what_is_passing_or_past_changes_nothing(text: str) -> None:
    assert extract(text, SAID) == []


@pytest.mark.parametrize("end", ["Rex died on Sunday.", "My dog died on Sunday.", "We had to put Rex down."])
def test_a_pet_that_was_named_before_is_told_no_longer_once_it_died(store: Store, layer: Semantic, end: str) -> None:
    said = "I live in Rome with my dog Rex."
    say(store, said, 0)
    say(store, end, 9)
    layer.catch_up(TRIP)
    assert values(layer.facts(ADA)) == {"place": "Rome"}
    assert "dog:rex" in values(layer.facts(ADA, as_of=day(5)))
    assert lines(layer.offer(ADA, "How is my dog?", day(10))) == ["place: Rome (said 12 May 2025)"]


@pytest.mark.parametrize("end", ["My husband and I divorced.", "I'm divorced.", "I saw my ex-husband Tom."])
def test_who_is_divorced_has_no_husband(store: Store, layer: Semantic, end: str) -> None:
    say(store, "My husband Tom lives in Rome.", 0)
    say(store, end, 9)
    layer.catch_up(TRIP)
    assert layer.facts(ADA) == []


def test_what_is_preferred_to_something_takes_its_place(store: Store, layer: Semantic) -> None:
    for n, text in enumerate(["I prefer tea.", "I prefer coffee over tea now."]):
        say(store, text, n)
    layer.catch_up(TRIP)
    assert values(layer.facts(ADA)) == {"prefers:coffee": "coffee"}


def test_a_diet_and_what_is_not_eaten_stand_side_by_side(store: Store, layer: Semantic) -> None:
    for n, text in enumerate(["I'm vegan.", "I'm lactose intolerant.", "I don't eat sugar."]):
        say(store, text, n)
    layer.catch_up(TRIP)
    assert values(layer.facts(ADA)) == {"diet": "vegan", "avoids:lactose": "lactose", "avoids:sugar": "sugar"}


@pytest.mark.parametrize(
    ("first", "then", "left"),
    [
        ("I live in Boston.", "actually scratch that i moved to Denver in march", {"place": "Denver"}),
        ("I work at Nokia.", "Update: I left Nokia, I'm at Ericsson now", {"company": "Ericsson"}),
        ("I'm 29", "oh it was my birthday yesterday, im 30 now", {"age": "30"}),
        ("I'm 44", "turned 45 last week actually", {"age": "45"}),
        ("My girlfriend Anna loves cats", "Anna and I broke up last week :(", {}),
        ("My boss is called Jan", "I have a new boss, her name is Petra", {"boss": "Petra"}),
        ("i dont eat gluten", "turns out i can eat gluten, the test was negative", {}),
        ("I have an exam on Monday", "sorry wrong day, the exam is on Wednesday", {"todo:exam": "exam"}),
        ("We fly to Rome on Friday", "the flight was moved to Sunday", {"todo:fly to rome": "fly to Rome"}),
        ("My car is a Volvo. Actually I sold it, I drive a Skoda now.", "ok", {"drives:skoda": "Skoda"}),
        ("I drive a Volvo", "I now drive a Skoda", {"drives:skoda": "Skoda"}),
        ("I drive a Volvo. I drive a Kia.", "We sold our car", {"drives:volvo": "Volvo", "drives:kia": "Kia"}),
        ("I drive a Volvo", "We bought a Kia. I sold it.", {"drives:volvo": "Volvo"}),
        ("I drive a Volvo", "We sold our car last week", {}),
        ("I love coffee", "I don't drink coffee anymore", {"avoids:coffee": "coffee"}),
        ("We have a dog called Bo", "We gave Bo away", {}),
        ("My daughter is called Bo", "We gave Bo away.", {"daughter:bo": "Bo"}),
        ("I use Slack", "we dropped Slack for Teams", {"uses:teams": "Teams"}),
        ("My dog is Rex.", "btw, Rex is 7 and Anna is 8", {"dog:rex": "Rex", "dog:rex:age": "7"}),
        (
            "My dogs are Rex and Bo",
            "Anna lives in Oslo. Bo is 3.",
            {"dog:rex": "Rex", "dog:bo": "Bo", "dog:bo:age": "3"},
        ),
        (
            "My son Bo is 8",
            "My cat is called Bo. Bo is 2.",
            {"son:bo": "Bo", "son:bo:age": "8", "cat:bo": "Bo"},
        ),
    ],
)
def test_what_is_corrected_in_passing_is_known(
    store: Store, layer: Semantic, first: str, then: str, left: dict[str, str]
) -> None:
    say(store, first, 0)
    say(store, then, 1)
    layer.catch_up(TRIP)
    assert values(layer.facts(ADA, as_of=day(1))) == left


@pytest.mark.parametrize("school", ["TU Munich", "Leeds University", "Brightwater Primary School"])
@pytest.mark.parametrize("who", ["I", "My daughter"])
def test_who_started_at_a_school_may_not_work_there(who: str, school: str) -> None:
    assert extract(f"{who} just started at {school}.", SAID) == []
    works = "work" if who == "I" else "works"
    assert [one.value for one in extract(f"{who} {works} at {school}.", SAID)] == [school]


@pytest.mark.parametrize("since", ["after college", "straight out of university", "right after school"])
@pytest.mark.parametrize(("who", "key"), [("I", "company"), ("My daughter", "daughter:company")])
def test_who_started_at_a_firm_after_school_works_there(who: str, key: str, since: str) -> None:
    assert [(one.key, one.value) for one in extract(f"{who} started at Google {since}.", SAID)] == [(key, "Google")]


FOODS = st.sampled_from(["dairy", "red meat", "seafood", "coffee"])


@given(
    FOODS,
    st.sampled_from(
        ["I've gone off {}.", "i went off {} after my holiday", "I'm so over {}!", "I've lost interest in {}."]
    ),
)
def test_who_has_gone_off_something_no_longer_likes_it(food: str, words: str) -> None:
    (said,) = extract(words.format(food), SAID)
    assert (said.key, said.value, said.ended) == (f"likes:{food}", food, True)
    assert extract(f"My sister says: {words.format(food)}", SAID) == []


@given(
    FOODS, st.sampled_from(["I don't do {}.", "i dont really do {} any more", "I do not do {} because it makes me ill"])
)
def test_what_someone_does_not_do_is_not_eaten(food: str, words: str) -> None:
    (said,) = extract(words.format(food), SAID)
    assert (said.key, said.value, said.ended) == (f"avoids:{food}", food, False)
    assert extract(words.format("mornings"), SAID) == []


@given(st.sampled_from(["vegetarian", "vegan"]), st.sampled_from(["except for", "apart from", "except"]), FOODS)
def test_a_diet_has_its_exception(diet: str, but: str, food: str) -> None:
    (said,) = extract(f"I'm a {diet} {but} {food}, so no steak.", SAID)
    assert (said.key, said.value) == ("diet", f"{diet} {but} {food}")
    assert [one.value for one in extract(f"I'm {diet} {but} the cake I had.", SAID)] == [diet]
