"""The faults of providers, by name. Each spoils one reply of the test provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal

from recollect.frozen import EMPTY
from recollect.llm.model import Finish
from recollect.testing.provider.style import Style
from recollect.testing.provider.values import Answer, HangUp, Piece, Refused, Sending, Wait, whole
from recollect.types import Message, ToolCall

LATE: Final = 0.05
"""How many seconds late a slow answer begins, or goes on."""
DRIPS: Final = 12
"""How many pieces an answer has that comes bit by bit."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong: an error instead of an answer, another answer, no stream, or other bytes."""

    about: str
    refused: Refused | None = None
    headers: Mapping[str, str] = EMPTY
    answer: Callable[[Answer], Answer] | None = None
    at_once: bool = False
    sending: Callable[[Sending, Style], Sending] | None = None


def _status(status: int, problem: str, about: str, code: str | None = None, **headers: str) -> Fault:
    return Fault(about, Refused(status, problem, code), headers)


def _page(status: int, about: str) -> Fault:
    page = f"<html><head><title>{status}</title></head><body><h1>{status}</h1></body></html>".encode()
    return Fault(about, sending=lambda *_: Sending(status, (page,), {"content-type": "text/html"}, len(page)))


def _bytes(about: str, change: Callable[[bytes], tuple[Piece, ...]]) -> Fault:
    """A fault that changes the pieces of a reply; the header still promises the whole of it."""
    return Fault(about, sending=lambda sending, _: replace(sending, pieces=change(sending.data)))


def _half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _instead(data: bytes, about: str) -> Fault:
    return Fault(about, sending=lambda *_: Sending(200, (data,), {"content-type": "application/json"}, len(data)))


def _broken(sending: Sending, style: Style) -> Sending:
    if sending.length is not None:
        data = _half(sending.data)
        return replace(sending, pieces=(data,), length=len(data))
    events = [piece for piece in sending.pieces if isinstance(piece, bytes)]
    events[len(events) // 2] = _half(events[len(events) // 2]) + b"\n\n"
    return replace(sending, pieces=tuple(events))


def _small(data: bytes) -> tuple[bytes, ...]:
    return tuple(data[i : i + 3] for i in range(0, len(data), 3))


def _slowly(data: bytes) -> tuple[Piece, ...]:
    size = len(data) // DRIPS + 1
    parts = [data[i : i + size] for i in range(0, len(data), size)]
    return tuple(piece for part in parts for piece in (part, Wait(LATE)))


def _late_error(sending: Sending, style: Style) -> Sending:
    problem = "Overloaded"
    if sending.length is not None:
        return whole(style.error(529, problem))
    return replace(sending, pieces=(*sending.pieces[: len(sending.pieces) // 2], style.error_event(529, problem)))


def _endless(sending: Sending, style: Style) -> Sending:
    if sending.length is not None:
        return sending
    return replace(sending, pieces=sending.pieces[: max(1, len(sending.pieces) // 2)])


def _comments(sending: Sending, style: Style) -> Sending:
    if "event-stream" not in sending.headers["content-type"]:
        return sending
    return replace(sending, pieces=tuple(p for piece in sending.pieces for p in (b": keep-alive\n\n", piece)))


def _redirected(sending: Sending, style: Style) -> Sending:
    return Sending(307, (b"",), {"location": "http://127.0.0.1:9/elsewhere"}, 0)


def _no_answer(answer: Answer) -> Answer:
    return replace(answer, message=None, usage=replace(answer.usage, completion=0))


def _cut_short(answer: Answer) -> Answer:
    text = answer.message.text if answer.message else ""
    return replace(answer, message=Message("assistant", text[: len(text) // 2] or text), finish="length")


def _broken_call(answer: Answer) -> Answer:
    call = ToolCall("call_broken", "search", '{"query": "Osl')
    return replace(answer, message=Message("assistant", (call,)), finish="tool_calls")


def _silent(finish: Finish) -> Callable[[Answer], Answer]:
    return lambda answer: replace(
        answer, message=Message("assistant"), finish=finish, usage=replace(answer.usage, completion=0)
    )


def _reporting(report: Literal["none", "nonsense"]) -> Callable[[Answer], Answer]:
    return lambda answer: replace(answer, report=report)


FAULTS: Final[Mapping[str, Fault]] = MappingProxyType(
    {
        "rate_limit": _status(
            429,
            "Rate limit reached on tokens per min (TPM): Limit 30000, Used 28000, Requested 4000.",
            "429, to be tried again at once",
            retry_after="0",
        ),
        "rate_limit_silent": _status(429, "Too Many Requests", "429 that does not say when to come back"),
        "rate_limit_long": _status(429, "Rate limit reached for the day.", "429 for an hour", retry_after="3600"),
        "quota": _status(
            429, "You exceeded your current quota, please check your plan and billing details.",
            "429 because nothing is paid for", "insufficient_quota",
        ),
        "server_error": _status(500, "The server had an error while processing your request.", "500"),
        "bad_gateway": _page(502, "502 with a web page"),
        "unavailable": _status(503, "The engine is currently overloaded, please try again later.", "503"),
        "gateway_timeout": _page(504, "504 with a web page"),
        "overloaded": _status(529, "Overloaded", "529, Anthropic's word for busy"),
        "request_timeout": _status(408, "Request timed out.", "408"),
        "unauthorized": _status(401, "Incorrect API key provided.", "401"),
        "forbidden": _status(403, "You are not allowed to use this model.", "403"),
        "not_found": _status(404, "The model `test-model` does not exist or you do not have access to it.", "404"),
        "bad_request": _status(400, "Invalid value for 'temperature'.", "400 that has nothing to do with size"),
        "no_json_schema": _status(
            400, "This response_format type is unavailable now", "400 because it takes no schema, as DeepSeek"
        ),
        "overflow": _status(
            400, "This model's maximum context length is 1000 tokens. However, your messages resulted in 1200 tokens.",
            "400 because the context is full, whatever was sent", "context_length_exceeded",
        ),
        "redirect": Fault("307 to another server", sending=_redirected),
        "timeout": _bytes("not a byte comes", lambda data: (Wait(),)),
        "slow_first_byte": _bytes(f"the first byte comes after {LATE} s", lambda data: (Wait(LATE), data)),
        "drip": _bytes(f"{DRIPS} pieces, each {LATE} s after the one before", _slowly),
        "stall": _bytes("half comes, then silence", lambda data: (_half(data), Wait())),
        "hang_up": _bytes("the connection ends without a word", lambda data: (HangUp(),)),
        "reset": _bytes("the connection is reset", lambda data: (HangUp(reset=True),)),
        "disconnect": _bytes("the connection ends in the middle", lambda data: (_half(data), HangUp())),
        "malformed_json": Fault("JSON that ends in the middle", sending=_broken),
        "nonsense": _instead(b"\xff\xfe\x00 not JSON, not text", "bytes that are no text"),
        "wrong_shape": _instead(b"[1, 2, 3]", "JSON of another kind"),
        "wrong_content_type": _page(200, "a web page with status 200"),
        "empty_body": _instead(b"", "nothing, with status 200"),
        "empty_choices": Fault("no answer in the reply", answer=_no_answer),
        "says_nothing": Fault("an answer without words", answer=_silent("stop")),
        "content_filter": Fault("the answer was withheld", answer=_silent("content_filter")),
        "truncated": Fault("the answer is cut off at its length", answer=_cut_short),
        "broken_tool_call": Fault("a tool call whose arguments are not JSON", answer=_broken_call),
        "error_in_stream": Fault("status 200, then an error in the middle", sending=_late_error),
        "no_end": Fault("the stream ends without its end mark", sending=_endless),
        "no_usage": Fault("no usage is reported", answer=_reporting("none")),
        "wrong_usage": Fault("a usage that can't be true", answer=_reporting("nonsense")),
        "not_streamed": Fault("the whole answer at once, though a stream was asked for", at_once=True),
        "split_utf8": _bytes("pieces of three bytes, characters torn apart", _small),
        "keep_alive": Fault("comments between the events", sending=_comments),
    }
)  # fmt: skip
"""Every fault there is, by name."""
