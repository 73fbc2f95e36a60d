"""The upkeep of a service, over REST: export and import, retention, statistics, background work."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import Field, ValidationError
from pydantic.json_schema import SkipJsonSchema

from recollect import retention
from recollect.errors import InvalidTranscript
from recollect.imports.recollect import kind_of
from recollect.memory import Memory
from recollect.server import given, shown
from recollect.server.auth import Key
from recollect.server.lines import BY_KIND
from recollect.server.problems import Refused, unfit
from recollect.server.replies import answer, tagged
from recollect.server.service import Administers, ErasedScope, Reads, ReadScope, Writes, served, still_known
from recollect.transfer import PAGE, export_lines, import_lines
from recollect.types import Scope

LINES: Final = "application/jsonl"
PIECE: Final = 2**16
"""Characters of an export that are sent at once, or a line more: each piece takes a thread and a write of its own."""
OTHERS: Final = ("record", "item")
"""Kinds that only admin may import: adapters trust them as their own, and some may even run what is in them."""
BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "description": "One item a line.",
        "content": {LINES: {"schema": {"type": "array", "items": {"$ref": "#/components/schemas/Line"}}}},
    },
}

routes = APIRouter(responses=shown.ERRORS)


@routes.get(
    "/export", operation_id="export", response_class=StreamingResponse, responses={200: {"content": {LINES: {}}}}
)
async def export(request: Request, scope: ReadScope) -> Response:
    """All that was put in by a user, or in one session, as lines of JSON that `import` takes."""
    return StreamingResponse(_pieces(export_lines(served(request).memory, scope)), media_type=LINES)


def _pieces(lines: Iterator[str]) -> Iterator[str]:
    waiting, size = list[str](), 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= PIECE:
            yield "".join(waiting)
            waiting, size = [], 0
    yield "".join(waiting)


@routes.post("/import", operation_id="import", response_model=shown.Taken, openapi_extra=BODY)
async def take(request: Request, key: Writes) -> Response:
    """Take in what `export` gave, ids and times kept. Taking it in again changes nothing."""
    service = served(request)
    if request.headers.get("content-type", LINES).lower().partition(";")[0].strip() != LINES:
        raise Refused(415, f"the body must be lines of JSON ({LINES})", f"send Content-Type: {LINES}")
    taken, first = Counter[str](), 1
    async for page in _pages(request, service.options.max_body):
        await still_known(request)
        taken += await service.run(_take, service.memory, page, key, first)
        first += len(page)
    return answer({f"{kind}s": taken[kind] for kind in BY_KIND} | {"known": taken["known"]})


def _take(memory: Memory, page: list[bytes], key: Key, first: int) -> Counter[str]:
    for number, line in enumerate(page, first):
        if line.strip() and _kind(line, f"line {number}") in OTHERS and not key.allows("admin"):
            detail = f"line {number} holds what an adapter keeps, and this key may not administer"
            raise Refused(403, detail, "leave it out, or use a key that may administer")
    return import_lines(memory, page, key.tenant, first)


def _kind(line: bytes, where: str) -> str:
    """The kind of a line; InvalidTranscript where it is not as the OpenAPI document says."""
    try:
        data = json.loads(line)
        kind = kind_of(data)
        BY_KIND[kind].model_validate(data)
        return kind
    except (ValueError, RecursionError) as error:
        why = unfit(error) if isinstance(error, ValidationError) else str(error)
        raise InvalidTranscript(f"{why}; correct it and import all again: what is in stays once", where) from error


async def _pages(request: Request, longest: int) -> AsyncIterator[list[bytes]]:
    """The lines of a body in pages of `PAGE`; refused where one has more than `longest` bytes."""
    rest, page = b"", list[bytes]()
    async for chunk in request.stream():
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > longest:
            raise Refused(
                413,
                f"a line has more than {longest:,} bytes",
                "raise RECOLLECT_MAX_BODY, or bring it in with `recollect import`",
            )
        page += lines
        while len(page) >= PAGE:
            yield page[:PAGE]
            page = page[PAGE:]
    if page or rest:
        yield [*page, rest]


@routes.post("/retention/preview", operation_id="previewRetention", response_model=shown.RetentionPlan)
async def preview_retention(request: Request, scope: ErasedScope, wanted: given.Policies) -> Response:
    """What these policies would let go now; nothing is touched. The digest names exactly that."""
    service = served(request)
    policies = [retention.Policy(**policy.model_dump()) for policy in wanted.policies]
    plan = await service.run(retention.preview, service.memory.store, scope, policies, service.memory.clock())
    return answer({"now": plan.now, "digest": plan.digest, "going": plan.going})


@routes.post("/retention", operation_id="applyRetention", response_model=shown.ShownErased)
async def apply_retention(request: Request, scope: ErasedScope, wanted: given.PlannedPolicies) -> Response:
    """Erase exactly what was previewed; refused where that is no longer the same."""
    service = served(request)
    policies = tuple(retention.Policy(**policy.model_dump()) for policy in wanted.policies)
    plan = retention.Plan(scope, policies, wanted.now, (), wanted.digest)
    erased = await service.run(retention.apply, service.memory.store, plan)
    await service.run(service.memory.controller.forget, scope)
    return answer(erased)


@routes.get("/stats", operation_id="stats", response_model=dict[str, float])
async def stats(request: Request, _: Administers) -> Response:
    """Every metric by its name."""
    service = served(request)
    return answer(service.metrics.stats(service.memory))


@routes.get("/jobs", operation_id="listJobs", response_model=shown.Jobs)
async def list_jobs(
    request: Request,
    key: Reads,
    state: Annotated[Literal["waiting", "running", "dead"] | SkipJsonSchema[None], Query()] = None,
    limit: Annotated[given.Limit, Query()] = 50,
    after: Annotated[Annotated[int, Field(ge=0, le=2**53 - 1)] | SkipJsonSchema[None], Query()] = None,
) -> Response:
    """Background work that waits, runs or was given up, oldest first; what comes `after` a job."""
    service, start = served(request), "" if after is None else str(after)
    find = service.memory.store.jobs.find
    found = await service.run(find, Scope(key.tenant), state=state, after=start, limit=limit + 1)
    more = len(found) > limit
    return tagged(request, {"items": found[:limit], "after": int(found[limit - 1].id) if more else None})


@routes.post("/jobs/revive", operation_id="reviveJobs", response_model=shown.Revived)
async def revive_jobs(request: Request, key: Administers) -> Response:
    """Have work that was given up tried again."""
    service = served(request)
    revived = await service.run(service.memory.store.jobs.revive, Scope(key.tenant))
    service.memory.wake()
    return answer({"revived": revived})
