"""What keeps a service going, over REST: export and import, statistics, the work that waits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic.json_schema import SkipJsonSchema

from recollect.server import shapes
from recollect.server.problems import Refused
from recollect.server.replies import answer, plain
from recollect.server.service import Administers, Reads, ReadScope, Served, Writes
from recollect.transfer import PAGE, export_lines, import_lines
from recollect.types import Scope

LINES: Final = "application/jsonl"
BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "description": "One item a line.",
        "content": {LINES: {"schema": {"type": "array", "items": {"$ref": "#/components/schemas/Line"}}}},
    },
}

routes = APIRouter()


@routes.get(
    "/export", operation_id="export", response_class=StreamingResponse, responses={200: {"content": {LINES: {}}}}
)
async def export(service: Served, scope: ReadScope) -> Response:
    """Every message of a user, or of one session, as lines of JSON that `import` takes."""
    return StreamingResponse(export_lines(service.memory, scope), media_type=LINES)


@routes.post("/import", operation_id="import", response_model=shapes.Taken, openapi_extra=BODY)
async def take(request: Request, service: Served, key: Writes) -> Response:
    """Take in what `export` gave, ids and times kept. Taking it in again changes nothing."""
    if request.headers.get("content-type", LINES).partition(";")[0].strip() != LINES:
        raise Refused(415, f"the body must be lines of JSON ({LINES})", f"send Content-Type: {LINES}")
    taken, first = 0, 1
    async for page in _pages(request, service.options.max_body):
        taken += await service.run(import_lines, service.memory, page, key.tenant, first)
        first += len(page)
    return answer({"messages": taken})


async def _pages(request: Request, longest: int) -> AsyncIterator[list[bytes]]:
    """The lines of a body, some hundred at a time, none longer than allowed."""
    rest, page = b"", list[bytes]()
    async for chunk in request.stream():
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > longest:
            raise Refused(413, f"a line has more than {longest:,} bytes", "split its message")
        page += lines
        while len(page) >= PAGE:
            yield page[:PAGE]
            page = page[PAGE:]
    if page or rest:
        yield [*page, rest]


@routes.get("/stats", operation_id="stats", response_model=dict[str, float])
async def stats(service: Served, _: Administers) -> Response:
    """Every metric of this process by its name."""
    return answer(await service.run(service.memory.stats))


@routes.get("/jobs", operation_id="listJobs", response_model=shapes.Jobs)
async def list_jobs(
    service: Served,
    key: Reads,
    state: Annotated[Literal["waiting", "running", "dead"] | SkipJsonSchema[None], Query()] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Response:
    """Background work that waits, runs or was given up, oldest first."""
    found = await service.run(service.memory.store.jobs.find, Scope(key.tenant), state=state, limit=limit)
    return answer({"items": plain(found)})


@routes.post("/jobs/revive", operation_id="reviveJobs", response_model=shapes.Revived)
async def revive_jobs(service: Served, key: Administers) -> Response:
    """Let work that was given up be tried anew."""
    revived = await service.run(service.memory.store.jobs.revive, Scope(key.tenant))
    service.memory.wake()
    return answer({"revived": revived})
