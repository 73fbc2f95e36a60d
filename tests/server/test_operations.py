"""An operation takes what FastAPI would take, refuses what it would refuse, and says the same about it."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any
from urllib.parse import urlencode

import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request, Response
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from recollect.server.given import Given, Moment, Whole
from recollect.server.operations import TOLD, Direct, Operation, by_path, operations
from recollect.server.problems import told
from recollect.server.replies import answer


class Body(Given):
    text: str = Field(min_length=1)
    number: Annotated[int, Field(ge=0, le=5), Whole] = 3
    at: Moment | None = None


async def who(request: Request, user: Annotated[str, Query(min_length=2)]) -> str:
    return f"{request.method} {user}"


def app_of(router: APIRouter) -> FastAPI:
    @router.post("/things")
    async def things(
        whose: Annotated[str, Depends(who)],
        body: Body,
        limit: Annotated[int, Query(ge=1, le=9)] = 5,
        before: Annotated[Annotated[int, Field(ge=1)] | SkipJsonSchema[None], Query()] = None,  # type: ignore[assignment]
        x_some_name: Annotated[str | None, Header(max_length=3)] = None,
    ) -> Response:
        return answer([whose, body.model_dump(), limit, before, x_some_name])

    @router.get("/things/{number}")
    async def thing(number: Annotated[int, Path(ge=1)]) -> Response:
        return answer(number)

    app = FastAPI()

    async def refused(request: Request, error: Exception) -> Response:
        return answer(told(error), told(error)["status"])

    for cls in TOLD:
        app.add_exception_handler(cls, refused)

    app.include_router(router)
    return app


THEIRS, OURS = APIRouter(), operations()
APPS = (app_of(THEIRS), app_of(OURS))
DIRECT = Direct(APPS[1], by_path(OURS), lambda request, error: answer(told(error), told(error)["status"]))


def asked(app: Any, method: str, path: str, query: str, headers: list[tuple[str, str]], body: bytes) -> tuple[int, Any]:
    named = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": named}
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], json.loads(b"".join(part.get("body", b"") for part in sent[1:]))


NAMES = st.sampled_from(["user", "limit", "before", "other"])
VALUES = st.sampled_from(["", "a", "ada", "0", "5", "50", "x", "None", "1.0"])
QUERIES = st.lists(st.tuples(NAMES, VALUES), max_size=4).map(urlencode)
TYPES = st.sampled_from(["application/json", "Application/JSON; charset=utf-8", "text/plain", "application/a+json", ""])
HEADERS = st.tuples(TYPES, st.none() | st.sampled_from(["ab", "abcd", ""])).map(
    lambda two: [
        (name, value) for name, value in (("content-type", two[0]), ("x-some-name", two[1])) if value is not None
    ]
)
OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "text": st.sampled_from(["", "a", 5, None]),
        "number": st.sampled_from([0, 5.0, 6, "1", True]),
        "at": st.sampled_from(["2026-05-01", "2026-05-01T10:00:00Z", 5]),
        "more": st.just(1),
    },
)
BODIES = st.one_of(
    OBJECTS.map(lambda value: json.dumps(value).encode()),
    st.sampled_from([b"", b"null", b"[]", b"{", b"\xff", b'{"text": "\\ud800"}', b"1e999"]),
)


@given(QUERIES, HEADERS, BODIES)
def test_it_answers_and_refuses_as_fastapi_does(query: str, headers: list[tuple[str, str]], body: bytes) -> None:
    theirs, ours, direct = (asked(app, "POST", "/things", query, headers, body) for app in (*APPS, DIRECT))
    assert ours == theirs
    assert direct == theirs


@pytest.mark.parametrize("number", ["1", "0", "x"])
def test_parts_of_a_path_are_read_too(number: str) -> None:
    theirs, ours, direct = (asked(app, "GET", f"/things/{number}", "", [], b"") for app in (*APPS, DIRECT))
    assert ours == theirs == direct


def test_the_document_is_the_same() -> None:
    theirs, ours = (app.openapi() for app in APPS)
    assert ours == theirs


def test_an_operation_knows_its_parameters() -> None:
    found = by_path(OURS)
    assert list(found) == [("POST", "/things")]
    assert isinstance(found["POST", "/things"], Operation)
    assert found["POST", "/things"].parameters == {"user", "limit", "before"}
