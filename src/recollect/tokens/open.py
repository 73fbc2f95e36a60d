"""Opens token counters by name; what a counter needs is loaded only when it is opened."""

from __future__ import annotations

from recollect.errors import ConfigError
from recollect.tokens.estimator import TokenCounter, estimate, estimator

NAMES = (
    "estimate", "estimate:o200k", "tiktoken:gpt-4o", "tokenizer:/path/to/tokenizer.json", "anthropic:MODEL",
    "llamacpp:http://localhost:8080", "vllm:http://localhost:8000",
)  # fmt: skip
"""An example of every kind of name."""


def counter(which: str | TokenCounter = "estimate") -> TokenCounter:
    """The counter of that name, `estimate` or `kind:detail`; a function of your own is tried once and returned."""
    if not isinstance(which, str):
        return _tried(which)
    if which == "estimate":
        return estimate
    kind, _, detail = which.partition(":")
    if detail and kind == "estimate":
        return estimator(detail)
    if detail and kind in ("tiktoken", "tokenizer"):
        from recollect.tokens import exact

        return exact.tiktoken_counter(detail) if kind == "tiktoken" else exact.tokenizer_counter(detail)
    if detail and kind in ("anthropic", "llamacpp", "vllm"):
        from recollect.tokens.endpoint import COUNTERS

        return COUNTERS[kind](detail)
    raise ConfigError(f"no token counter {which!r}: use a name like {', '.join(NAMES)}")


def _tried(count: TokenCounter) -> TokenCounter:
    if not callable(count):
        raise ConfigError(f"a token counter must be a name or a function from text to a number, not {count!r}")
    tokens = count("Is this a counter?")
    if type(tokens) is not int or tokens < 0:
        raise ConfigError(f"the token counter returned {tokens!r} for a text: it must return a whole number, 0 or more")
    return count
