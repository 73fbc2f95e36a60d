"""`python -m recollect.demo`: a long conversation goes through the window, and the receipt says what became of it."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Final

from recollect import Message, fit, parse

BUDGETS: Final = (8_000, 2_000)


def conversation() -> list[Message]:
    """The sample: a trip to Oslo, planned with tools."""
    text = files("recollect.demo").joinpath("conversation.json").read_text("utf-8")
    return parse(json.loads(text), "openai")


def main() -> None:
    """Replay the conversation at each budget, message by message, and print the receipts."""
    messages = conversation()
    for budget in BUDGETS:
        window = fit([], budget)
        for message in messages:
            window.append(message)
        print(f"\nA conversation of {len(messages)} messages, as a model with {budget:,} tokens sees it:\n")
        print(window.receipt)


if __name__ == "__main__":
    main()
