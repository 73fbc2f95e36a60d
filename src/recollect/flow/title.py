"""The title of a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from recollect.types import Message

TAG: Final = "title"
"""The metadata of a conversation's first message that names it."""
LONGEST: Final = 60
"""Characters of a title."""


def title(messages: Sequence[Message]) -> str:
    """The title of a conversation, from its first messages: the first one's tag, else the user's first words.

    It is one line, and "" if there are no words. Half surrogate pairs become question marks, as clients fail at them.
    """
    given = messages[0].metadata.get(TAG) if messages else None
    said = (message.text for message in messages if message.role == "user")
    return next((line for text in (given, *said) if isinstance(text, str) and (line := _line(text))), "")


def _line(text: str) -> str:
    whole = text.lstrip()[: 10 * LONGEST].encode("utf-8", "replace").decode()
    line = " ".join(whole.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1].rstrip()}…"
