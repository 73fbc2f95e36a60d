"""The Inspector: a page at `/` that uses the service's REST API; its files are in the folder `inspector`."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from fastapi import APIRouter, Request, Response

from recollect.server.problems import Refused
from recollect.server.replies import with_tag
from recollect.server.service import served

HOME: Final = "index.html"
TYPES: Final = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}

routes = APIRouter(include_in_schema=False)


@cache
def parts() -> dict[str, bytes]:
    """The files of the page by name."""
    folder = files("recollect.server").joinpath("inspector")
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name.endswith(tuple(TYPES))}


@routes.get("/")
async def home(request: Request) -> Response:
    """The page."""
    return _file(request, HOME, _suggesting(parts()[HOME], served(request).options.questions))


@routes.get("/inspector/{name}")
async def part(request: Request, name: str) -> Response:
    """A file of the page."""
    if (body := parts().get(name)) is None:
        raise Refused(404, f"the page has no file {name!r}", "open / instead")
    return _file(request, name, body)


def _suggesting(body: bytes, questions: Sequence[str]) -> bytes:
    """The page with the questions that it suggests."""
    found = html.escape(json.dumps(questions))
    return body.replace(b"</head>", f'<meta name="questions" content="{found}">\n</head>'.encode())


def _file(request: Request, name: str, body: bytes) -> Response:
    return with_tag(request, body, TYPES["." + name.rpartition(".")[2]], HEADERS)
