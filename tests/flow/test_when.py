"""The periods a question names."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.ahead import ahead
from recollect.flow.days import WEEKDAYS, relative, written
from recollect.flow.when import periods, with_days

ASKED = date(2023, 10, 22)


def days(question: str, asked: date = ASKED) -> list[tuple[str, str]]:
    found = periods(question, asked)
    return [(date.fromordinal(first).isoformat(), date.fromordinal(last).isoformat()) for first, last in found]


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("What did I do on 3 June 2023?", "2023-06-03", "2023-06-03"),
        ("What did I do on June 3rd, 2022?", "2022-06-03", "2022-06-03"),
        ("Who came on the 5th of November?", "2022-11-05", "2022-11-05"),
        ("Who came on 2023-07-14?", "2023-07-14", "2023-07-14"),
        ("Where was I in May 2021?", "2021-05-01", "2021-05-31"),
        ("Where was I in mid2021?", "2021-01-01", "2021-12-31"),
        ("Where was I last May?", "2023-05-01", "2023-05-31"),
        ("Where was I in December?", "2022-12-01", "2022-12-31"),
        ("What did I buy two weeks ago?", "2023-10-05", "2023-10-11"),
        ("What did I buy in the last 3 days?", "2023-10-19", "2023-10-22"),
        ("What did I eat last Friday?", "2023-10-20", "2023-10-20"),
        ("What did I eat yesterday?", "2023-10-21", "2023-10-21"),
        ("What did we do last month?", "2023-09-07", "2023-10-15"),
        ("What did I buy two weeks before 9 November?", "2022-10-23", "2022-10-29"),
        ("What did I buy two weeks before November 3?", "2023-10-17", "2023-10-23"),
        ("Who called the day after the 5th of June 2023?", "2023-06-06", "2023-06-06"),
        ("Who called a month after 29 February?", "2020-03-20", "2020-04-09"),
        ("Where did I travel last year?", "2022-01-01", "2022-12-31"),
        ("Where did I travel in the past year?", "2022-10-22", "2023-10-22"),
        ("Where did I travel in 2021?", "2021-01-01", "2021-12-31"),
        ("What did I read in the summer of 2021?", "2021-01-01", "2021-12-31"),
        ("What have I spent this month?", "2023-10-01", "2023-10-22"),
        ("What have I spent this week?", "2023-10-16", "2023-10-22"),
        ("What have I spent this year?", "2023-01-01", "2023-10-22"),
        ("What have I read since March?", "2023-03-01", "2023-10-22"),
        ("What have I read since the 3rd of May?", "2023-05-03", "2023-10-22"),
        ("What have I read since 2021?", "2021-01-01", "2023-10-22"),
        ("How often did I run between March and May?", "2023-03-01", "2023-05-31"),
        ("How often did I run between March and May 2021?", "2021-03-01", "2021-05-31"),
        ("How often did I run from May to May?", "2022-05-01", "2023-05-31"),
        ("How often did I run from November to February?", "2022-11-01", "2023-02-28"),
        ("What did I buy in the past few months?", "2023-07-23", "2023-10-22"),
        ("What did I buy a couple weeks ago?", "2023-10-05", "2023-10-11"),
        ("What did we agree on on Tuesday?", "2023-10-17", "2023-10-17"),
        ("What did I say the day before yesterday?", "2023-10-20", "2023-10-20"),
        ("What did I say today?", "2023-10-22", "2023-10-22"),
        ("What did I say on 22 October?", "2023-10-22", "2023-10-22"),
        ("What did I buy two weeks before 5 November?", "2023-10-19", "2023-10-25"),
        ("What did I eat last night?", "2023-10-21", "2023-10-21"),
        ("Who came on 3/15?", "2023-03-15", "2023-03-15"),
        ("Who came a week after 3 May 2030?", "2030-05-07", "2030-05-13"),
        ("Who came by 12/31/2021?", "2021-12-31", "2021-12-31"),
        ("What did I get for Christmas?", "2022-12-25", "2022-12-25"),
        ("Who called two weeks before New Year\u2019s Eve?", "2022-12-14", "2022-12-20"),
        ("What have I read since Monday?", "2023-10-16", "2023-10-22"),
        ("Where was I in midMay?", "2023-05-01", "2023-05-31"),
        ("Where was I last October?", "2022-10-01", "2022-10-31"),
        ("Where was I this October?", "2023-10-01", "2023-10-31"),
        ("What have I read since last October?", "2022-10-01", "2023-10-22"),
        ("Who came on 29 February?", "2020-02-29", "2020-02-29"),
        ("What did I buy half a year ago?", "2023-03-09", "2023-06-07"),
        ("What did I cook in the past week?", "2023-10-12", "2023-10-22"),
        ("Whom did I meet over the last month?", "2023-09-07", "2023-10-22"),
        ("Where was I in the last week of May 2022?", "2022-05-01", "2022-05-31"),
        ("How was the past week of training?", "2023-10-12", "2023-10-22"),
    ],
)
def test_a_period_is_read(question: str, first: str, last: str) -> None:
    assert days(question) == [(first, last)]


@pytest.mark.parametrize(
    "question",
    [
        "",
        "May I ask?",
        "Who may march?",
        "Call me at 10:30",
        "31 February 2023",
        "12345 days ago?",
        "on 13/13?",
        "on 0/13?",
        "on 1/2/3",
        "24/7",
        "I have 2023 stamps",
        "Anything to watch tonight?",
        "What is on Tuesday?",
    ],
)
def test_what_is_no_period_is_none(question: str) -> None:
    assert days(question) == []


def test_a_day_of_ones_life_is_read_where_it_is_known() -> None:
    birthdays = {"my sister's birthday": "1 May", "my birthday": "9 June"}
    asked = with_days("What did I buy two weeks before My Birthday?", birthdays)
    assert days(asked) == days("What did I buy two weeks before 9 June?") != []
    assert days(with_days("Who came on my sister's birthday?", birthdays)) == [("2023-05-01", "2023-05-01")]
    assert with_days("my birthdays?", birthdays) == "my birthdays?"


def test_a_day_that_there_is_only_in_some_years_is_found_also_where_eight_lie_between() -> None:
    asked = date(2104, 2, 28)
    assert days("Who came on 29 February?", asked) == [("2096-02-29", "2096-02-29")]
    assert days("Who came the day before 29 February?", asked) == [("2104-02-28", "2104-02-28")]
    assert days("Who came the day after 29 February?", asked) == [("2096-03-01", "2096-03-01")]


def test_a_time_before_a_day_to_come_may_be_past() -> None:
    asked = date(2023, 12, 28)
    assert days("What did I buy two weeks before 3 January?", asked) == [("2023-12-17", "2023-12-23")]


def test_a_date_that_can_be_read_in_two_ways_is_both() -> None:
    assert days("Who came on 5/6?") == [("2023-05-06", "2023-05-06"), ("2023-06-05", "2023-06-05")]


def test_two_periods_are_two() -> None:
    assert len(days("Did I run more in May 2022 or in June 2022?")) == 2


@given(st.text(max_size=200), st.dates())
def test_any_text_is_read_without_fail_and_ranges_are_ranges(text: str, asked: date) -> None:
    assert all(first <= last for first, last in periods(text, asked))


@given(st.dates(min_value=date(1900, 1, 1)), st.dates(min_value=date(1950, 1, 1), max_value=date(2100, 1, 1)))
def test_a_written_day_is_that_day(day: date, asked: date) -> None:
    assert periods(f"What happened on {day.day} {day:%B} {day.year:04}?", asked) == [(day.toordinal(), day.toordinal())]


@given(st.dates(min_value=date(1900, 1, 1)), st.dates(min_value=date(1950, 1, 1), max_value=date(2100, 1, 1)))
def test_a_day_in_slashes_is_that_day_and_at_most_one_more(day: date, asked: date) -> None:
    found = periods(f"What happened on {day.month}/{day.day}/{day.year:04}?", asked)
    assert (day.toordinal(), day.toordinal()) in found
    assert len(found) == (2 if day.day <= 12 and day.day != day.month else 1)


@given(st.sampled_from(sorted(WEEKDAYS)), st.dates(min_value=date(1950, 1, 1)))
def test_the_last_weekday_is_the_latest_before_the_question(name: str, asked: date) -> None:
    ((first, last),) = periods(f"What did I eat last {name}?", asked)
    assert first == last
    assert 1 <= asked.toordinal() - first <= 7
    assert date.fromordinal(first).weekday() == WEEKDAYS[name]


SAID = date(2025, 5, 14)  # a Wednesday


@pytest.mark.parametrize(
    ("words", "named", "day"),
    [
        ("pay tomorrow morning", "tomorrow morning", "2025-05-15"),
        ("pay today", "today", "2025-05-14"),
        ("leave the day after tomorrow evening", "the day after tomorrow evening", "2025-05-16"),
        ("pay by Friday", "by Friday", "2025-05-16"),
        ("pay on Wednesday", "on Wednesday", "2025-05-21"),
        ("pay next Monday", "next Monday", "2025-05-19"),
        ("pay on Friday, 6 June", "on Friday, 6 June", "2025-06-06"),
        ("pay on June 1st", "on June 1st", "2025-06-01"),
        ("pay on 2 May", "on 2 May", "2026-05-02"),
        ("pay by 2027-01-02", "by 2027-01-02", "2027-01-02"),
        ("pay in two weeks", "in two weeks", "2025-05-28"),
        ("pay in a month", "in a month", "2025-06-14"),
        ("pay this weekend", "this weekend", "2025-05-18"),
        ("pay next week", "next week", "2025-05-25"),
        ("pay by the end of the month", "by the end of the month", "2025-05-31"),
        ("pay next month", "next month", "2025-06-30"),
        ("pay in April", "in April", "2026-04-30"),
        ("pay in December 2025", "in December 2025", "2025-12-31"),
        ("pay before December", "before December", "2025-11-30"),
        ("pay before June 2026", "before June 2026", "2026-05-31"),
        ("pay before next month", "before next month", "2025-05-31"),
        ("pay before next week", "before next week", "2025-05-18"),
        ("pay before the weekend", "before the weekend", "2025-05-16"),
        ("pay before the end of June", "before the end of June", "2025-06-30"),
        ("pay before end of June", "before end of June", "2025-06-30"),
        ("pay before the end of the week", "before the end of the week", "2025-05-18"),
        ("pay before this week is over", "before this week", "2025-05-18"),
        ("pay before Friday", "before Friday", "2025-05-16"),
        ("celebrate on 29 February", "on 29 February", "2028-02-29"),
    ],
)
def test_a_day_to_come_is_read(words: str, named: str, day: str) -> None:
    found = ahead(words, SAID)
    assert found is not None
    assert (words[found[0] : found[1]], found[2].isoformat()) == (named, day)


@pytest.mark.parametrize(
    ("words", "said", "day"),
    [
        ("by the 31st", "2025-04-03", "2025-05-31"),
        ("by the 30th", "2025-01-31", "2025-03-30"),
        ("by the 3rd", "2025-12-31", "2026-01-03"),
        ("by the 3rd", "2025-12-03", "2025-12-03"),
        ("on 3 December", "2025-12-03", "2025-12-03"),
        ("on 29 February", "2096-03-01", "2104-02-29"),
        ("in December", "2025-12-03", "2025-12-31"),
    ],
)
def test_a_day_of_a_month_is_the_next_one_that_there_is(words: str, said: str, day: str) -> None:
    found = ahead(words, date.fromisoformat(said))
    assert found is not None
    assert found[2].isoformat() == day


def test_a_month_from_the_last_of_january_is_the_last_of_february() -> None:
    found = ahead("in a month", date(2023, 1, 31))
    assert found is not None
    assert found[2] == date(2023, 2, 28)


@pytest.mark.parametrize("words", ["", "May I?", "on 31 February", "in 99 years", "we march on", "some day"])
def test_what_names_no_day_is_none(words: str) -> None:
    assert ahead(words, SAID) is None


@given(st.text(max_size=100) | st.sampled_from(["in 9 months", "next week", "tomorrow", "by December"]), st.dates())
def test_any_words_are_read_without_fail(words: str, said: date) -> None:
    found = ahead(words, said)
    assert found is None or 0 <= found[0] < found[1] <= len(words)


def test_a_day_is_written_in_english() -> None:
    assert (written(SAID), written(SAID, year=False)) == ("14 May 2025", "14 May")


@pytest.mark.parametrize(
    ("text", "depends"),
    [
        ("I saw the dentist yesterday.", True),
        ("The exam is NEXT Friday", True),
        ("We leave in two weeks.", True),
        ("it was three days ago", True),
        ("Please send it by Monday", True),
        ("last May was warm", True),
        ("The exam is on 4 May 2025.", False),
        ("We met in 2019.", False),
        ("the last chapter, this time next to you", False),
        ("Mondays are slow.", False),
        ("", False),
    ],
)
def test_some_days_depend_on_when_they_were_named(text: str, depends: bool) -> None:
    assert relative(text) == depends
