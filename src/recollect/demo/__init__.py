"""Sample conversations to ask about, and the demo that shows them."""

from __future__ import annotations

import json
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from recollect.memory import Memory
    from recollect.types import Message

USER: Final = "ada"
QUESTIONS: Final = (
    "Who is my manager?", "Where does my sister live?", "What is Ingrid's phone number?", "What do you know about me?",
)  # fmt: skip
"""What the sample conversations can be asked: three about one of them each, the last about all."""


def conversation() -> list[Message]:
    """The long sample: a trip to Oslo, planned with tools."""
    from recollect import parse

    return parse(json.loads(files(__name__).joinpath("conversation.json").read_text("utf-8")), "openai")


def keep(memory: Memory, user: str = USER) -> None:
    """Keep all sample conversations in a memory, and learn from them: the trip, and three before it."""
    from recollect.backfill import backfill
    from recollect.imports import read

    with as_file(files(__name__).joinpath("earlier.jsonl")) as path:
        backfill(memory, read(path), user=user)
    trip = memory.session("trip", user=user)
    if trip.stats() is None:
        trip.add_many(conversation())
    memory.drain()
