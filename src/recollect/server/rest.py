"""The conversation over REST: sessions, messages, recall, search, forget."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from recollect.absent import begun, others
from recollect.answers import Recalled
from recollect.errors import Conflict, NotFound
from recollect.memory import Memory
from recollect.server import given, shown
from recollect.server.given import Id
from recollect.server.problems import Refused
from recollect.server.replies import answer, tagged
from recollect.server.service import (
    ErasedScope,
    MaybeId,
    Reads,
    ReadScope,
    ReadSession,
    ReadUser,
    TalkedSession,
    WrittenSession,
    served,
)
from recollect.session import Session, entries_of, number_of, titles
from recollect.store import ANY, Entry, Filter, SessionStats
from recollect.types import Message, Scope

routes = APIRouter(responses=shown.ERRORS)

KeyHeader = Annotated[Annotated[str, Field(min_length=1, max_length=255)] | SkipJsonSchema[None], Header()]


async def _one_key(request: Request, idempotency_key: KeyHeader = None) -> str | None:
    if len(request.headers.getlist("Idempotency-Key")) > 1:
        raise Refused(400, "there is more than one Idempotency-Key", "send one; nothing was kept")
    return idempotency_key


IdempotencyKey = Annotated[str | None, Depends(_one_key)]
Limit = Annotated[given.Limit, Query()]
Number = Annotated[Annotated[int, Field(ge=1, le=2**53 - 1)] | SkipJsonSchema[None], Query()]
Place = Annotated[given.Place | SkipJsonSchema[None], Query()]


@routes.get("/sessions", operation_id="listSessions", response_model=shown.Sessions)
async def list_sessions(
    request: Request,
    key: Reads,
    user: MaybeId = None,
    limit: Limit = 50,
    before: Number = None,
) -> Response:
    """Sessions of a user, or of everyone, the one written to last first; those `before` a position."""
    service = served(request)
    return tagged(request, await service.run(_sessions, service.memory, Scope(key.tenant, user), before, limit))


@routes.get("/session", operation_id="getSession", response_model=shown.ShownSession)
async def get_session(request: Request, chat: ReadSession) -> Response:
    """One session at a glance."""
    return tagged(request, await served(request).run(_begun, chat))


def _sessions(memory: Memory, scope: Scope, before: int | None, limit: int) -> dict[str, Any]:
    found = memory.store.log.sessions(scope, before=before, limit=limit + 1)
    page = found[:limit]
    called = titles(memory.store.log, [session.scope for session in page])
    items = [_session(session, called[session.scope]) for session in page]
    return {"items": items, "before": page[-1].position if len(found) > limit else None}


def _begun(chat: Session) -> dict[str, Any]:
    found = chat.stats() or begun(chat, others(chat) or "see those that are by GET /sessions")
    return _session(found, chat.title())


def _session(session: SessionStats, title: str) -> dict[str, Any]:
    return {
        "user": session.scope.user,
        "session": session.scope.session,
        "title": title,
        "messages": session.messages,
        "tokens": session.tokens,
        "first": session.first,
        "last": session.last,
        "position": session.position,
    }


@routes.get("/messages", operation_id="listMessages", response_model=shown.Messages)
async def list_messages(
    request: Request,
    chat: ReadSession,
    limit: Limit = 50,
    before: Place = None,
    after: Place = None,
) -> Response:
    """The last messages of a session; those `before` one, by its number or its id, or those `after` one."""
    return tagged(request, await served(request).run(_page, chat, limit, before, after))


def _page(chat: Session, limit: int, before: int | str | None, after: int | str | None) -> dict[str, Any]:
    log, forward = chat.memory.store.log, after is not None
    start = 0 if after is None else number_of(chat, "after", after)
    until = None if before is None else number_of(chat, "before", before, 1) - 1
    found = log.read(chat.scope, after=start, until=until, limit=limit + 1, reverse=not forward)
    more, kept = len(found) > limit, found[:limit]
    if not forward:
        kept.reverse()
    edge = start if forward else until or 0
    first, last = (kept[0].seq, kept[-1].seq) if kept else (edge + 1, edge)
    earlier = bool(log.read(chat.scope, until=first - 1, limit=1)) if forward else more
    later = more if forward else until is not None and bool(log.read(chat.scope, after=last, limit=1))
    return {
        "items": [_entry(entry) for entry in kept],
        "before": first if earlier else None,
        "after": last if later else None,
    }


def _entry(entry: Entry) -> dict[str, Any]:
    return {"seq": entry.seq, "tokens": entry.tokens, "message": entry.message.to_dict()}


@routes.post("/messages/search", operation_id="searchMessages", response_model=shown.FoundMessages)
async def search_messages(
    request: Request, chat: ReadSession, where: given.Where, limit: Limit = 50, before: Place = None
) -> Response:
    """The last messages of a session by role, time and metadata; those `before` one, by its number or its id."""
    found = await served(request).run(entries_of, chat, limit + 1, before, _filter(where))
    kept = found[-limit:]
    return answer({"items": [_entry(entry) for entry in kept], "before": kept[0].seq if len(found) > limit else None})


def _filter(where: given.Where) -> Filter:
    return Filter(**where.model_dump()) if where.model_fields_set else ANY


@routes.get("/message", operation_id="getMessage", response_model=shown.FoundEntry)
async def get_message(request: Request, scope: ReadScope, id: Annotated[Id, Query()]) -> Response:
    """One message with its number, in a session, or in whichever of the user's has it where none is named."""
    service = served(request)
    found = await service.run(service.memory.store.log.get, scope, [id])
    if not found:
        raise NotFound(f"no message {id!r} in this session" if scope.session else f"no message {id!r} of this user")
    return tagged(request, _found(found[0]))


@routes.patch("/message", operation_id="tagMessage", response_model=shown.FoundEntry)
async def tag_message(request: Request, chat: TalkedSession, id: Annotated[Id, Query()], tags: given.Tags) -> Response:
    """Set metadata on a message of a session, such as a score that is given later; null takes a tag off."""
    return answer(_found(await served(request).run(_tag, chat, id, tags.metadata)))


def _tag(chat: Session, id: str, metadata: Mapping[str, Any]) -> Entry:
    chat.tag(id, **metadata)
    return chat.memory.store.log.get(chat.scope, [id])[0]


def _found(entry: Entry) -> dict[str, Any]:
    return {**_entry(entry), "session": entry.scope.session}


@routes.post("/messages", operation_id="addMessages", response_model=shown.Added, status_code=201)
async def add_messages(
    request: Request,
    chat: WrittenSession,
    batch: given.Batch,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Keep messages, whole or not at all. With an Idempotency-Key, or ids, sending them again is harmless."""
    return await served(request).run(_add, chat, batch, idempotency_key)


def _add(chat: Session, batch: given.Batch, key: str | None) -> Response:
    """Keep messages and answer with them; Conflict where their key came before with others."""
    messages = [message_of(one, derived_id(key, index)) for index, one in enumerate(batch.messages)]
    under = [message.id for index, message in enumerate(messages) if key and message.id == derived_id(key, index)]
    ends, beyond = {*under[:1], *under[-1:]}, derived_id(key, len(messages))
    known = {entry.message.id for entry in chat.memory.store.log.get(chat.scope, [*ends, beyond])} if ends else set()
    if known and known != ends:
        raise Conflict(f"the Idempotency-Key {key!r} came before with another number of messages")
    with sent_under(key, under):
        return answer({"items": [message.to_dict() for message in chat.add_many(messages)]}, 201)


@contextmanager
def sent_under(key: str | None, ids: Sequence[str]) -> Iterator[None]:
    """Name the key in a Conflict about one of the ids that it made: those the caller never saw."""
    try:
        yield
    except Conflict as error:
        if key and any(id in str(error) for id in ids):
            raise Conflict(f"the Idempotency-Key {key!r} came before with other content") from error
        raise


def derived_id(key: str | None, index: int) -> str:
    """The id of a message sent under an idempotency key: the same each time it is sent."""
    return hashlib.sha256(f"{key}\n{index}".encode()).hexdigest()[:32] if key else ""


def message_of(one: given.FromPerson | given.FromModel | given.FromTool, id: str) -> Message:
    """The message a caller sent."""
    fields = one.model_dump(exclude_unset=True)
    return Message.from_dict({**fields, "id": fields.get("id") or id})


@routes.post("/recall", operation_id="recall", response_model=shown.Hits)
async def recall(request: Request, chat: ReadUser, asked: given.RecallQuestion) -> Response:
    """The messages that answer a question, best first, within a budget of tokens."""
    return _hits(await served(request).run(chat.recall, asked.question, asked.budget, asked.k, **_narrowed(asked)))


@routes.post("/search", operation_id="search", response_model=shown.Hits)
async def search(request: Request, chat: ReadUser, asked: given.SearchQuestion) -> Response:
    """The best messages, one a hit, best first; or of the `kind` that is named: parts of summaries, facts, excerpts."""
    return _hits(await served(request).run(chat.search, asked.question, asked.k, kind=asked.kind, **_narrowed(asked)))


def _narrowed(asked: given.Question) -> dict[str, Any]:
    """The arguments of a search: when the question is asked, where to look, and how much newness counts."""
    return {"at": asked.at, "scope": asked.scope, "where": _filter(asked.where), "recency": asked.recency}


def _hits(found: Recalled) -> Response:
    return answer({"items": list(found), "relevance": found.relevance, "by_chance": found.by_chance})


@routes.post("/forget/preview", operation_id="previewForget", response_model=shown.ShownErased)
async def preview_forget(request: Request, scope: ErasedScope, what: given.Forget) -> Response:
    """How much `forget` would erase; nothing is touched."""
    service = served(request)
    found = await service.run(service.memory.would_forget, scope, what.ids)
    return answer(found.counted())


@routes.post("/forget", operation_id="forget", response_model=shown.ShownErased)
async def forget(request: Request, scope: ErasedScope, what: given.Forget) -> Response:
    """Erase messages, a session, or all of a user for good: text, index and all that was learned from them."""
    service = served(request)
    return answer(await service.run(service.memory.forget, scope, what.ids))
