"""What every route works with: the memory, the keys, the limits; and who is calling."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, ParamSpec, TypeAlias, TypeVar
from urllib.parse import unquote_to_bytes

from anyio import CapacityLimiter, to_thread
from fastapi import Query, Request, Security
from fastapi.security import HTTPBearer, SecurityScopes
from fastapi.security.base import SecurityBase
from pydantic.json_schema import SkipJsonSchema

from recollect.errors import StoreUnavailable
from recollect.flow.context import Context
from recollect.http import loopback
from recollect.llm import ChatModel
from recollect.memory import Memory
from recollect.recent import Recent
from recollect.server.auth import ANYONE, Key, Ring, from_here, said
from recollect.server.given import Id
from recollect.server.limits import Rate, Streams
from recollect.server.options import Options
from recollect.server.problems import Refused
from recollect.server.translated import Translated
from recollect.server.upstream import Passthrough
from recollect.session import Session
from recollect.types import Message, Scope
from recollect.user import User

if TYPE_CHECKING:
    from recollect.server.metrics import Metrics

P = ParamSpec("P")
T = TypeVar("T")

KEYS_SECONDS: Final = 1.0
"""How long a request waits for the keys to be read anew."""
MODELS: Final = 1_000
"""How many models' limits are remembered; callers can name any."""
ADD_KEY: Final = "add a key: recollect keys add"
bearer = HTTPBearer(auto_error=False, description="A key of this service; none is needed where it has none.")


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """A memory that is being served."""

    memory: Memory
    options: Options
    ring: Ring
    rate: Rate
    streams: Streams
    metrics: Metrics
    model: ChatModel
    upstream: Passthrough | Translated
    threads: CapacityLimiter
    parameters: Mapping[tuple[str, str], frozenset[str]]
    takes: Recent[tuple[str, str], int] = field(default_factory=lambda: Recent(MODELS))
    """Limits in tokens, answer included, that models named when they refused a prompt, by tenant and model.

    A refusal may quote the request, so what one tenant was told says nothing to another.
    """

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the library on a thread and return the result; the event loop goes on meanwhile."""
        return await to_thread.run_sync(partial(work, *args, **kwargs), limiter=self.threads)

    async def end(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """As `run`, for what is left to do when an answer is over; only a few of these are done at once.

        To keep a long answer takes a tenth of a second, and hundreds may end at the same moment.
        """
        return await to_thread.run_sync(partial(work, *args, **kwargs), limiter=self.streams.ends)


def served(request: Request) -> Service:
    """The service behind a request."""
    found: Service = request.app.state.service
    return found


def context_for(
    message: Message,
    chat: Session,
    budget: int | None,
    *,
    system: str | None = None,
    tools: Sequence[Mapping[str, Any]] = (),
) -> Context:
    """The context for a kept message of the user; if others have spoken since, as it was when the message came."""
    context = chat.context(None, budget, system=system, tools=tools)
    if context.conversation and context.conversation[-1].id == message.id:
        return context
    for entry in chat.memory.store.log.get(chat.scope, [message.id]):
        return chat.replay(entry.seq, budget, system=system, tools=tools)
    return context


class Rights(SecurityBase):
    """Gives a route the key of its request; 403 where that key may not do what the route names as its scopes."""

    model, scheme_name = bearer.model, bearer.scheme_name

    async def __call__(self, request: Request, needed: SecurityScopes) -> Key:
        """The key of a request, once its parameters and rights are checked."""
        _check_names(request, served(request))
        key = await caller(request)
        for what in needed.scopes:
            if not key.allows(what):
                may = " and ".join(map(said, needed.scopes))
                raise Refused(403, f"this key may not {said(what)}", f"use a key that may {may}")
        return key


async def caller(request: Request) -> Key:
    """The key of a request; it is looked up, and the request counted, once."""
    known: Key | None = getattr(request.state, "key", None)
    if known:
        return known
    key = request.state.key = await still_known(request)
    served(request).rate.check(key.id)
    return key


async def still_known(request: Request) -> Key:
    """The key of a request, looked up now: one that was revoked since the request began is refused."""
    service = served(request)
    if service.ring.stale:
        await _refreshed(service)
    given = await bearer(request)
    return await _key(request, service, given.credentials if given else None)


def _check_names(request: Request, service: Service) -> None:
    """Refuse, rather than ignore, query parameters that have a wrong name, come twice or are not UTF-8."""
    if not request.scope["query_string"]:
        return
    try:
        unquote_to_bytes(request.scope["query_string"]).decode()
    except UnicodeDecodeError:
        raise Refused(400, "the address has bytes that are not UTF-8", "percent-encode names as UTF-8") from None
    there_are = service.parameters[request.method, request.scope["route"].path_format]
    if unknown := [name for name in request.query_params if name not in there_are]:
        detail = f"there is no parameter {unknown[0]!r}; there are {', '.join(sorted(there_are)) or 'none'}"
        raise Refused(422, detail, "correct its name and send it again")
    named = [name for name, _ in request.query_params.multi_items()]
    if twice := [name for name in there_are if named.count(name) > 1]:
        raise Refused(422, f"the parameter {twice[0]!r} is given twice", "send it once")


async def _key(request: Request, service: Service, secret: str | None) -> Key:
    if not service.ring:
        return _anyone(request)
    if secret and (key := service.ring.get(secret)):
        return key
    service.rate.check(request.client.host if request.client else "")
    if secret and not await _refreshed(service):
        raise StoreUnavailable("the store did not say in time whether this key is known")
    if secret and (key := service.ring.get(secret)):
        return key
    problem = "this key is not known" if secret else "a key is needed"
    raise Refused(401, problem, "send `Authorization: Bearer <key>`", {"WWW-Authenticate": "Bearer"})


async def _refreshed(service: Service) -> bool:
    """Read the keys anew, and not only join a reading that began earlier; returns whether that worked.

    A slow store is waited for only briefly. One thread at a time reads, however many requests ask.
    """
    ring, before = service.ring, service.ring.reading
    if before and not before.done() and not (await asyncio.wait([before], timeout=KEYS_SECONDS))[0]:
        return False
    if ring.reading is before:
        ring.reading = asyncio.ensure_future(to_thread.run_sync(ring.refresh, limiter=service.threads))
    done = ring.reading and (await asyncio.wait([ring.reading], timeout=KEYS_SECONDS))[0]
    return any(reading.result() for reading in done or ())


def _anyone(request: Request) -> Key:
    server = request.scope.get("server")
    if server and server[1] is not None and not loopback(server[0]):
        raise Refused(403, "this service has no keys, so only its own machine may call it", ADD_KEY)
    if not from_here(request.headers.get("host", ""), request.headers.get("origin")):
        raise Refused(403, "this service has no keys, so only its own machine's pages may call it", ADD_KEY)
    return ANYONE


UserId: TypeAlias = Annotated[Id, Query(description="Whose memory.")]
SessionId: TypeAlias = Annotated[Id, Query(description="Which conversation.")]
MaybeId: TypeAlias = Annotated[Id | SkipJsonSchema[None], Query()]
MaybeSession: TypeAlias = Annotated[
    Id | SkipJsonSchema[None], Query(description="Which conversation; without one, the user is meant.")
]
_rights = Rights()
Reads: TypeAlias = Annotated[Key, Security(_rights, scopes=["read"])]
Writes: TypeAlias = Annotated[Key, Security(_rights, scopes=["write"])]
Talks: TypeAlias = Annotated[Key, Security(_rights, scopes=["read", "write"])]
"""The key for a chat: it must read too, since answers tell what memory holds."""
Administers: TypeAlias = Annotated[Key, Security(_rights, scopes=["admin"])]
_Allowed: TypeAlias = Annotated[Key, Security(_rights)]
"""The key of a request; the types below say, by their scopes, what it must allow."""


async def _session(request: Request, key: _Allowed, user: UserId, session: SessionId) -> Session:
    return served(request).memory.session(session, user=user, tenant=key.tenant)


async def _scope(key: _Allowed, user: UserId, session: MaybeSession = None) -> Scope:
    return Scope(key.tenant, user, session)


async def _user(request: Request, key: _Allowed, user: UserId, session: MaybeSession = None) -> User:
    memory = served(request).memory
    if session is None:
        return memory.user(user, tenant=key.tenant)
    return memory.session(session, user=user, tenant=key.tenant)


ReadSession: TypeAlias = Annotated[Session, Security(_session, scopes=["read"])]
WrittenSession: TypeAlias = Annotated[Session, Security(_session, scopes=["write"])]
TalkedSession: TypeAlias = Annotated[Session, Security(_session, scopes=["read", "write"])]
ReadUser: TypeAlias = Annotated[User, Security(_user, scopes=["read"])]
WrittenUser: TypeAlias = Annotated[User, Security(_user, scopes=["write"])]
ErasedUser: TypeAlias = Annotated[User, Security(_user, scopes=["erase"])]
"""The user from whom something is erased that all sessions share; no session needs to be named."""
ReadScope: TypeAlias = Annotated[Scope, Security(_scope, scopes=["read"])]
ErasedScope: TypeAlias = Annotated[Scope, Security(_scope, scopes=["erase"])]
"""A session, or all of a user where no session is named."""
