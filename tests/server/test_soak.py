"""Many chats at once: nothing is lost, whoever goes away. With --soak two hundred for a minute, with their latency."""

from __future__ import annotations

import asyncio
import json
import random
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest

from recollect.memory import Memory
from tests.server.test_running import started


@dataclass
class Chat:
    """What one caller said, which answers came whole, and how long each took to begin."""

    number: int
    said: list[str] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)

    async def turn(self, http: httpx2.AsyncClient, goes_away: bool) -> None:
        text = f"chat {self.number} says {len(self.said)}: the {random.choice(WORDS)} of the {random.choice(WORDS)}?"
        begun, first, heard = time.perf_counter(), 0.0, ""
        params = {"user": f"user {self.number}", "session": "soak"}
        async with http.stream("POST", "/chat", params=params, json={"message": text}) as answer:
            assert answer.status_code == 200, await answer.aread()
            self.said.append(text)
            async for piece in answer.aiter_text():
                first = first or time.perf_counter() - begun
                heard += piece
                if goes_away:
                    return
        self.latencies.append(first)
        done = next(block for block in heard.split("\n\n") if block.startswith("event: done"))
        self.answers[text] = json.loads(done.split("data: ", 1)[1])["message"]["id"]


WORDS = ["river", "window", "engine", "letter", "garden", "winter", "bridge", "market", "signal", "harbour"]


async def talk(url: str, chats: list[Chat], seconds: float, turns: int, pause: float) -> None:
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=len(chats))
    async with httpx2.AsyncClient(base_url=url, timeout=120, limits=limits) as http:

        async def go_on(chat: Chat) -> None:
            await asyncio.sleep(pause * random.random())
            while len(chat.said) < turns and time.perf_counter() < end:
                await chat.turn(http, goes_away=random.random() < 0.1)
                await asyncio.sleep(pause * (0.5 + random.random()))

        end = time.perf_counter() + seconds
        await asyncio.gather(*map(go_on, chats))


def test_chats_at_once_lose_nothing(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    soak = request.config.getoption("--soak")
    chats = [Chat(number) for number in range(200 if soak else 20)]
    with started(str(tmp_path / "memory.db")) as process:
        asyncio.run(talk(str(process.http.base_url), chats, *((60.0, 10**6, 5.0) if soak else (60.0, 3, 0.0))))
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        for chat in chats:
            history = memory.session("soak", user=f"user {chat.number}").history()
            assert [message.text for message in history if message.role == "user"] == chat.said
            places = {message.id: place for place, message in enumerate(history)}
            asked = {message.text: place for place, message in enumerate(history) if message.role == "user"}
            assert [text for text, id in chat.answers.items() if places.get(id, -1) < asked[text]] == []
    waits = sorted(wait * 1_000 for chat in chats for wait in chat.latencies)
    shown = ", ".join(f"p{share} {waits[len(waits) * share // 100]:,.0f} ms" for share in (50, 95, 99))
    print(f"{len(chats)} chats, {sum(len(chat.said) for chat in chats)} turns; until an answer begins: {shown}")
