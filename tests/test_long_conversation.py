"""A conversation of 2,000 turns with a context for each: within budget, valid, mostly cached."""

from __future__ import annotations

from pathlib import Path
from random import Random

from recollect import Memory, validate
from recollect.embed.hashing import HashingEmbedder

TURNS = 2_000
WORDS = ("time", "travel", "oslo", "sister", "peanut", "budget", "deploy", "server", "kitchen", "piano", "meeting")


def said(random: Random, least: int, most: int) -> str:
    return " ".join(random.choices(WORDS, k=random.randint(least, most)))


def test_two_thousand_turns_at_8k(tmp_path: Path) -> None:
    random = Random(1)
    known = tokens = 0.0
    with Memory.open(tmp_path / "m.db", embedder=HashingEmbedder(64), durability="normal") as memory:
        chat, before = memory.session("s", user="ada"), None
        for n in range(TURNS):
            question = f"{said(random, 8, 30)}, number {n}?"
            context = chat.context(question, 8_000, system="You are a careful assistant.")
            assert context.tokens <= 8_000
            assert validate(context.prompt, ("openai", "anthropic")[n % 2]) == []
            if before is not None:
                known += context.same_start(before) * context.tokens
                tokens += context.tokens
            before = context.prompt
            chat.add_turn(question, said(random, 10, 90))
        assert memory.stats()["recollect_contexts_total"] == TURNS
    assert known / tokens >= 0.75
