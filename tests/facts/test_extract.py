"""What a user says of himself is found; what only looks like it is not."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.answers import FACT_TYPES
from recollect.flow.facts import Found, extract
from recollect.flow.facts.voice import MAX_TEXT

from .scores import SAID, SETS, Utterance, labels, rows, score, score_dialogues, utterances

ROOT = Path(__file__).parents[2]
ALL = [utterance for path in SETS.values() for utterance in utterances(path)]
TOLD = [one for one in ALL if one.facts and "\n" not in one.text]
anything = st.text(st.characters(exclude_categories=()), max_size=300)


def one(text: str, at: datetime = SAID) -> Found:
    (found,) = extract(text, at)
    return found


@pytest.mark.parametrize("name", SETS)
def test_of_what_is_found_at_least_95_in_100_are_right(name: str) -> None:
    total = score(SETS[name])
    assert total.precision() >= 0.95, total.mistakes
    assert total.recall() >= (0.75 if name == "as typed" else 0.90), total.mistakes


def test_the_sets_are_large_and_hard() -> None:
    assert len(ALL) >= 260
    for path in SETS.values():
        said = utterances(path)
        assert sum(not utterance.facts for utterance in said) >= 0.45 * len(said)
    texts = [utterance.text for utterance in ALL]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("name", [*SETS, "in dialogues"])
def test_the_page_shows_the_figures_as_they_are(name: str) -> None:
    table = (ROOT / "docs" / "facts.md").read_text("utf-8").partition(f"\n{name}: ")[2]
    total = score(SETS[name]) if name in SETS else score_dialogues()
    shown = [tuple(cell.strip() for cell in line.strip("| ").split("|")) for line in table.splitlines()[2:10]]
    assert [shown[0], *shown[2:]] == [tuple(cell for cell in row if cell) for row in rows(total)]


@given(st.sampled_from(TOLD))
def test_words_of_others_say_nothing_of_the_user(said: Utterance) -> None:
    text = said.text.replace('"', "")
    for quoted in (f'"{text}"', f"“{text}”", f"> {text}", f"```\n{text}\n```", f"`{text}`", f"    {text}"):
        assert extract(quoted, SAID) == []


@given(st.sampled_from(TOLD))
def test_what_is_pasted_or_pretended_says_nothing_of_the_user(said: Utterance) -> None:
    for start in ("Translate this text: ", "Please proofread the following email:\n\n", "Pretend that ", "Imagine: "):
        assert extract(start + said.text, SAID) == []
    assert extract(f"From: bob@example.com\nSubject: hello\n\n{said.text}", SAID) == []


@given(st.sampled_from(TOLD), st.sampled_from(["Good point. ", "It rains a lot here.\n", "What a day! "]))
def test_a_fact_is_found_wherever_it_stands_and_its_span_moves_along(said: Utterance, before: str) -> None:
    alone, later = extract(said.text, SAID), extract(f"{before}{said.text}\nThat is all.", SAID)
    assert labels(later) == labels(alone)
    spans = {(found.key, found.span[0] + len(before)) for found in alone}
    assert {(found.key, found.span[0]) for found in later} == spans


@given(anything, st.datetimes(timezones=st.just(UTC)))
def test_any_text_is_read_without_fail(text: str, at: datetime) -> None:
    for found in extract(text, at):
        assert 0 <= found.span[0] < found.span[1] <= len(text)
        assert found.type in FACT_TYPES
        assert 0 < found.confidence <= 1
        assert found.key.strip() and len(found.key) <= 1_000
        assert found.value.strip() or found.ended


@given(anything, st.sampled_from(TOLD), anything)
def test_facts_among_any_text_can_be_kept(before: str, said: Utterance, after: str) -> None:
    for found in extract(f"{before} {said.text} {after}", SAID):
        (found.key + found.value).encode()
        assert "\x00" not in found.key + found.value


def test_the_span_holds_the_words() -> None:
    for said, found in [(one, found) for one in TOLD for found in extract(one.text, SAID)]:
        words = said.text[slice(*found.span)]
        assert words == words.strip(), said
        in_words = found.key.endswith("age") and not re.search(r"\d", words)
        in_words |= found.value == "alcohol"  # "I don't drink" leaves it out
        if found.type in ("interest", "user_profile") and "birthday" not in found.key and not in_words:
            assert found.value.casefold() in words.casefold(), said


def test_days_count_from_when_it_was_said() -> None:
    said = datetime(2024, 2, 28, 23, tzinfo=timezone(timedelta(hours=-5)))
    found = one("Remind me to pay the rent tomorrow.", said)
    assert found.valid_to == datetime(2024, 3, 1, tzinfo=said.tzinfo)


def test_a_move_began_when_it_is_said_to_have_begun() -> None:
    found = one("I moved to Lisbon in March.")
    assert (found.value, found.valid_from) == ("Lisbon", datetime(2025, 3, 1, tzinfo=UTC))
    assert one("I live in Lisbon.").valid_from is None


def test_of_two_values_in_one_message_the_later_stands() -> None:
    assert [found.value for found in extract("I live in Bonn. Sorry, I live in Köln.", SAID)] == ["Köln"]


def test_switching_ends_the_one_and_begins_the_other() -> None:
    assert labels(extract("I switched from Vim to Emacs.", SAID)) == {
        ("preference", "uses:vim", "ended Vim"),
        ("preference", "uses:emacs", "Emacs"),
    }


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("We moved from Berlin to Hamburg last week.", "place", "Berlin"),
        ("I don't work as a data engineer any more, I lead a team now.", "role", "data engineer"),
        ("I no longer work as a nurse.", "role", "nurse"),
        ("I'm not allergic to peanuts any more.", "allergy:peanuts", "peanuts"),
        ("My sister no longer lives in Oslo.", "sister:place", "Oslo"),
        ("My sister doesn't live in Oslo any more.", "sister:place", "Oslo"),
    ],
)
def test_what_no_longer_holds_is_ended(text: str, key: str, value: str) -> None:
    ended = one(text)
    assert (ended.key, ended.value, ended.ended) == (key, value, True)


@pytest.mark.parametrize("tool", ["Azure", "Kubernetes", "Slack", "GitLab"])
def test_who_moves_to_a_tool_lives_where_he_lived(tool: str) -> None:
    assert extract(f"We moved to {tool} last year.", SAID) == []


@pytest.mark.parametrize("text", ["I moved from Oslo to Bergen.", "I've just relocated from Oslo to Bergen for work."])
def test_a_move_ends_the_old_place_and_tells_the_new_one(text: str) -> None:
    assert [(one.value, one.ended) for one in extract(text, SAID)] == [("Oslo", True), ("Bergen", False)]


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("I used to live in Oslo, but now I live in Bergen.", "place", "Bergen"),
        ("I used to work at Acme but I work at Globex now.", "company", "Globex"),
        ("I used to be a nurse, now I'm a teacher.", "role", "teacher"),
    ],
)
def test_what_used_to_be_does_not_hide_what_is(text: str, key: str, value: str) -> None:
    assert (one(text).key, one(text).value) == (key, value)


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("I've been feeling low since my husband Jonas and I separated in November.", "husband"),
        ("My wife and I got divorced.", "wife"),
        ("I broke up with my girlfriend Mia.", "girlfriend"),
        ("My boyfriend Leo left me last week.", "boyfriend"),
        ("My dog Rex died yesterday.", "dog:rex"),
        ("My mother passed away in 2019.", "mother"),
    ],
)
def test_who_died_or_parted_is_told_no_longer(text: str, who: str) -> None:
    found = extract(text, SAID)
    assert who in {one.key for one in found}
    assert all(one.ended and not one.value for one in found)


@pytest.mark.parametrize(
    "much",
    [
        "very much", "quite a bit", "the most", "the best", "a lot", "right now", "these days", "at the moment",
        "more than anything", "better than pop", "above all", "in general",
    ],
)  # fmt: skip
def test_how_much_and_when_something_is_liked_is_no_part_of_it(much: str) -> None:
    assert one(f"I love jazz {much}.").value == "jazz"
    assert {liked.value for liked in extract(f"I'm into chess and jazz {much}.", SAID)} == {"chess", "jazz"}


def test_what_is_not_liked_or_eaten_at_all_is_told_without_that() -> None:
    assert one("I don't like tomatoes at all.").value == "tomatoes"
    assert one("I do not eat pork at all.").value == "pork"


@pytest.mark.parametrize(
    "text", ["My wife left me a note.", "My wife and I separated the laundry.", "My dad nearly died laughing."]
)
def test_what_only_sounds_like_a_loss_ends_nothing(text: str) -> None:
    assert extract(text, SAID) == []


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("We're flying to Lisbon next Friday, no wait, Saturday.", ("fly to Lisbon", "2025-05-17")),
        ("I have a meeting on Monday, sorry, Tuesday.", ("meeting", "2025-05-20")),
        ("I live in Bonn, I mean Cologne.", ("Cologne",)),
        ("My name is Tim - or rather Tom.", ("Tom",)),
    ],
)
def test_what_a_sentence_takes_back_is_not_known_but_what_it_says_instead(text: str, known: tuple[str, ...]) -> None:
    assert [label[2:] for label in labels(extract(text, SAID))] == [known]


def test_what_a_sentence_says_in_its_place_is_known() -> None:
    assert one("I live in Bonn, no wait, I live in Cologne.").value == "Cologne"
    assert one("I live in Bonn, sorry, I should have told you that.").value == "Bonn"


def test_who_left_a_firm_some_time_ago_works_there_no_longer() -> None:
    for text in ("I quit Acme last month.", "I left Acme in March.", "I left Acme to join Globex."):
        assert ("user_profile", "company", "ended Acme") in labels(extract(text, SAID))
    assert extract("I left Acme last night at ten.", SAID) == []


def test_a_move_of_someone_tells_the_new_place_and_an_allergy_may_be_misspelt() -> None:
    assert extract("My sister Nadia moved from Oslo to Bergen.", SAID)[-1].value == "Bergen"
    assert one("I'm alergic to peanuts.").key == "allergy:peanuts"


def test_whom_one_mentions_is_known() -> None:
    assert one("I went skiing with my sister Nadia.").key == "sister:nadia"
    assert one("My manager is called Farida.").key == "manager"


@pytest.mark.parametrize("text", ["hi im anna everyone", "hi im sam help", "I love Stephen King's It"])
def test_whom_one_greets_is_no_surname_nor_half_a_title_something_to_love(text: str) -> None:
    assert extract(text, SAID) == []


def test_an_abbreviation_ends_no_sentence() -> None:
    assert one("I have an appointment with Dr. Smith on Friday at 3pm.").value == "appointment with Dr. Smith at 3pm"


def test_at_the_end_of_time_nothing_is_due() -> None:
    last = datetime.max.replace(tzinfo=UTC)
    assert extract("Remind me to call mum tomorrow. I feel sad.", last)[1].valid_to is None
    assert extract("I moved to Rome last month.", datetime.min.replace(tzinfo=UTC))[0].valid_from is None


NASTY = (
    "I ", "i like ", '"', "'", "a'", "my name is ", "I like a and i ", "a\n", "`", "{", "; ", " ", "\t", ".", "a.", ",",
    "I'm, ", "planning to a ", "dear ", "on ", "this a ", "write ", "\x00", "\ud800", "A ", "ok, ", "ok ", "please ",
    "x", "remind me in to ", "-", "İ", "what, ", "1", "I have a big ", "“", "~~~", "select ", "I live in A, ",
    "my sister ", "> ", "    a\n", "I quit. ", "A's ", "I work at A & ", "K. A ", "We have 2 kids: A is 8 and ",
)  # fmt: skip


@pytest.mark.processor(60)
@pytest.mark.parametrize("piece", NASTY, ids=repr)
def test_a_megabyte_of_anything_takes_no_time(piece: str) -> None:
    assert len(extract(piece * (1_000_000 // len(piece)), SAID)) <= 3


def test_what_is_beyond_what_a_person_types_is_not_read() -> None:
    typed = "Nothing to see. " * (MAX_TEXT // 16)
    assert one("I live in Oslo. " + typed * 50).value == "Oslo"
    assert extract(typed + "I live in Oslo.", SAID) == []


@pytest.mark.parametrize(
    "text",
    [
        "The dentist appointment moved to Monday.",
        "My dentist appointment has been rescheduled to next Monday.",
        "I moved my dentist appointment to 19 May.",
        "We had to postpone the dentist appointment until 2025-05-19.",
        "The dentist appointment on Friday was moved to Monday.",
        "The dentist moved my appointment to Monday.",
        "Our dentist has moved the dentist appointment to Monday.",
    ],
)
def test_a_plan_is_moved_to_another_day(text: str) -> None:
    moved = one(text)
    assert (moved.key, moved.ended, moved.then) == ("todo:dentist appointment", True, "dentist appointment")
    assert moved.valid_to == datetime(2025, 5, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("The meeting with Lars is cancelled.", "todo:meeting with lars"),
        ("I had to cancel my trip to Bergen because I'm ill.", "todo:trip to bergen"),
        ("Our wedding has been called off.", "todo:wedding"),
        ("I finished the report.", "todo:finish the report"),
        ("I've renewed my passport.", "todo:renew my passport"),
        ("My passport is renewed, finally.", "todo:renew passport"),
        ("I called my mother already.", "todo:call my mother"),
        ("I called the bank.", "todo:call the bank"),
        ("Never mind the call with the bank.", "todo:call with the bank"),
        ("No need to call the bank anymore.", "todo:call the bank"),
    ],
)
def test_a_plan_is_off_or_done(text: str, key: str) -> None:
    over = one(text)
    assert (over.key, over.ended, over.then) == (key, True, "")


@pytest.mark.parametrize(
    "text",
    [
        "The meeting was moved to Berlin.",
        "The race is off to a good start.",
        "I finished it.",
        "I called my mother.",
        "Is the meeting cancelled?",
        "The meeting might be cancelled.",
        "The meeting with Lars was not moved to Friday.",
    ],
)
def test_what_says_nothing_of_a_plan_ends_none(text: str) -> None:
    assert extract(text, SAID) == []


def test_a_plan_with_a_place_is_moved_to_a_day() -> None:
    moved = one("I moved my flight to Rome to 19 May.")
    assert (moved.key, moved.valid_to) == ("todo:flight to rome", datetime(2025, 5, 20, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("I live in St. Gallen.", "place", "St. Gallen"),
        ("My sister lives in St. Louis.", "sister:place", "St. Louis"),
        ("I moved to Ft. Lauderdale. I love it.", "place", "Ft. Lauderdale"),
        ("I work at St. Anna hospital in Graz.", "company", "St. Anna hospital"),
    ],
)
def test_a_name_goes_on_after_the_dot_of_a_saint(text: str, key: str, value: str) -> None:
    found = one(text)
    assert (found.key, found.value) == (key, value)


def test_a_plan_that_is_now_on_another_day_keeps_its_name() -> None:
    assert one("My flight to Rome is now on 22 October.").key == "todo:flight to rome"


def test_most_is_found_without_apostrophes() -> None:
    for said in (one for one in TOLD if "'" in one.text and not re.search(r"'(?:re|ll|s)\b", one.text)):
        bare = {(one.type, one.key.replace("'", "")) for one in extract(said.text, SAID)}
        assert {(one.type, one.key) for one in extract(said.text.replace("'", ""), SAID)} == bare, said


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("i live in new york and its loud", "place", "New York"),
        ("im from the uk", "hometown", "UK"),
        ("my name is tom", "name", "Tom"),
        ("my dog is called luna", "dog:luna", "Luna"),
    ],
)
def test_a_well_known_place_and_a_name_that_is_announced_need_no_capital(text: str, key: str, value: str) -> None:
    assert (one(text).key, one(text).value) == (key, value)


@pytest.mark.parametrize(
    "text",
    ["i live in chaos", "im from work", "i live in london fashion terms", "my name is misleading", "my name is on it"],
)
def test_what_is_no_name_without_a_capital_is_none(text: str) -> None:
    assert extract(text, SAID) == []


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("Big fan of Radiohead.", "likes:radiohead", "Radiohead"),
        ("Not a fan of horror tbh.", "dislikes:horror", "horror"),
        ("Moved to Cardiff in January.", "place", "Cardiff"),
        ("just started a new job at Spotify!", "company", "Spotify"),
        ("Retired teacher here, looking for a hobby", "role", "Retired teacher"),
    ],
)
def test_a_sentence_may_begin_without_its_subject(text: str, key: str, value: str) -> None:
    found = one(text)
    assert (found.key, found.value) == (key, value)
    assert text[slice(*found.span)].startswith(text[:5])


@pytest.mark.parametrize(
    "text",
    [
        "Obsessed with power, Macbeth kills the king.",
        "Moved to Rome in 1820, he died there.",
        "The teacher here, I think, is strict.",
        "My sister is away. Another nurse here, she says, is ill.",
    ],
)
def test_the_subject_that_was_left_out_is_not_another(text: str) -> None:
    assert extract(text, SAID) == []


@pytest.mark.parametrize(
    "text",
    [
        "Write a long story about a knight who always wins.",
        "Write a formal letter to someone who never answers.",
        "Write three short messages for my team.",
        "Give me 5 short answers to this interview question.",
        "Give me a detailed plan to stop smoking.",
        "I need short responses for my chatbot.",
        "Please write the responses in French for the Paris office.",
        "make the replies to customers more formal",
    ],
)
def test_what_is_asked_for_once_is_no_preference(text: str) -> None:
    assert extract(text, SAID) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("please keep it short, i dont like long answers", "short"),
        ("Your answers are too long.", "short"),
        ("Always use long answers, I don't mind reading.", "long"),
        ("answer me in one sentence from now on ok?", "one sentence"),
    ],
)
def test_how_long_answers_should_be(text: str, value: str) -> None:
    assert (one(text).key, one(text).value) == ("answer_length", value)


@pytest.mark.parametrize(
    "text", ["Hi, I'm Stuck.", "Hello, this is Urgent", "people call me Lazy", "Hey, I'm Desperate."]
)
def test_a_state_is_no_name(text: str) -> None:
    assert all(found.key != "name" for found in extract(text, SAID))


def test_a_title_is_part_of_a_name() -> None:
    assert one("My boss Mrs. Gray is back.").value == "Mrs. Gray"
    assert extract("Hi, I'm Dr. Ahmed Khan, a cardiologist at Lakeside.", SAID)[0].value == "Dr. Ahmed Khan"


def test_a_story_of_a_user_says_nothing_of_the_writer() -> None:
    assert extract("As a developer, I want to log in so that I can see my dashboard.", SAID) == []


@pytest.mark.parametrize("firm", ["Acme Corp", "Lakeside Hospital", "Globex GmbH"])
def test_who_is_from_a_firm_is_not_at_home_there(firm: str) -> None:
    assert extract(f"I'm from {firm}.", SAID) == []


@pytest.mark.parametrize(
    "text",
    [
        "I'm based in Oslo this week.",
        "I'm working at Lidl for the summer.",
        "My brother lives in Rome half of the year.",
        "I joined IBM in 1999 as an engineer and retired in 2010.",
        "I live in Rome, she told the judge.",
        "I like turtles, as the meme goes.",
        "I'm the doctor in this sketch.",
        "Anna: I live in Rome. I work at Acme.",
        "I watched My Cousin Vinny last night.",
        "I don't like Mondays is a song by the Boomtown Rats.",
        "I'm running late today.",
        "I have no meeting tomorrow.",
        "I'll call you tomorrow.",
        "My employer is Swedish.",
        "I've been vegan before.",
    ],
)
def test_what_is_not_for_good_or_not_ones_own_is_no_fact(text: str) -> None:
    assert extract(text, SAID) == []


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("I started at Visma this month.", "company", "Visma"),
        ("I moved to Denver for a new job.", "place", "Denver"),
        ("I'm forty-two.", "age", "42"),
        ("My dad is seventy.", "father:age", "70"),
        ("On Friday, I have to call the bank.", "todo:call the bank", "call the bank"),
        ("Next week we're flying to Rome.", "todo:fly to rome", "fly to Rome"),
        ("I prefer answers in plain English without jargon.", "answer_style", "simple"),
        ("I prefer short answers over long ones.", "answer_length", "short"),
    ],
)
def test_plain_english_is_understood(text: str, key: str, value: str) -> None:
    assert (one(text).key, one(text).value) == (key, value)


def test_a_day_that_stands_first_is_the_day_it_is_due() -> None:
    assert one("Tomorrow morning, we have a meeting with Lars.").valid_to == datetime(2025, 5, 16, tzinfo=UTC)
