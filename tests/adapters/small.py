"""A model by script with a small context."""

from __future__ import annotations

from collections.abc import Sequence

from recollect import Message
from recollect.testing import Script
from recollect.tokens import count_messages, estimate

SMALL = 300


class Small(Script):
    """Finds a longer request too long, in the words of a provider."""

    def answer(self, request: Sequence[Message]) -> Message:
        answer, tokens = super().answer(request), count_messages(request, estimate)
        if tokens > SMALL:
            raise ValueError(f"This model's maximum context length is {SMALL} tokens, however you requested {tokens}.")
        return answer

    @property
    def sizes(self) -> list[int]:
        """How long the requests were."""
        return [count_messages(request, estimate) for request in self.requests]
