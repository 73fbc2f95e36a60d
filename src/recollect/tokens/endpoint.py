"""Counters that ask a server: Anthropic's count endpoint, and the tokenizers of llama.cpp and vLLM."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from recollect.errors import BadReply, ConfigError, ModelError, ModelUnavailable, RateLimited
from recollect.http import parted
from recollect.recent import remembered
from recollect.tokens.estimator import TokenCounter

TIMEOUT: Final = 10.0
"""Seconds to wait for a server."""
KEPT: Final = 4096
"""Texts whose counts each counter remembers."""


def anthropic_counter(model: str) -> TokenCounter:
    """Counts by Anthropic's endpoint; ANTHROPIC_API_KEY is needed, ANTHROPIC_BASE_URL is used where set.

    What the endpoint adds around a message is asked for once and taken off. Blank text, which it refuses, counts as
    a token a character.
    """
    key = os.environ.get("ANTHROPIC_API_KEY")
    if not key:
        raise ConfigError(f"the counter anthropic:{model} needs a key: set ANTHROPIC_API_KEY")
    base = os.environ.get("ANTHROPIC_BASE_URL") or "https://api.anthropic.com"
    url = _address(base, "/v1/messages/count_tokens")
    headers = {"x-api-key": key, "anthropic-version": "2023-06-01"}

    def ask(text: str) -> int:
        body = {"model": model, "messages": [{"role": "user", "content": text}]}
        return _number(_post(url, body, headers).get("input_tokens"), url)

    @cache
    def around() -> int:
        return max(ask("a") - 1, 0)

    return _remembered(lambda text: max(ask(text) - around(), 1) if text.strip() else len(text))


def llamacpp_counter(base: str) -> TokenCounter:
    """Counts by a llama.cpp server's own tokenizer."""
    url = _address(base, "/tokenize")

    def ask(text: str) -> int:
        tokens = _post(url, {"content": text}).get("tokens")
        if not isinstance(tokens, list):
            raise BadReply(f"{url} answered without a list of tokens")
        return len(tokens)

    return _remembered(ask)


def vllm_counter(base: str) -> TokenCounter:
    """Counts by a vLLM server's own tokenizer."""
    url = _address(base, "/tokenize")
    return _remembered(
        lambda text: _number(_post(url, {"prompt": text, "add_special_tokens": False}).get("count"), url)
    )


COUNTERS: Final = {"anthropic": anthropic_counter, "llamacpp": llamacpp_counter, "vllm": vllm_counter}


def _remembered(ask: TokenCounter) -> TokenCounter:
    kept = remembered(KEPT)(ask)

    def count(text: str) -> int:
        """The server's count; half surrogate pairs, which no server takes, are counted as `?`."""
        return kept(text.encode("utf-8", "replace").decode()) if text else 0

    return count


def _address(base: str, path: str) -> str:
    parts = parted(base)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(f"{base!r} is not the address of a server: use one like http://localhost:8080")
    return base.rstrip("/") + path


class _NoRedirect(HTTPRedirectHandler):
    """A redirect would carry the key to another host."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER: Final = build_opener(_NoRedirect)


def _post(url: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    data = json.dumps(body).encode()
    request = Request(url, data, {"content-type": "application/json", **(headers or {})})
    try:
        with _OPENER.open(request, timeout=TIMEOUT) as reply:
            answer = json.load(reply)
    except HTTPError as error:
        raise _refused(url, error) from None
    except (OSError, HTTPException) as error:
        raise ModelUnavailable(f"{url} can't be reached: {error}. Is the server running?") from error
    except ValueError as error:
        raise BadReply(f"{url} did not answer with JSON: {error}") from error
    if not isinstance(answer, dict):
        raise BadReply(f"{url} answered with a {type(answer).__name__}, not an object")
    return answer


def _refused(url: str, error: HTTPError) -> ModelError | ConfigError:
    with error:
        said = f"{url} answered {error.code}: {error.read(2000).decode('utf-8', 'replace').strip()}"
    if error.code == 429:
        return RateLimited(said)
    if error.code >= 500:
        return ModelUnavailable(said)
    return ConfigError(said)


def _number(value: Any, url: str) -> int:
    if type(value) is not int or value < 0:
        raise BadReply(f"{url} answered with {value!r} where a number of tokens belongs")
    return value
