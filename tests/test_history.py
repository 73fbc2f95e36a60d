"""A framework's own history beside a session."""

from __future__ import annotations

import pytest

from recollect import Memory, Message
from recollect.history import History


@pytest.mark.parametrize("question", ["Which volcano erupted near Reykjavik?", "Where does my sister live?"])
def test_with_a_changed_history_only_what_is_to_the_point_is_recalled(question: str) -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        memory.session("old", user="ada").add_turn("My sister Nadia moved to Oslo.", "Noted.")
        memory.drain()
        history = History(memory.session("trip", user="ada"), 2_000)
        history.prompt([Message("user", "Hello there."), Message("assistant", "Hi!")])
        *_, asked = history.prompt(
            [Message("user", "Hello, edited."), Message("assistant", "Hi!"), Message("user", question)]
        )
        assert asked.message.text.endswith(question)
        assert ("Nadia moved to Oslo" in asked.message.text) == ("sister" in question)
