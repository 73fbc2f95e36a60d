"""What goes back to a caller: plain JSON, with an ETag where asking again is common."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import pydantic_core
from fastapi import Request, Response
from pydantic_core import PydanticSerializationError
from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass(frozen=True, slots=True)
class Heads:
    """An app in which HEAD is answered as GET is, without the body."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            return await self.app(scope, receive, send)

        async def without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        return await self.app({**scope, "method": "GET"}, receive, without_body)


def to_json(value: Any) -> bytes:
    """The value as JSON in ASCII: half a surrogate pair, which UTF-8 has no bytes for, survives as an escape."""
    return _ENCODER.encode(value).encode("ascii")


def _plain(value: Any) -> Any:
    """One of the library's values as text or a dict; the encoder then goes on with what is in it."""
    if isinstance(value, datetime):
        return value.isoformat()
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_plain)


def answer(value: Any, status: int = 200) -> Response:
    """The value as JSON."""
    return Response(to_json(value), status, media_type="application/json")


def plain(data: Any) -> Response:
    """Data that is JSON already, with no value of the library in it: encoded in a quarter of the time."""
    try:
        return Response(pydantic_core.to_json(data), media_type="application/json")
    except PydanticSerializationError:  # half a surrogate pair
        return answer(data)


def tagged(request: Request, value: Any) -> Response:
    """The value as JSON with an ETag, or 304 where the caller has that very value."""
    return with_tag(request, to_json(value), "application/json", {"Cache-Control": "private, no-cache"})


def with_tag(request: Request, body: bytes, media: str, headers: Mapping[str, str]) -> Response:
    """The body with an ETag, or 304 where the caller has that very body."""
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    known = request.headers.get("if-none-match", "")
    sent = {"ETag": tag, **headers}
    return (
        Response(status_code=304, headers=sent)
        if known == "*" or tag in known
        else Response(body, headers=sent, media_type=media)
    )
