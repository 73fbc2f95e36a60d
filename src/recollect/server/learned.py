"""What memory makes of a conversation, over REST: context, facts, patterns, summary, documents, tools, replay."""

from __future__ import annotations

from bisect import bisect_right
from contextlib import suppress
from datetime import datetime
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import from_json

from recollect.answers import Document, Fact
from recollect.errors import ConfigError, NotFound
from recollect.flow.context import Context
from recollect.flow.facts.tell import label
from recollect.layers.files import ENDINGS
from recollect.server import given, shown
from recollect.server.given import Id
from recollect.server.problems import Refused
from recollect.server.replies import answer, plain, tagged
from recollect.server.service import ErasedUser, ReadSession, ReadUser, WrittenSession, WrittenUser, served
from recollect.session import Session
from recollect.user import User

After = Annotated[Id | SkipJsonSchema[None], Query()]
FILE: Final[dict[str, Any]] = {
    "parameters": [
        {"name": "metadata", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}},
    ],
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary", "minLength": 1}}},
    },
}

routes = APIRouter(responses=shown.ERRORS)


@routes.post("/context", operation_id="context", response_model=shown.ShownContext)
async def context(request: Request, chat: ReadSession, asked: given.ContextQuestion) -> Response:
    """The best prompt for a question that fits a budget, with a receipt of every choice."""
    return await served(request).run(_context, chat, asked)


def _context(chat: Session, asked: given.ContextQuestion) -> Response:
    made = chat.context(asked.question, asked.budget, system=asked.system, at=asked.at, tools=asked.tools)
    return _shown(made, asked.shape)


def _shown(made: Context, shape: given.Shape | None) -> Response:
    more = {"request": made.to(shape).request()} if shape else {}
    return plain(made.to_dict() | more)


@routes.post("/replay", operation_id="replay", response_model=shown.ShownContext)
async def replay(request: Request, chat: ReadSession, asked: given.Replayed) -> Response:
    """The context as it was built for an earlier question, from what was kept until then."""
    return await served(request).run(_replay, chat, asked)


def _replay(chat: Session, asked: given.Replayed) -> Response:
    return _shown(chat.replay(asked.message, asked.budget, system=asked.system, tools=asked.tools), asked.shape)


@routes.get("/facts", operation_id="listFacts", response_model=shown.FactsPage)
async def list_facts(
    request: Request,
    chat: ReadUser,
    as_of: Annotated[given.Moment | SkipJsonSchema[None], Query()] = None,
    limit: Annotated[given.Limit, Query()] = 50,
    after: After = None,
) -> Response:
    """What the user said of themselves, now or as known at an earlier time, oldest first; what comes `after` a key."""
    found = await served(request).run(chat.facts, as_of)
    keys = [fact.key for fact in found]
    if after is not None and after not in keys:
        raise NotFound(f"the list has no {after!r} any more: read it from its start")
    start = 0 if after is None else keys.index(after) + 1
    end = start + limit
    page = [*map(_labelled, found[start:end])]
    return tagged(request, {"items": page, "after": keys[end - 1] if end < len(keys) else None})


@routes.get("/facts/history", operation_id="factHistory", response_model=shown.Facts)
async def fact_history(request: Request, chat: ReadUser, key: Annotated[Id, Query()]) -> Response:
    """Every value a fact has had, with the messages that say it."""
    return tagged(request, {"items": [*map(_labelled, await served(request).run(chat.fact_history, key))]})


@routes.post(
    "/facts",
    operation_id="remember",
    status_code=201,
    response_model=shown.Remembered,
    responses={200: {"model": shown.Remembered, "description": "Without a value: nothing is known under the key now"}},
)
async def remember(request: Request, chat: WrittenUser, fact: given.GivenFact) -> Response:
    """Keep a fact in place of what was known under its key, which stays on record; without a value it ends."""
    kept = await served(request).run(chat.remember, fact.key, fact.value, fact.type)
    return answer({"item": kept and _labelled(kept)}, 201 if kept else 200)


@routes.delete("/facts", operation_id="forgetFact", response_model=shown.Facts)
async def forget_fact(request: Request, chat: ErasedUser, key: Annotated[Id, Query()]) -> Response:
    """Erase every value a fact has had for good; the messages that say it stay."""
    return answer({"items": [*map(_labelled, await served(request).run(chat.forget_fact, key))]})


def _labelled(fact: Fact) -> dict[str, Any]:
    return {**{name: getattr(fact, name) for name in fact.__dataclass_fields__}, "label": label(fact.key)}


@routes.get("/patterns", operation_id="patterns", response_model=shown.ShownPatterns)
async def patterns(request: Request, chat: ReadUser) -> Response:
    """How the user talks with the assistant, counted over everything said."""
    return tagged(request, await served(request).run(chat.patterns))


@routes.get("/summary", operation_id="summary", response_model=shown.Text)
async def summary(request: Request, chat: ReadSession) -> Response:
    """What was said in the session, in a few hundred tokens of its own sentences."""
    return tagged(request, {"text": await served(request).run(chat.summary)})


@routes.get("/documents", operation_id="listDocuments", response_model=shown.Documents)
async def list_documents(
    request: Request, chat: ReadUser, limit: Annotated[given.Limit, Query()] = 50, after: After = None
) -> Response:
    """The user's documents by name; those `after` one, though it may be gone by now."""
    found = await served(request).run(chat.documents.list)
    start = 0 if after is None else bisect_right(found, after, key=lambda document: document.name)
    end = start + limit
    return tagged(request, {"items": found[start:end], "after": found[end - 1].name if end < len(found) else None})


@routes.post("/documents", operation_id="addDocument", status_code=201, response_model=shown.ShownDocument)
async def add_document(request: Request, chat: WrittenUser, document: given.GivenDocument) -> Response:
    """Keep a document's text; one of the same name is replaced."""
    add = chat.documents.add
    made = await served(request).run(add, document.text, name=document.name, metadata=document.metadata, at=document.at)
    return answer(made, 201)


@routes.put(
    "/documents",
    operation_id="uploadDocument",
    status_code=201,
    response_model=shown.ShownDocument,
    openapi_extra=FILE,
)
async def upload_document(
    request: Request,
    chat: WrittenUser,
    name: Annotated[Id, Query()],
    metadata: Annotated[str | SkipJsonSchema[None], Query(include_in_schema=False)] = None,
    at: Annotated[given.Moment | SkipJsonSchema[None], Query()] = None,
) -> Response:
    """Keep a file (Markdown, plain text, HTML, PDF) under a name whose end says what it is."""
    if request.headers.get("content-type", "").lower().startswith("multipart/"):
        raise Refused(415, "the body is a form, not the file", "send the file itself as the body")
    about = None if metadata is None else _object(metadata)
    data = await request.body()
    return answer(await served(request).run(_upload, chat, name, data, about, at), 201)


def _object(text: str) -> given.Json:
    with suppress(ValueError):
        if isinstance(value := from_json(text, allow_inf_nan=False), dict):
            return value
    raise Refused(422, "the metadata is no JSON object", 'send one such as {"by": "Bo"}, percent-encoded')


def _upload(user: User, name: str, data: bytes, metadata: given.Json | None, at: datetime | None) -> Document:
    suffix = PurePath(name).suffix.lower()
    with TemporaryDirectory() as folder:
        file = Path(folder, f"upload{suffix if suffix in ENDINGS else '.txt'}")
        file.write_bytes(data)
        try:
            return user.documents.add(file, name=name, metadata=metadata, at=at)
        except ConfigError as error:
            raise ConfigError(str(error).replace(str(file), name)) from error


@routes.delete("/documents", operation_id="removeDocument", response_model=shown.ShownDocument)
async def remove_document(request: Request, chat: ErasedUser, name: Annotated[Id, Query()]) -> Response:
    """Erase a document and its chunks for good."""
    return answer(await served(request).run(chat.documents.remove, name))


@routes.post("/documents/search", operation_id="searchDocuments", response_model=shown.Passages)
async def search_documents(request: Request, chat: ReadUser, asked: given.DocumentQuestion) -> Response:
    """The passages near enough to a question, best first."""
    return answer({"items": await served(request).run(chat.documents.search, asked.question, asked.k)})


@routes.post("/tools", operation_id="addExcerpt", status_code=201, response_model=shown.ShownExcerpt)
async def add_excerpt(request: Request, chat: WrittenSession, excerpt: given.GivenExcerpt) -> Response:
    """Keep what a tool or a web search found, with its source, until it expires."""
    return answer(await served(request).run(chat.tools.add, excerpt.text, excerpt.source, excerpt.at), 201)


@routes.get("/tools", operation_id="listExcerpts", response_model=shown.Excerpts)
async def list_excerpts(request: Request, chat: ReadSession) -> Response:
    """What tools and searches brought into a session and is not expired, in the order in which it came."""
    return tagged(request, {"items": await served(request).run(chat.tools.list)})


@routes.post("/tools/search", operation_id="searchExcerpts", response_model=shown.Excerpts)
async def search_excerpts(request: Request, chat: ReadSession, asked: given.DocumentQuestion) -> Response:
    """The excerpts that are relevant to a question, best first."""
    return answer({"items": await served(request).run(chat.tools.search, asked.question, asked.k)})
