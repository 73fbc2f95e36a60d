"""AsyncMemory: the same verbs with the same arguments, awaited; nothing lost when a call is cancelled."""

from __future__ import annotations

import asyncio
import inspect
import threading
from pathlib import Path
from typing import Any, assert_type

import pytest

from recollect import AsyncMemory, Context, Memory, Session
from recollect.aio import AsyncDocuments, AsyncSession, AsyncTools, AsyncUser, Opening
from recollect.errors import StoreUnavailable
from recollect.session import ToolsOf
from recollect.user import DocumentsOf, User
from tests.wrong import wrong

PAIRS = [
    (Memory, AsyncMemory),
    (User, AsyncUser),
    (Session, AsyncSession),
    (DocumentsOf, AsyncDocuments),
    (ToolsOf, AsyncTools),
]
NOT_AWAITED = {"open", "user", "session", "wake", "added"}


def verbs(of: type[Any]) -> dict[str, Any]:
    return {name: verb for name, verb in inspect.getmembers(of, inspect.isfunction) if not name.startswith("_")}


@pytest.mark.parametrize("plain, awaited", PAIRS)
def test_every_verb_is_there_with_the_same_arguments(plain: type[Any], awaited: type[Any]) -> None:
    wanted = {name: verb for name, verb in verbs(plain).items() if name not in NOT_AWAITED}
    assert wanted.keys() == {name for name in verbs(awaited) if name not in NOT_AWAITED}
    for name, verb in wanted.items():
        assert inspect.signature(getattr(awaited, name)) == inspect.signature(verb), name
        assert inspect.iscoroutinefunction(getattr(awaited, name)), name


@pytest.mark.parametrize("name", ["open", "user", "session"])
def test_what_opens_one_takes_the_same_arguments(name: str) -> None:
    plain, awaited = (inspect.signature(getattr(of, name)).parameters for of in (Memory, AsyncMemory))
    assert plain == awaited


def test_a_conversation(tmp_path: Path) -> None:
    async def talk() -> None:
        async with AsyncMemory.open(tmp_path / "m.db", embedder=None) as memory:
            chat = memory.session("trip", user="ada")
            await chat.add("user", "My sister Nadia moved to Oslo.")
            await chat.documents.add("Oslo is in Norway.", name="oslo.md")
            await chat.tools.add("It rains in Oslo.", "weather")
            await memory.drain()
            other = memory.session("later", user="ada")
            context = assert_type(await other.context("Where does my sister live?", budget=1_000), Context)
            assert "Nadia moved to Oslo" in context.memory
            assert [document.name for document in await chat.documents.list()] == ["oslo.md"]

    asyncio.run(talk())


def test_many_at_once_and_one_cancelled_lose_nothing(tmp_path: Path) -> None:
    async def talk() -> list[str]:
        async with AsyncMemory.open(tmp_path / "m.db", embedder=None, durability="normal") as memory:
            chat = memory.session("s", user="ada")
            tasks = [asyncio.create_task(chat.add("user", f"number {n}")) for n in range(50)]
            await asyncio.sleep(0)
            tasks[7].cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert sum(isinstance(one, asyncio.CancelledError) for one in done) == 1
            return [message.text for message in await chat.history()]

    kept = asyncio.run(talk())
    assert len(kept) == len(set(kept)) >= 49


class SlowlyOpened(list[Memory]):
    """The memories that are opened, each only once that is `allowed`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        opened, self.allowed, self._begun = Memory.open, threading.Event(), threading.Event()

        def slowly(*args: Any, **kwargs: Any) -> Memory:
            self._begun.set()
            assert self.allowed.wait(30)
            self.append(opened(*args, **kwargs))
            return self[-1]

        monkeypatch.setattr(Memory, "open", slowly)

    async def begun(self) -> None:
        """Wait until one is being opened."""
        while not self._begun.is_set():
            await asyncio.sleep(0.01)


def test_it_is_opened_without_the_event_loop_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = SlowlyOpened(monkeypatch)

    async def talk() -> str:
        opening = asyncio.ensure_future(_awaited(AsyncMemory.open(tmp_path / "m.db", embedder=None)))
        await memories.begun()
        memories.allowed.set()  # by the loop, which goes on
        async with await opening as memory:
            return (await memory.session("trip", user="ada").add("user", "Hello.")).text

    assert asyncio.run(talk()) == "Hello."


def test_one_that_is_cancelled_while_it_opens_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = SlowlyOpened(monkeypatch)

    async def leave() -> None:
        opening = asyncio.ensure_future(_awaited(AsyncMemory.open(tmp_path / "m.db", embedder=None)))
        await memories.begun()
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        memories.allowed.set()
        await asyncio.get_running_loop().shutdown_default_executor()
        await asyncio.sleep(0)

    asyncio.run(leave())
    with pytest.raises(StoreUnavailable, match="closed"):
        memories[0].session("trip", user="ada").add("user", "Hello.")


def test_one_that_opens_while_its_loop_ends_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memories = SlowlyOpened(monkeypatch)

    async def interrupted() -> None:
        task = asyncio.ensure_future(_awaited(AsyncMemory.open(tmp_path / "m.db", embedder=None)))
        await memories.begun()
        asyncio.get_running_loop().call_later(0.05, memories.allowed.set)
        del task

    asyncio.run(interrupted())
    with pytest.raises(StoreUnavailable, match="closed"):
        memories[0].session("trip", user="ada").add("user", "Hello.")


def test_one_that_is_not_awaited_says_so(tmp_path: Path) -> None:
    with pytest.raises(AttributeError, match=r"await AsyncMemory\.open"):
        wrong(AsyncMemory.open(tmp_path / "m.db", embedder=None)).session("trip", user="ada")


def test_every_verb_of_a_user_can_be_awaited_by_a_session_too(tmp_path: Path) -> None:
    """For type checkers above all: a session is a user's."""

    class Mine(AsyncMemory):
        """An application's own."""

    async def talk() -> None:
        async with Mine.open(tmp_path / "m.db", embedder=None) as memory:
            assert isinstance(memory, Mine)
            chat: AsyncSession = memory.session("trip", user="ada")
            await chat.add("user", "I live in Lisbon.")
            assert [fact.value for fact in await chat.facts()] == ["Lisbon"]
            assert len(await chat.recall("Lisbon")) == len(await chat.search("Lisbon")) == 1
            assert await chat.remember("place", "Porto")
            assert len(await chat.fact_history("place")) == 2
            assert (await chat.forget()).messages == 1

    asyncio.run(talk())


async def _awaited(opening: Opening) -> AsyncMemory:
    return await opening
