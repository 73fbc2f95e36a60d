"""What memory makes of a conversation, over REST: context, facts, patterns, summary, documents, tools, replay."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic.json_schema import SkipJsonSchema

from recollect.server import shapes
from recollect.server.replies import answer, plain, tagged
from recollect.server.service import ErasedSession, ReadSession, Served, WrittenSession
from recollect.server.shapes import Id

routes = APIRouter()


@routes.post("/context", operation_id="context", response_model=shapes.ShownContext)
async def context(service: Served, chat: ReadSession, asked: shapes.ContextQuestion) -> Response:
    """The best prompt for a question that fits a budget, with a receipt of every choice."""
    made = await service.run(
        chat.context, asked.question, asked.budget, system=asked.system, at=asked.at, tools=asked.tools
    )
    shown = plain(made.to_dict())
    if asked.shape:
        shown["request"] = made.to(asked.shape).request()
    return answer(shown)


@routes.get("/contexts/{seq}", operation_id="replay", response_model=shapes.ShownContext)
async def replay(service: Served, chat: ReadSession, seq: Annotated[int, Path(ge=1, le=2**53 - 1)]) -> Response:
    """The context as it was at an earlier message, rebuilt from the log."""
    return answer(plain((await service.run(service.memory.replay, chat, at=seq)).to_dict()))


@routes.get("/facts", operation_id="listFacts", response_model=shapes.Items)
async def list_facts(
    request: Request,
    service: Served,
    chat: ReadSession,
    as_of: Annotated[shapes.Moment | SkipJsonSchema[None], Query()] = None,
) -> Response:
    """What is known of the user, now or at an earlier time."""
    return tagged(request, {"items": plain(await service.run(chat.facts, as_of))})


@routes.get("/facts/history", operation_id="factHistory", response_model=shapes.Items)
async def fact_history(request: Request, service: Served, chat: ReadSession, key: Annotated[Id, Query()]) -> Response:
    """Every value a fact has had, with its sources."""
    found = await service.run(service.memory.store.records.history, chat.scope.owner, "fact", key)
    return tagged(request, {"items": plain(found)})


@routes.post("/facts", operation_id="remember", status_code=201, response_model=shapes.Item)
async def remember(service: Served, chat: WrittenSession, fact: shapes.GivenFact) -> Response:
    """Keep a fact that the user states; an earlier value stays on record."""
    return answer({"item": plain(await service.run(chat.remember, fact.key, fact.value, fact.type))}, 201)


@routes.get("/patterns", operation_id="patterns", response_model=shapes.Item)
async def patterns(request: Request, service: Served, chat: ReadSession) -> Response:
    """The user's habits, from what happened."""
    return tagged(request, {"item": plain(await service.run(chat.patterns))})


@routes.get("/summary", operation_id="summary", response_model=shapes.Item)
async def summary(request: Request, service: Served, chat: ReadSession) -> Response:
    """What the older part of the session says in short."""
    return tagged(request, {"item": plain(await service.run(chat.summary))})


@routes.get("/documents", operation_id="listDocuments", response_model=shapes.Items)
async def list_documents(request: Request, service: Served, chat: ReadSession) -> Response:
    """The user's documents."""
    return tagged(request, {"items": plain(await service.run(chat.documents.list))})


@routes.post("/documents", operation_id="addDocument", status_code=201, response_model=shapes.Item)
async def add_document(service: Served, chat: WrittenSession, document: shapes.GivenDocument) -> Response:
    """Keep a document; one of the same name is updated in place."""
    return answer({"item": plain(await service.run(chat.documents.add, document.text, name=document.name))}, 201)


@routes.delete("/documents", operation_id="removeDocument", response_model=shapes.Removed)
async def remove_document(service: Served, chat: ErasedSession, id: Annotated[Id, Query()]) -> Response:
    """Forget a document and its chunks."""
    return answer({"removed": plain(await service.run(chat.documents.remove, id))})


@routes.post("/documents/search", operation_id="searchDocuments", response_model=shapes.Items)
async def search_documents(service: Served, chat: ReadSession, asked: shapes.DocumentQuestion) -> Response:
    """The chunks nearest to a question, best first."""
    return answer({"items": plain(await service.run(chat.documents.search, asked.question, asked.k))})


@routes.post("/tools", operation_id="addToolExcerpt", status_code=201, response_model=shapes.Item)
async def add_tool_excerpt(service: Served, chat: WrittenSession, excerpt: shapes.GivenExcerpt) -> Response:
    """Keep what a tool or a web search found, with its source and time."""
    return answer({"item": plain(await service.run(chat.tools.add, excerpt.text, excerpt.source, excerpt.at))}, 201)
