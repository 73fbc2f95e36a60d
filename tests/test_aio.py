"""AsyncMemory: the same verbs with the same arguments, awaited; nothing lost when a call is cancelled."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest

from recollect import AsyncMemory, Memory, Session
from recollect.aio import AsyncDocuments, AsyncSession, AsyncTools
from recollect.session import DocumentsOf, ToolsOf

PAIRS = [(Memory, AsyncMemory), (Session, AsyncSession), (DocumentsOf, AsyncDocuments), (ToolsOf, AsyncTools)]
NOT_AWAITED = {"open", "session", "wake", "added"}


def verbs(of: type[Any]) -> dict[str, Any]:
    return {name: verb for name, verb in inspect.getmembers(of, inspect.isfunction) if not name.startswith("_")}


@pytest.mark.parametrize("plain, awaited", PAIRS)
def test_every_verb_is_there_with_the_same_arguments(plain: type[Any], awaited: type[Any]) -> None:
    wanted = {name: verb for name, verb in verbs(plain).items() if name not in NOT_AWAITED}
    assert wanted.keys() == {name for name in verbs(awaited) if name not in NOT_AWAITED}
    for name, verb in wanted.items():
        assert inspect.signature(getattr(awaited, name)) == inspect.signature(verb), name
        assert inspect.iscoroutinefunction(getattr(awaited, name)), name


@pytest.mark.parametrize("name", ["open", "session"])
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
            context = await other.context("Where does my sister live?", budget=1_000)
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
