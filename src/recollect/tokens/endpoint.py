"""Counters that ask a server: Anthropic's count endpoint, and the tokenizers of llama.cpp and vLLM."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from recollect.errors import BadReply
from recollect.http import ANTHROPIC, Endpoint, Retries, sign_for_anthropic
from recollect.recent import remembered
from recollect.tokens.estimator import TokenCounter

TIMEOUT: Final = 10.0
"""Seconds to wait for a server."""
KEPT: Final = 4096
"""For how many texts each counter remembers the count."""
_ONCE: Final = Retries(times=0)


def anthropic_counter(model: str) -> TokenCounter:
    """Counts with Anthropic's endpoint, which needs ANTHROPIC_API_KEY, or with the one at ANTHROPIC_BASE_URL.

    What the endpoint adds around a message is asked for once and subtracted. Blank text, which it refuses, counts as
    one token for each character.
    """
    url, key = "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"
    base = os.environ.get(url) or ANTHROPIC
    server = Endpoint(f"the counter anthropic:{model}", base, url, key, sign=sign_for_anthropic, retries=_ONCE)
    server.key()

    def ask(text: str) -> int:
        body = {"model": model, "messages": [{"role": "user", "content": text}]}
        return _asked(server, "/v1/messages/count_tokens", body, "input_tokens")

    @cache
    def around() -> int:
        return max(ask("a") - 1, 0)

    return _remembered(lambda text: max(ask(text) - around(), 1) if text.strip() else len(text))


def llamacpp_counter(base: str) -> TokenCounter:
    """Counts with a llama.cpp server's own tokenizer."""
    server = _own(f"llamacpp:{base}", base)
    return _remembered(lambda text: _asked(server, "/tokenize", {"content": text}, "tokens"))


def vllm_counter(base: str) -> TokenCounter:
    """Counts with a vLLM server's own tokenizer."""
    server = _own(f"vllm:{base}", base)
    return _remembered(lambda text: _asked(server, "/tokenize", {"prompt": text, "add_special_tokens": False}, "count"))


COUNTERS: Final = {"anthropic": anthropic_counter, "llamacpp": llamacpp_counter, "vllm": vllm_counter}


def _own(name: str, base: str) -> Endpoint:
    return Endpoint(f"the counter {name}", base, "the counter's name", retries=_ONCE)


def _remembered(ask: TokenCounter) -> TokenCounter:
    return remembered(KEPT)(lambda text: ask(text) if text else 0)


def _asked(server: Endpoint, path: str, body: Mapping[str, Any], key: str) -> int:
    """The number of tokens in a server's answer, which has that number or a list of tokens under `key`."""

    def read(data: Any) -> int:
        found = data.get(key) if isinstance(data, Mapping) else None
        number = len(found) if isinstance(found, list) else found
        if type(number) is not int or number < 0:
            raise BadReply(f"{server.name}: the reply has no number of tokens under {key!r}")
        return number

    return server.post(path, body, TIMEOUT, read)[0]
