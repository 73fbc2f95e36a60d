"""What users list about themselves, line by line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.facts import extract
from tests.facts.scores import SAID

LINES = {
    "Name: Ada Byrne": ("name", "Ada Byrne"),
    "Age: 34": ("age", "34"),
    "City: Cork, Ireland": ("place", "Cork, Ireland"),
    "Job: carpenter": ("role", "carpenter"),
    "Company: Northwind": ("company", "Northwind"),
    "Email: ada@byrne.ie": ("email", "ada@byrne.ie"),
    "Pronouns: she/her": ("pronouns", "she/her"),
    "Birthday: 9 November": ("birthday", "9 November"),
    "Likes: sailing": ("likes:sailing", "sailing"),
    "Allergies: nuts": ("allergy:nuts", "nuts"),
    "Languages: Irish": ("speaks:irish", "Irish"),
    "Shoe size: 39": None,
    "City: TBD": None,
    "Name: (your name)": None,
}
CHOSEN = st.lists(st.sampled_from(sorted(LINES)), min_size=1, unique_by=lambda line: line.partition(":")[0])
HEADINGS = st.sampled_from(["About me:", "A few facts about me:", "My details:", "Hello!\nMy profile:"])
BULLETS = st.sampled_from(["", "- ", "* ", "• "])


@given(HEADINGS, BULLETS, CHOSEN, st.sampled_from(["", "\n\nPlan my week."]))
def test_each_line_is_read_and_cited(heading: str, bullet: str, lines: list[str], after: str) -> None:
    text = "\n".join([heading, *(bullet + line for line in lines)]) + after
    found = extract(text, SAID)
    assert {(one.key, one.value) for one in found} == {LINES[line] for line in lines if LINES[line]}
    assert all(text[slice(*one.span)] == one.value for one in found)


@given(CHOSEN, st.sampled_from(["Write a bio:\n{}", "```\n{}\n```", "The page has this\n{}", "> {}", "Dear Bob,\n{}"]))
def test_a_list_of_someone_else_says_nothing(lines: list[str], around: str) -> None:
    assert extract(around.format("\n".join(["About me:", *lines])), SAID) == []


def test_several_values_stand_between_commas() -> None:
    found = extract("About me:\n- Likes: sailing, board games\n- Tools: Docker, Vim", SAID)
    assert [one.value for one in found] == ["sailing", "board games", "Docker", "Vim"]


@pytest.mark.parametrize("text", ["Name: Ada\nAge: 34\nCity: Cork", "Your profile:\nName: Ada", "About me: nothing"])
def test_a_list_that_is_not_about_the_writer_says_nothing(text: str) -> None:
    assert extract(text, SAID) == []
