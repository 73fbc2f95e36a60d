"""What a user wants done or left as a rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.facts import extract
from recollect.layers.semantic import Semantic
from recollect.store import Store
from tests.facts.scores import SAID
from tests.facts.told import ADA, TRIP, say, values

COMMANDS = st.sampled_from(["use British spelling", "put the SQL first", "write tests first", "sign with a comma"])


def wishes(text: str) -> list[str]:
    return [one.value for one in extract(text, SAID) if one.key.startswith("asked:")]


@given(
    COMMANDS,
    st.sampled_from(
        ["From now on, {}.", "{} from now on", "Going forward {}.", "Can you {} from now on?", "{} from now on please"]
    ),
)
def test_what_is_asked_for_from_now_on_is_asked_for_always(command: str, words: str) -> None:
    assert wishes(words.format(command)) == [f"always {command}"]
    assert wishes(words.format(f"don't {command}")) == [f"never {command}"]


@given(COMMANDS, st.sampled_from(["{}.", "Now {}.", "{} in this file", "In future episodes, {}"]))
def test_what_is_asked_for_once_is_no_rule(command: str, words: str) -> None:
    assert wishes(words.format(command)) == []


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("Run the linter before each commit", "always run the linter before each commit"),
        ("don't add comments unless I ask", "never add comments unless I ask"),
        ("please don't add dependencies without asking me first", "never add dependencies without asking me first"),
        ("ask before committing anything", "always ask before committing anything"),
        ("Whenever you show code, add a short explanation.", "whenever you show code, add a short explanation"),
        ("use pnpm not npm", "always use pnpm not npm"),
        ("stop apologising all the time please", "stop apologising all the time"),
        ("Please always use tabs not spaces", "always use tabs not spaces"),
    ],
)
def test_what_is_asked_for_each_time_is_a_rule(text: str, wish: str) -> None:
    assert wishes(text) == [wish]


@pytest.mark.parametrize(
    "text",
    [
        "Write a test for each function", "don't touch the tests", "Stop doing that", "stop using the old API key",
        "Every time you run it, it crashes", "Run this after every deploy", "Always use your head", "stop talking",
        "From now on we are in 1920 and you answer as a butler",
    ],
)  # fmt: skip
def test_any_other_words_ask_for_no_rule(text: str) -> None:
    assert wishes(text) == []


def test_a_wish_ends_its_opposite(store: Store) -> None:
    say(store, "Never use tabs.", 0)
    facts = Semantic(store)
    facts.catch_up(TRIP)
    assert values(facts.facts(ADA)) == {"asked:never use tabs": "never use tabs"}
    say(store, "Always use tabs from now on.", 1)
    facts.catch_up(TRIP)
    assert values(facts.facts(ADA)) == {"asked:always use tabs": "always use tabs"}
