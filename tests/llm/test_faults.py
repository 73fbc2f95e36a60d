"""Every fault of every provider, over real sockets: the answer or a typed error arrives, after at most 3 retries."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pytest

from recollect import Message
from recollect.embed.hashing import HashingEmbedder
from recollect.embed.http import HttpEmbedder
from recollect.errors import BadReply, ContextOverflow, Interrupted, ModelError, ModelUnavailable, RateLimited
from recollect.llm.model import Delta, Reply
from recollect.testing import FAULTS
from recollect.testing.provider.provider import DIMENSION
from tests.llm.asked import STYLES
from tests.llm.conftest import QUICK, Serve, requests, stream_timeout, timeout

ASKED = [Message("system", "Be brief."), Message("user", "Where is Nadia? Où? Где?")]
SAID = "Nadia is in Tromsø — «далеко» 🏔 — since May."
ALWAYS = 99

Outcome: TypeAlias = tuple[type[ModelError] | None, int]
"""What comes of a fault that lasts: the answer, or the error; and how many requests were made for it."""
Outcomes: TypeAlias = dict[str, Outcome]

COMPLETE: Outcomes = {
    "rate_limit": (RateLimited, 4),
    "rate_limit_silent": (RateLimited, 4),
    "rate_limit_long": (RateLimited, 1),
    "quota": (RateLimited, 1),
    "server_error": (ModelUnavailable, 4),
    "bad_gateway": (ModelUnavailable, 4),
    "unavailable": (ModelUnavailable, 4),
    "gateway_timeout": (ModelUnavailable, 4),
    "overloaded": (ModelUnavailable, 4),
    "request_timeout": (ModelUnavailable, 4),
    "unauthorized": (ModelUnavailable, 1),
    "forbidden": (ModelUnavailable, 1),
    "not_found": (ModelUnavailable, 1),
    "bad_request": (ModelUnavailable, 1),
    "no_json_schema": (ModelUnavailable, 1),
    "overflow": (ContextOverflow, 1),
    "redirect": (ModelUnavailable, 1),
    "timeout": (ModelUnavailable, 1),
    "slow_first_byte": (None, 1),
    "drip": (ModelUnavailable, 1),
    "stall": (ModelUnavailable, 1),
    "hang_up": (ModelUnavailable, 4),
    "reset": (ModelUnavailable, 4),
    "disconnect": (ModelUnavailable, 4),
    "malformed_json": (BadReply, 4),
    "nonsense": (BadReply, 4),
    "wrong_shape": (BadReply, 4),
    "wrong_content_type": (BadReply, 4),
    "empty_body": (BadReply, 4),
    "empty_choices": (BadReply, 4),
    "says_nothing": (BadReply, 4),
    "content_filter": (None, 1),
    "truncated": (None, 1),
    "broken_tool_call": (None, 1),
    "error_in_stream": (ModelUnavailable, 4),
    "no_end": (None, 1),
    "no_usage": (None, 1),
    "wrong_usage": (None, 1),
    "not_streamed": (None, 1),
    "split_utf8": (None, 1),
    "keep_alive": (None, 1),
}
# Where a stream differs: once a word came, nothing is tried again.
STREAM: Outcomes = {
    **COMPLETE,
    "drip": (None, 1),
    "stall": (Interrupted, 1),
    "disconnect": (Interrupted, 1),
    "malformed_json": (Interrupted, 1),
    "error_in_stream": (Interrupted, 1),
    "no_end": (Interrupted, 1),
}
EMBED: Outcomes = {
    **COMPLETE,
    "overflow": (ModelUnavailable, 1),
    "says_nothing": (None, 1),
    "error_in_stream": (BadReply, 4),
}


def expected(table: Outcomes, style: str, fault: str) -> Outcome:
    if style == "ollama" and fault == "content_filter":  # it has no word for it
        return BadReply, 4
    if style == "ollama" and fault == "empty_body" and table is STREAM:  # lines need no header, so none is missing
        return ModelUnavailable, 4
    return table[fault]


def test_every_fault_there_is_is_tried() -> None:
    assert list(COMPLETE) == list(FAULTS)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("style", STYLES)
def test_a_fault_that_lasts_gives_a_typed_error(serve: Serve, style: str, fault: str) -> None:
    provider, model = serve(style, [SAID], faults=[fault] * ALWAYS)
    error, wanted = expected(COMPLETE, style, fault)
    if error is None:
        right(model.complete(ASKED, timeout=timeout(fault)), fault)
    else:
        with pytest.raises(error) as caught:
            model.complete(ASKED, timeout=timeout(fault))
        assert type(caught.value) is error
        assert model.name in str(caught.value)
    assert requests(provider, wanted) == wanted


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("style", STYLES)
def test_a_fault_that_lasts_gives_a_typed_error_in_a_stream_too(serve: Serve, style: str, fault: str) -> None:
    provider, model = serve(style, [SAID], faults=[fault] * ALWAYS)
    error, wanted = expected(STREAM, style, fault)
    seen: list[Delta] = []
    if error is None:
        seen.extend(model.stream(ASKED, timeout=stream_timeout(fault)))
        reply = seen[-1].reply
        assert reply
        right(reply, fault)
        assert "".join(delta.text for delta in seen) == reply.text
    else:
        with pytest.raises(error) as caught:
            seen.extend(model.stream(ASKED, timeout=stream_timeout(fault)))
        assert type(caught.value) is error
        if isinstance(caught.value, Interrupted):
            assert caught.value.partial
            assert SAID.startswith(caught.value.partial)
    assert requests(provider, wanted) == wanted


def right(reply: Reply, fault: str) -> None:
    """The reply is what this fault leaves of it."""
    if fault == "content_filter":
        assert (reply.text, reply.finish) == ("", "content_filter")
    elif fault == "truncated":
        assert (SAID.startswith(reply.text), reply.finish) == (True, "length")
    elif fault == "broken_tool_call":
        assert reply.finish == "tool_calls"
        assert reply.message.tool_calls[0].name == "search"
    else:
        assert (reply.text, reply.finish) == (SAID, "stop")
    assert (reply.usage.prompt > 0) == (fault not in ("no_usage", "wrong_usage"))
    assert min(reply.usage.completion, reply.usage.cached, reply.usage.cache_written) >= 0


@pytest.mark.parametrize("fault", [fault for fault, (_, times) in COMPLETE.items() if times > 1])
@pytest.mark.parametrize("style", STYLES)
def test_a_fault_that_passes_is_gone_after_three_retries(serve: Serve, style: str, fault: str) -> None:
    provider, model = serve(style, [SAID], faults=[fault] * 3)
    assert model.complete(ASKED, timeout=timeout(fault)).text == SAID
    assert len(provider.requests) == 4


@pytest.mark.parametrize("fault", FAULTS)
def test_embedding_gives_vectors_or_a_typed_error(serve: Serve, fault: str) -> None:
    provider, _ = serve("openai", faults=[fault] * ALWAYS)
    embedder = HttpEmbedder("test-model", provider.url, timeout(fault), QUICK)
    error, wanted = EMBED[fault]
    if error is None:
        assert np.allclose(embedder.embed([SAID]), HashingEmbedder(DIMENSION).embed([SAID]), atol=1e-6)
    else:
        with pytest.raises(error):
            embedder.embed([SAID])
    assert requests(provider, wanted) == wanted
