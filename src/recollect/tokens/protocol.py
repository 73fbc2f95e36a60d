"""What a token counter is."""

from __future__ import annotations

from typing import Protocol


class TokenCounter(Protocol):
    """Any function from text to a number of tokens."""

    def __call__(self, text: str, /) -> int:
        """How many tokens the text has."""
        ...
