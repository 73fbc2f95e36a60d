"""How much of a conversation a window may hold."""

from __future__ import annotations

from dataclasses import dataclass

from recollect.arguments import MAX_WHOLE, check_number, check_whole
from recollect.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Limits:
    """What a window may hold, in tokens, messages and turns, and what of it always stays.

    `budget` is a promise; `last_messages` and `last_turns` are exceeded rather than tearing a tool call from its
    result. `follows` says that a question which is not in the window comes after it: then the words of the last turn
    may be shortened too. With `whole`, pictures and files are never cut, nor turns split that a late result joined.
    """

    budget: int | None = None
    last_messages: int | None = None
    last_turns: int | None = None
    low_water: float = 0.7
    min_turns: int = 1
    min_messages: int = 2
    follows: bool = False
    whole: bool = False

    def __post_init__(self) -> None:
        if self.budget is not None and not (isinstance(self.budget, int) and abs(self.budget) <= MAX_WHOLE):
            raise ConfigError(f"budget is {self.budget!r}; it must be a whole number of tokens")
        check_number("low_water", self.low_water)
        if not 0 < self.low_water <= 1:
            raise ConfigError(f"low_water is {self.low_water}; it must be above 0 and at most 1")
        for name in ("last_messages", "last_turns", "min_turns", "min_messages"):
            if (value := getattr(self, name)) is not None:
                check_whole(name, value, 1)
