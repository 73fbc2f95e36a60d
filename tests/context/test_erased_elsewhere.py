"""What another process erased is in no context."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recollect import Memory, Message, Scope, Settings
from recollect.flow.retain import Layer
from recollect.retention import Policy, apply, preview
from recollect.testing.clock import ManualClock
from tests.contexts import opened


def test_a_message_erased_elsewhere_leaves_the_summary_too(tmp_path: Path, clock: ManualClock) -> None:
    fields: dict[str, Any] = {"settings": Settings(reply_tokens=0, summary_every_messages=100)}
    with opened(tmp_path, clock, **fields) as one, opened(tmp_path, clock, **fields) as other:
        here, there = (memory.session("trip", user="ada") for memory in (one, other))
        for n in range(40):
            here.add_turn(f"We saw the Vigeland park number {n} in Oslo.", "Lovely, what else is planned for today?")
        shown = [line for line in there.context("Next?", 400).receipt.lines if line.section == "summary"]
        gone = shown[0].sources[0]
        assert gone in shown[0].sources
        here.forget([gone])
        again = [line for line in there.context("And then?", 400).receipt.lines if line.section == "summary"]
        assert again
        assert not any(gone in line.sources for line in again)


def test_a_message_erased_elsewhere_is_not_shown_again(tmp_path: Path, clock: ManualClock) -> None:
    with opened(tmp_path, clock) as one, opened(tmp_path, clock) as other:
        here, there = (memory.session("s", user="ada") for memory in (one, other))
        here.add("user", "The code is quixotic.")
        here.add("user", "And the door is green.")
        assert "quixotic" in str(there.context("door?", 500).messages)
        here.forget([here.history()[0].id])
        assert "quixotic" not in str(there.context("door?", 500).messages)
        assert "green" in str(there.context("door?", 500).messages)


def test_a_session_begun_anew_shows_nothing_of_the_one_that_was_erased(tmp_path: Path, clock: ManualClock) -> None:
    with opened(tmp_path, clock) as memory, opened(tmp_path, clock) as elsewhere:
        for word, erasing in (("secret", memory), ("private", elsewhere), ("public", memory)):
            chat = memory.session("trip", user="ada")
            for n in range(8):
                words = f"The {word} number {n} costs {n} euros, and {word} things follow. " + "More of it. " * 10
                chat.add("user" if n % 2 == 0 else "assistant", words)
            context = chat.context("What does it cost?", 400)
            summary = " ".join(line.text for line in context.offered if line.section == "summary")
            shown = " ".join(message.text for message in context.prompt)
            assert [other for other in ("secret", "private", "public") if other in summary + shown] == [word]
            assert word in summary
            erasing.session("trip", user="ada").forget()


def test_a_fact_erased_elsewhere_is_not_told_beside_a_new_one(tmp_path: Path, clock: ManualClock) -> None:
    with opened(tmp_path, clock) as one, opened(tmp_path, clock) as other:
        here, there = one.session("old", user="ada"), other.session("new", user="ada")
        said = here.add("user", "I am allergic to peanuts.")
        one.drain()
        assert "peanuts" in there.context("What can I eat?", 500).memory
        here.forget([said.id])
        here.add("user", "My name is Ada.")
        one.drain()
        assert [
            line.text.partition(" (")[0] for line in there.context("What can I eat?", 500).offered if line.kept
        ] == ["name: Ada"]


def test_a_turn_erased_elsewhere_does_not_count_in_a_ranking(tmp_path: Path, clock: ManualClock) -> None:
    def scores(memory: Memory) -> list[tuple[str, float]]:
        found = memory.session("new", user="ada").context("Which kettle?", 500).offered
        return [(line.text, line.score) for line in found if line.section == "episodic"]

    with opened(tmp_path, clock) as one, opened(tmp_path, clock) as other:
        here = one.session("old", user="ada")
        here.add_many([Message("user", f"The {colour} kettle leaks.") for colour in ("red", "blue", "green")])
        here.add("user", "It rains.")
        one.drain()
        other.drain()
        assert len(scores(other)) == 1
        here.forget([here.history()[0].id])
        scores(other)
        assert scores(other) == scores(one)


def test_what_goes_by_a_policy_of_its_own_is_not_told_again(tmp_path: Path, clock: ManualClock) -> None:
    """A fact, an excerpt: the messages they were learned from stay, and the question is still the same."""
    with opened(tmp_path, clock) as memory:
        memory.session("old", user="ada").add_turn("I am allergic to peanuts.", "Noted.")
        memory.drain()
        chat = memory.session("new", user="ada")
        chat.tools.add("Peanut prices rise.", "news")
        chat.add("user", "Which peanuts can I eat?")
        going: list[tuple[str, Layer]] = [("profile", "facts"), ("tools", "tools")]
        for section, layer in going:
            before = [line.text for line in chat.context(budget=500).offered if line.kept and line.section == section]
            assert before
            plan = preview(memory.store, Scope(user="ada"), [Policy(layer, count=0)], clock())
            assert apply(memory.store, plan).records == 1
            assert not [line for line in chat.context(budget=500).offered if line.section == section]
