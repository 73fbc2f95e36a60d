"""The legacy choice: a conversation manager that counts messages, not tokens."""

from __future__ import annotations

from typing import Any, Final

from recollect.adapters.strands.budget import TokenBudgetConversationManager

WINDOW: Final = 40


class SlidingWindowConversationManager(TokenBudgetConversationManager):
    """Holds an agent to its newest `window_size` messages, however long they are, before every call of the model.

    It stands in the place of the SDK's own of that name; a call stays with its result, pins stay, and an overflow is
    met as by TokenBudgetConversationManager, which has the other options.
    """

    def __init__(self, window_size: int = WINDOW, *, min_messages: int = 1, **options: Any) -> None:
        super().__init__(last_messages=window_size, min_messages=min_messages, **options)
        self.window_size = window_size
