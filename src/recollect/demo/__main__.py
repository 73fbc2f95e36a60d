"""`python -m recollect.demo`: a long conversation goes through the window, then is asked about from another session."""

from __future__ import annotations

import json
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Final

from recollect import Memory, Message, fit, parse

BUDGETS: Final = (8_000, 2_000)
QUESTIONS: Final = ("Where does my sister live?", "What must I not eat?", "What is the code of our hotel booking?")


def conversation() -> list[Message]:
    """The sample: a trip to Oslo, planned with tools."""
    text = files("recollect.demo").joinpath("conversation.json").read_text("utf-8")
    return parse(json.loads(text), "openai")


def show_window(messages: list[Message], budget: int) -> None:
    """Replay the conversation message by message, and print what the model would see last."""
    window = fit([], budget)
    for message in messages:
        window.append(message)
    print(f"\nA conversation of {len(messages)} messages, as a model with {budget:,} tokens sees it:\n")
    print(window.receipt)


def show_recall(messages: list[Message]) -> None:
    """Keep the conversation in a file, and ask about it from another session, within 150 tokens each time."""
    with tempfile.TemporaryDirectory() as folder, Memory.open(Path(folder) / "memory.db") as memory:
        memory.session("trip", user="ada").add_many(messages)
        memory.drain()
        for question in QUESTIONS:
            print(f"\n{question}")
            for hit in memory.session("today", user="ada").recall(question, budget=150):
                print("  " + hit.text.replace("\n", "\n  "))


def main() -> None:
    """Run both parts."""
    messages = conversation()
    for budget in BUDGETS:
        show_window(messages, budget)
    print("\nKept in a file, and asked about from another session:")
    show_recall(messages)


if __name__ == "__main__":
    main()
