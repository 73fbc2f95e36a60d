"""AsyncMemory: the methods of Memory, awaited. They run the same code on threads, so the event loop never blocks.

async with AsyncMemory.open("memory.db") as memory:
    chat = memory.session("trip", user="ada")
    await chat.add("user", "My sister Nadia moved to Oslo in May.")
    context = await chat.context("Where does my sister live?")
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from functools import partial, update_wrapper, wraps
from typing import Any, Concatenate, Generic, NoReturn, ParamSpec, Self, TypeVar

from recollect.errors import ConfigError
from recollect.memory import OPEN, Memory
from recollect.session import Session, ToolsOf
from recollect.types import Scope
from recollect.user import DocumentsOf, User

S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)
P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _Awaited(Generic[S_co]):
    """An object whose methods are awaited; `sync` is the one with plain methods."""

    sync: S_co


def awaited(verb: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[_Awaited[S], P], Coroutine[Any, Any, R]]:
    """The awaited form of a method. A cancelled call is still carried out completely or not at all."""

    @wraps(verb)
    async def call(self: _Awaited[S], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.to_thread(verb, self.sync, *args, **kwargs)

    return call


def on_thread(verb: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """The awaited form of a method of the same class, which a subclass may override."""

    @wraps(verb)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        own: Callable[P, R] = getattr(self, verb.__name__)
        return await asyncio.to_thread(own, *args, **kwargs)

    return call


def taking(other: Callable[P, Any]) -> Callable[[Callable[Concatenate[S, ...], R]], Callable[Concatenate[S, P], R]]:
    """Gives a class method the signature and docstring of another, for people and for type checkers."""

    def method(verb: Callable[Concatenate[S, ...], R]) -> Callable[Concatenate[S, P], R]:
        update_wrapper(verb, getattr(other, "__func__", other))
        return verb

    return method


async def done(write: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """The result of a write. The write is over when this returns, even if the caller was cancelled meanwhile."""
    task = asyncio.ensure_future(asyncio.to_thread(write, *args, **kwargs))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled:
        raise cancelled from task.exception()
    return task.result()


class AsyncDocuments(_Awaited[DocumentsOf]):
    """A user's documents."""

    add = awaited(DocumentsOf.add)
    list = awaited(DocumentsOf.list)
    search = awaited(DocumentsOf.search)
    remove = awaited(DocumentsOf.remove)


class AsyncTools(_Awaited[ToolsOf]):
    """A session's tool excerpts."""

    add = awaited(ToolsOf.add)
    list = awaited(ToolsOf.list)
    search = awaited(ToolsOf.search)


U = TypeVar("U", bound=User)


class _AsyncUser(_Awaited[U]):
    recall = awaited(User.recall)
    search = awaited(User.search)
    facts = awaited(User.facts)
    fact_history = awaited(User.fact_history)
    remember = awaited(User.remember)
    forget_fact = awaited(User.forget_fact)
    patterns = awaited(User.patterns)
    forget = awaited(User.forget)
    would_forget = awaited(User.would_forget)

    @property
    def scope(self) -> Scope:
        """Whose memory it is."""
        return self.sync.scope

    @property
    def documents(self) -> AsyncDocuments:
        """The user's documents."""
        return AsyncDocuments(self.sync.documents)


class AsyncUser(_AsyncUser[User]):
    """Everything kept about a user."""


class AsyncSession(_AsyncUser[Session]):
    """One conversation: what is added here is remembered for its user."""

    add = awaited(Session.add)
    add_many = awaited(Session.add_many)
    add_turn = awaited(Session.add_turn)
    context = awaited(Session.context)
    replay = awaited(Session.replay)
    summary = awaited(Session.summary)
    history = awaited(Session.history)
    tag = awaited(Session.tag)
    title = awaited(Session.title)
    stats = awaited(Session.stats)

    @property
    def tools(self) -> AsyncTools:
        """What tools and searches brought into the session."""
        return AsyncTools(self.sync.tools)


class Opening:
    """A memory that is opened on a thread once it is entered (`async with`) or awaited."""

    def __init__(self, kind: Callable[[Memory], AsyncMemory], opened: Callable[[], Memory]) -> None:
        self._kind, self._open = kind, opened
        self._left = False
        self._lock = threading.Lock()
        self._memory: Memory | None = None

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"no {name!r} before the memory is open: await AsyncMemory.open(…), or enter it by async with"
        )

    def __await__(self) -> Generator[Any, None, AsyncMemory]:
        return self._opened().__await__()

    async def __aenter__(self) -> AsyncMemory:
        return await self

    async def __aexit__(self, *_: object) -> None:
        if self._memory:
            await asyncio.to_thread(self._memory.close)

    async def _opened(self) -> AsyncMemory:
        try:
            return self._kind(await asyncio.to_thread(self._work))
        except asyncio.CancelledError:
            with self._lock:
                self._left = True
            if self._memory:
                self._memory.close()
            raise

    def _work(self) -> Memory:
        memory = self._open()
        with self._lock:
            self._memory = memory
            left = self._left
        if left:
            memory.close()
        return memory


class AsyncMemory(_Awaited[Memory]):
    """`Memory` for asyncio: the same methods, awaited. Begin with `AsyncMemory.open`."""

    def __init__(self, sync: Memory | None = None) -> None:
        if not isinstance(sync, Memory):
            raise ConfigError(OPEN.format("AsyncMemory"))
        super().__init__(sync)

    sessions = awaited(Memory.sessions)
    reindex = awaited(Memory.reindex)
    forget = awaited(Memory.forget)
    would_forget = awaited(Memory.would_forget)
    drain = awaited(Memory.drain)
    stats = awaited(Memory.stats)
    close = awaited(Memory.close)

    @classmethod
    @taking(Memory.open)
    def open(cls, *args: Any, **kwargs: Any) -> Opening:
        """Open the memory in a file or at an address; enter or await the result. See `Memory.open`."""
        return Opening(cls, partial(Memory.open, *args, **kwargs))

    def user(self, id: str, *, tenant: str = "default") -> AsyncUser:
        """A user."""
        return AsyncUser(self.sync.user(id, tenant=tenant))

    def session(self, id: str, *, user: str, tenant: str = "default") -> AsyncSession:
        """One conversation of a user."""
        return AsyncSession(self.sync.session(id, user=user, tenant=tenant))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
