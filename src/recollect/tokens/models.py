"""How large models' context windows are, and how much of one a conversation should take."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from recollect.errors import ConfigError

UNKNOWN_WINDOW: Final = 32_768
"""The assumed window of a model that is not in the table."""
LOW_SHARE, HIGH_SHARE = 0.10, 0.25
"""The low and the high share of a window that a conversation should take; the rest is for instructions, tools and the
answer."""
COMFORTABLE: Final = 8_000
"""A model whose high share is no more than this many tokens gives the conversation that share."""

# The smallest window sold under a name; a longer name wins over a shorter one.
WINDOWS: Final[dict[str, int]] = {
    "gpt-3.5-turbo": 16_385, "gpt-4": 8_192, "gpt-4-32k": 32_768, "gpt-4-turbo": 128_000,
    "gpt-4-1106-preview": 128_000, "gpt-4-0125-preview": 128_000, "gpt-4o": 128_000, "gpt-4.1": 1_047_576,
    "gpt-4.5": 128_000, "gpt-5": 400_000, "gpt-5-chat": 128_000, "gpt-oss": 131_072, "chatgpt-4o": 128_000,
    "o1": 200_000, "o1-mini": 128_000, "o1-preview": 128_000, "o3": 200_000, "o4-mini": 200_000,
    "claude": 200_000, "claude-2": 100_000, "claude-2.1": 200_000, "claude-3": 200_000, "claude-instant": 100_000,
    "gemini": 1_048_576, "gemini-pro": 1_048_576, "gemini-1.0": 32_760, "gemini-1.5": 1_048_576,
    "gemini-1.5-pro": 2_097_152, "gemini-2": 1_048_576, "gemini-3": 1_048_576,
    "gemma": 8_192, "gemma-2": 8_192, "gemma-3": 32_768,
    "llama-2": 4_096, "llama-3": 8_192, "llama-3.1": 131_072, "llama-3.2": 131_072, "llama-3.3": 131_072,
    "llama-4": 1_048_576,
    "mistral": 32_768, "mistral-large": 131_072, "mistral-medium": 131_072, "mistral-nemo": 131_072,
    "ministral": 131_072, "mixtral": 32_768, "mixtral-8x22b": 65_536, "codestral": 32_768,
    "deepseek": 65_536, "deepseek-v3.1": 131_072, "deepseek-v3.2": 131_072,
    "qwen": 32_768, "qwen-2": 32_768, "qwen-2.5": 32_768, "qwen-3": 32_768, "qwq": 32_768,
    "command": 4_096, "command-r": 128_000, "command-a": 256_000,
    "phi-3": 4_096, "phi-3.5": 131_072, "phi-4": 16_384,
    "grok-2": 131_072, "grok-3": 131_072, "grok-4": 256_000,
    "nova-micro": 128_000, "nova-lite": 300_000, "nova-pro": 300_000,
    "kimi-k2": 131_072, "glm-4": 131_072, "smollm2": 8_192,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A budget for conversations with a model; `known` is False if the size of its window is a guess."""

    model: str
    window: int
    budget: int
    known: bool


def recommended_budget(model: str) -> Recommendation:
    """The tokens that a conversation with this model should take: 10 to 25 % of its window.

    That is a quarter of the window but at most 8,000, or a tenth of it if that is more.
    """
    window = window_of(model)
    size = UNKNOWN_WINDOW if window is None else window
    budget = max(int(size * LOW_SHARE), min(int(size * HIGH_SHARE), COMFORTABLE))
    return Recommendation(model, size, budget, window is not None)


def window_of(model: str) -> int | None:
    """The context window of a model in tokens; None if it is not known."""
    if not isinstance(model, str) or not model.strip():
        raise ConfigError(f"the name of a model must be text like 'gpt-4o', not {model!r}")
    name = plain_name(model)
    fits = [known for known in _patterns() if known[0].search(name)]
    return max(fits, key=lambda known: len(known[0].pattern))[1] if fits else None


def plain_name(model: str) -> str:
    """The name in small letters, with its parts joined in one way: `Llama 3.1` and `llama3-1` are the same."""
    return re.sub(r"[^a-z0-9]+|(?<=[a-z])(?=[0-9])", "-", model.lower())


@cache
def _patterns() -> list[tuple[re.Pattern[str], int]]:
    return [(re.compile(rf"(?<![a-z0-9]){plain_name(known)}(?![a-z0-9])"), size) for known, size in WINDOWS.items()]
