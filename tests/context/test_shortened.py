"""Messages that a context shows in part."""

from __future__ import annotations

import pytest

from recollect import Image, Memory, Text


@pytest.mark.parametrize("budget", [2_500, 3_000, 3_500])
def test_what_was_cut_out_of_a_message_is_recalled_and_on_the_receipt(memory: Memory, budget: int) -> None:
    chat = memory.session("cabin", user="ada")
    for n in range(6):
        town = " ".join(f"Line {row} of part {n} is about the weather in town." for row in range(90))
        farm = " ".join(f"Row {row} of part {n} is about the harvest." for row in range(30))
        chat.add_turn(f"{town} The door code of cabin {n} is 47{n}1. {farm}", "Thank you, I have read it.")
    memory.drain()
    for cabin in (3, 4):
        context = chat.context(f"What is the door code of cabin {cabin}?", budget)
        assert f"47{cabin}1" in str(context)
    cut = [line for line in context.receipt.lines if line.rule == "shortened"]
    assert cut and all(0 < line.shown < line.tokens for line in cut)
    assert {line.tokens for line in cut} <= {entry.tokens for entry in memory.store.log.read(chat.scope)}


def test_words_beside_a_picture_that_was_cut_are_not_quoted_as_well(memory: Memory) -> None:
    chat = memory.session("cabin", user="ada")
    for n in range(3):
        picture = Image(data="x" * 400_000, media_type="image/png")
        chat.add("user", (Text(f"This is the door of cabin {n}, its code is 47{n}1."), picture))
        chat.add("assistant", "Thank you, I see it.")
    memory.drain()
    context = chat.context("What is the code of the door of cabin 2?", 600)
    assert "[image cut]" in str(context) and context.shortened
    assert str(context).count("its code is 4721") == 1
    assert [line.rule for line in context.receipt.lines].count("shortened") == len(context.shortened)
