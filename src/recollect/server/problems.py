"""Errors as a caller gets them: problem+json (RFC 9457) with the class, what is wrong and what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from recollect import errors
from recollect.arguments import in_words, meant
from recollect.http import REFUSED
from recollect.server.replies import to_json

MEDIA: Final = "application/problem+json"
FAULTS: Final = 100
"""How many faults of one request an error names, at most."""
LONGEST: Final = 1_000
"""Characters of each fault that are shown: it may quote what was sent."""


class Known(NamedTuple):
    """What a caller gets for a class of error: the HTTP status, and the next step."""

    status: int
    next: str


KEPT: Final = "your message is kept: "
KNOWN: Final[dict[type[Exception], Known]] = {
    errors.ConfigError: Known(422, "change what the detail names and send it again"),
    errors.InvalidTranscript: Known(422, "correct the message the detail names and send it again"),
    errors.BudgetTooSmall: Known(
        413, "name a larger `budget`, or have the service set RECOLLECT_CONTEXT_BUDGET higher"
    ),
    errors.MissingExtra: Known(501, "install the package the detail names on the server"),
    errors.StoreUnavailable: Known(
        503,
        "do what the detail asks for on the server (a restart reopens the store), or try again in a moment;"
        " messages with ids or an Idempotency-Key are kept only once",
    ),
    errors.DiskFull: Known(507, "nothing was written: make room on the server (erasing takes some, too) and try again"),
    errors.Conflict: Known(
        409,
        "read what is kept, then preview again, or give a changed message a new id or a new Idempotency-Key",
    ),
    errors.NotFound: Known(404, "check the user, the session, and the id, name or key"),
    errors.MigrationError: Known(500, "run this version's migration on the store, or another version"),
    errors.StoreError: Known(500, "run `recollect doctor` on the server"),
    errors.RateLimited: Known(429, "try again in a moment"),
    errors.ModelUnavailable: Known(503, f"{KEPT}ask again in a moment"),
    errors.ContextOverflow: Known(413, f"{KEPT}lower the budget, or use a model with a larger context"),
    errors.BadReply: Known(502, f"{KEPT}ask again, or look at the model's own log"),
    errors.ModelError: Known(502, f"{KEPT}look at the model's own words in the detail"),
    errors.RecollectError: Known(500, "look at the server's log"),
}


TOO_LONG: Final = (errors.BudgetTooSmall, errors.ContextOverflow)
"""What OpenAI's clients know as `context_length_exceeded`."""
NOT_TAKEN: Final = f"{KEPT}change what the model's server objects to and send it again"
NOT_PAID: Final = "check the billing of the service's key: the same request will fail again"
NOT_SERVED: Final = f"{KEPT}check the service's key and model: the same request will fail again"


class Refused(HTTPException):
    """A request that the service itself turns down, with the next step."""

    def __init__(self, status: int, detail: str, next: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, detail, dict(headers or {}))
        self.next = next


def known(error: Exception) -> Known:
    """What a caller gets for this error: by its own class, or the nearest one above it.

    Where the model's server refuses the request, the caller must change it; where it does not know the key or the
    model, the service must. How long a rate limit holds is said in words: a stream has sent its headers already.
    """
    if isinstance(error, errors.RateLimited) and not error.passing:
        return Known(429, NOT_PAID)
    if isinstance(error, errors.RateLimited) and (seconds := _wait(error)):
        return Known(429, f"try again in {seconds:,} second{'s' * (seconds > 1)}")
    if isinstance(error, errors.ModelUnavailable) and not error.passing:
        return Known(error.status, NOT_TAKEN) if error.status in REFUSED else Known(502, NOT_SERVED)
    return next(KNOWN[cls] for cls in type(error).__mro__ if cls in KNOWN)


def _wait(error: errors.RateLimited) -> int | None:
    """Whole seconds until a limit is over, None where that is not known."""
    return None if error.retry_after is None else max(1, math.ceil(error.retry_after))


def problem(status: int, name: str, detail: str, next: str, **more: Any) -> dict[str, Any]:
    """The body of an error."""
    return {
        "type": "about:blank",
        "title": name,
        "status": status,
        "class": name,
        "detail": detail,
        "next": next,
    } | more


def told(error: Exception, path: str = "") -> dict[str, Any]:
    """The body for any error; of one that is not ours, nothing of its text is shown."""
    if isinstance(error, errors.RecollectError):
        status, next_step = known(error)
        return problem(status, type(error).__name__, str(error), next_step, **_facts(error))
    if isinstance(error, RequestValidationError):
        faults = _faults(error.errors())
        unread = isinstance(error.body, bytes)
        next_step = "send JSON, with Content-Type: application/json" if unread else _corrected(path, faults)
        return problem(422, "InvalidRequest", _joined(faults), next_step, errors=faults)
    if isinstance(error, Refused):
        return problem(error.status_code, _class(error), error.detail, error.next)
    if isinstance(error, HTTPException):
        unknown = error.status_code == 404 and path.startswith("/v1/")
        next_step = UNSERVED if unknown else _NEXT.get(error.status_code, "see GET /openapi.json")
        return problem(error.status_code, _class(error), error.detail, next_step)
    return problem(
        500,
        "InternalError",
        "something went wrong inside the service",
        "look in its log for the X-Request-Id of this answer",
    )


def _class(error: HTTPException) -> str:
    if error.status_code == 404:
        return errors.NotFound.__name__
    return Refused.__name__ if isinstance(error, Refused) else "InvalidRequest"


def _facts(error: errors.RecollectError) -> dict[str, Any]:
    if isinstance(error, errors.BudgetTooSmall):
        return {"needed": error.needed, "allowed": error.allowed}
    if isinstance(error, errors.InvalidTranscript) and error.where:
        return {"where": error.where}
    return {}


def _faults(errors: Sequence[Any]) -> list[dict[str, str]]:
    """The first faults that pydantic found, each with its place, cut where it is very long.

    Of content in parts, it finds that a part is wrong and that all of it is no text: the former says what to do.
    """
    found = [e for e in errors if e["type"] != "none_required"] or errors
    faults = [{"where": _place(e["loc"])[:LONGEST], "problem": _said(e)[:LONGEST]} for e in found[:FAULTS]]
    return [f for f in faults if not any(other["where"].startswith(f"{f['where']}.") for other in faults)]


def _joined(faults: Sequence[Mapping[str, str]]) -> str:
    return "; ".join(": ".join(filter(None, fault.values())) for fault in faults[:5])


def unfit(error: ValidationError) -> str:
    """What is wrong with a value, and where in it."""
    return _joined(_faults(error.errors()))


_STEPS: Final = ("]", "constrained-str", "constrained-int", ".str")


def _place(loc: tuple[int | str, ...]) -> str:
    """Where a fault is, without the steps that pydantic adds by its own names, such as one after each number."""
    steps = zip(("", *loc), loc, strict=False)
    return ".".join(
        str(part)
        for before, part in steps
        if isinstance(part, int) or not (isinstance(before, int) or f".{part}".endswith(_STEPS))
    )


_SAYS: Final = {
    "missing": "it is missing",
    "extra_forbidden": "there is no such field",
    "string_too_short": "it is empty",
    "too_short": "it is empty",
}
"""What pydantic's types of faults mean, in words for the caller."""


_WANTED: Final = {
    "model_attributes_type": "a JSON object",
    "model_type": "a JSON object",
    "dict_type": "a JSON object",
    "list_type": "a list",
    "string_type": "text",
}
_SENT: Final = {
    dict: "an object",
    list: "a list",
    str: "text",
    bytes: "text not marked as JSON",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


def _said(fault: Mapping[str, Any]) -> str:
    """What is wrong, in words for the caller."""
    if wanted := _WANTED.get(fault["type"]):
        return f"it is {_SENT.get(type(fault['input']), 'null')}, not {wanted}"
    if fault["type"] == "string_pattern_mismatch":
        return (
            "it says nothing: give some words"
            if not fault["input"].strip()
            else "it contains a NUL character, which names can't have"
        )
    if fault["type"] == "union_tag_not_found":
        return f"it has no {fault['ctx']['discriminator']}"
    if fault["type"] == "union_tag_invalid":
        tag = fault["ctx"]
        return f"its {tag['discriminator']} is {tag['tag']!r}: give one of {tag['expected_tags']}"
    if fault["type"] == "json_invalid":
        return f"it is not JSON: {fault['ctx']['error'].removesuffix(' at')} at this character"
    return _SAYS.get(fault["type"]) or in_words(fault["msg"])


BODIES: Final = {
    "/messages": '{"messages": [{"role": "user", "content": "Hello."}]}',
    "/chat": '{"message": "Hello."}',
    "/context": '{"question": "Where does my sister live?", "budget": 2000}',
    "/recall": '{"question": "Where does my sister live?"}',
    "/search": '{"question": "Where does my sister live?"}',
    "/facts": '{"key": "place", "value": "Oslo"}',
    "/messages/search": '{"roles": ["user"], "since": "2026-05-01T12:00:00Z", "metadata": {"score": 9}}',
    "/documents": '{"name": "ferry.md", "text": "The ferry leaves at seven."}',
    "/documents/search": '{"question": "When does the ferry leave?"}',
    "/tools": '{"text": "The ferry is late.", "source": "https://example.org/ferries"}',
    "/tools/search": '{"question": "When does the ferry leave?"}',
    "/forget": '{"ids": ["the id of a message"]}',
    "/forget/preview": '{"ids": ["the id of a message"]}',
}
"""Examples of bodies, by path."""
_TOOLS: Final = (".tool_calls", ".tool_call_id")
PARTS: Final = (
    'send calls and results as parts: {"role": "assistant", "content": [{"type": "tool_call", "id": "1", "name": '
    '"weather", "arguments": "{}"}]}, {"role": "tool", "content": [{"type": "tool_result", "call_id": "1", '
    '"content": "rain"}]}'
)
"""What to do with the fields that OpenAI has for them."""
_NEXT: Final = {
    400: "send a body that can be read as the Content-Type says",
    404: "see GET /openapi.json for what there is",
    405: "use one of the methods in the Allow header",
}


OPENAIS: Final = ("/chat/completions", "/completions", "/embeddings", "/models", "/responses")
"""The paths that OpenAI's clients ask for when their base URL lacks `/v1`."""
UNSERVED: Final = "this service has only /v1/chat/completions and /v1/models of OpenAI's API: have the client use those"


def _corrected(path: str, faults: Sequence[Mapping[str, str]]) -> str:
    """What to do about the faults of a request, the first above all."""
    if path == "/messages" and any(fault["where"].endswith(_TOOLS) for fault in faults):
        return PARTS
    where, problem = faults[0]["where"], faults[0]["problem"]
    if where.startswith("query.") and problem == _SAYS["missing"]:
        return f"add it to the address, as in {path}?{where.removeprefix('query.')}=\u2026"
    if where.startswith("body") and path in BODIES:
        return f"send a body like {BODIES[path]}"
    return "correct what the detail names and send it again"


def reply(error: Exception, path: str = "") -> Response:
    """The answer to a request that failed; under /v1 in the shape that OpenAI's clients read."""
    body = told(error, path)
    if astray := path in OPENAIS:
        body["next"] = "OpenAI's API is under /v1: end the client's base URL with /v1"
    elif path.startswith("/v1/") and isinstance(error, errors.BudgetTooSmall):
        body["next"] = "send it shorter or in parts, or have the service set RECOLLECT_CONTEXT_BUDGET higher"
    if path.startswith("/v1/models"):
        body["next"] = body["next"].removeprefix(KEPT)
    openai = astray or path.startswith("/v1/")
    shown, media = (openais(body), "application/json") if openai else (body, MEDIA)
    status = 400 if openai and isinstance(error, TOO_LONG) else body["status"]
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    if isinstance(error, errors.RateLimited) and (seconds := _wait(error)):
        headers["Retry-After"] = str(seconds)
    if isinstance(error, errors.StoreUnavailable):
        headers["Retry-After"] = "1"
    if isinstance(error, errors.ModelError) and not error.passing:
        headers["X-Should-Retry"] = "false"  # OpenAI's clients would, after a 429 or 502
    return Response(to_json(shown), status, headers, media)


def openais(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of an error as OpenAI's clients read it."""
    message, name = f"{body['detail']}: {body['next']}", body["class"]
    code = "context_length_exceeded" if name in {cls.__name__ for cls in TOO_LONG} else name
    return {"error": {"message": message, "type": name, "code": code, "param": None}}


def _about(error: HTTPException, method: str, path: str, paths: Iterable[str]) -> str:
    """What is wrong with a request that no route has taken, or whose body can't be read."""
    if error.status_code == 404:
        return ": ".join(filter(None, (f"there is no {path}", meant(f"/{path.strip('/')}", paths, ""))))
    if error.status_code == 405:
        return f"{path} has no method {method}"
    unread = {UnicodeDecodeError: "the body is not UTF-8", ValueError: "the body has a number with too many digits"}
    return unread.get(type(error.__cause__), error.detail)


def install(app: FastAPI) -> None:
    """Have the app answer every foreseen error by `reply`."""

    async def answer(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException) and not isinstance(error, Refused):
            error.detail = _about(error, request.method, request.url.path[:LONGEST], app.openapi()["paths"])
        answered = reply(error, request.url.path)
        if answered.status_code == 405:
            listed = [method.upper() for method in app.openapi()["paths"].get(request.url.path, ())]
            there_are = listed or answered.headers["Allow"].split(", ")
            answered.headers["Allow"] = ", ".join([*there_are, *(["HEAD"] if "GET" in there_are else [])])
        return answered

    for cls in (errors.RecollectError, RequestValidationError, HTTPException):
        app.add_exception_handler(cls, answer)
