"""What goes back to a caller: plain JSON, with an ETag where asking again is common."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from fastapi import Request, Response

_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def to_json(value: Any) -> bytes:
    """JSON in ASCII: half a surrogate pair, which UTF-8 has no bytes for, survives as its escape."""
    return _ENCODER.encode(value).encode("ascii")


def plain(value: Any) -> Any:
    """Any of the library's values as JSON data."""
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if isinstance(value, (datetime, Mapping)):
        return value.isoformat() if isinstance(value, datetime) else {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value


def answer(value: Any, status: int = 200) -> Response:
    """The value as JSON."""
    return Response(to_json(value), status, media_type="application/json")


def tagged(request: Request, value: Any) -> Response:
    """The value as JSON with an ETag, or 304 where the caller has that very value."""
    body = to_json(value)
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers={"ETag": tag})
    return Response(body, headers={"ETag": tag, "Cache-Control": "private, no-cache"}, media_type="application/json")
