"""`python -m recollect.demo FILE`: a long conversation goes through the window; it and others are kept in the file."""

from __future__ import annotations

import sys
from typing import Final

from recollect import Memory, Message, fit
from recollect.demo import QUESTIONS, conversation, keep

BUDGETS: Final = (8_000, 2_000)


def show_window(messages: list[Message], budget: int) -> None:
    """Replay the conversation message by message, and print what the model would see last."""
    window = fit([], budget)
    for message in messages:
        window.append(message)
    print(f"\nA conversation of {len(messages)} messages, as a model with {budget:,} tokens sees it:\n")
    print(window.receipt)


def show_recall(memory: Memory) -> None:
    """Ask about the conversations from another session, within 150 tokens each time."""
    for question in QUESTIONS:
        print(f"\n{question}")
        for hit in memory.session("today", user="ada").recall(question, budget=150):
            print("  " + hit.text.replace("\n", "\n  "))


def main(file: str) -> None:
    """Run both parts."""
    for budget in BUDGETS:
        show_window(conversation(), budget)
    print("\nKept in a file with three earlier ones, and asked about from another session:")
    with Memory.open(file) as memory:
        keep(memory)
        show_recall(memory)


if __name__ == "__main__":
    main(*sys.argv[1:] or ("memory.db",))
