"""A user who tells secrets, a model that repeats them, every way to forget them, and all that is told then."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeAlias

from recollect import Memory, Message, Scope, Settings
from recollect.answers import Excerpt
from recollect.llm import Reply
from recollect.types import Role

MARKER = "quxwort"
NOW = datetime(2025, 3, 3, 12, tzinfo=UTC)
EAGER = Settings(summary_every_messages=2, summary_tokens=1_000, facts_every_turns=1, patterns_every_sessions=1)
SECRETS = (
    f"I live in {MARKER.title()}.",
    f"My sister {MARKER.title()} moved to Oslo in May.",
    f"What is the latest news about {MARKER} today?",
    f"We decided to call the boat {MARKER}.",
    f"my favourite dish is {MARKER}",
)
OTHERS = (
    "My name is Ada.",
    "The harbour of Lisbon has 14 piers.",
    "I will bring 3 maps to the meeting on Friday.",
    "What time does the ferry to Oslo leave?",
    "hm",
    "we keep the boat in the old dock",
)
Line: TypeAlias = tuple[str, Role, str]
"""Which session, who speaks, and what."""
SESSIONS = ("trip", "work", "home")


class Parrot:
    """A model that uses every word that it was shown, and tells facts of one message in the words of another."""

    name = "parrot:"
    interrupted: Callable[[], object] = staticmethod(lambda: None)

    def complete(self, messages: Any, **_: Any) -> Reply:
        self.interrupted()
        shown = messages[-1].text.removeprefix("<data>\n").removesuffix("\n</data>")
        value = {"summary": self._summary(shown)} if shown.startswith("Notes:") else {"facts": self._facts(shown)}
        return Reply(Message("assistant", json.dumps(value)), value=value)

    stream = complete

    def _summary(self, shown: str) -> str:
        notes, _, more = shown.removeprefix("Notes:\n").partition("\n\nBefore:")
        return " ".join([notes, *dict.fromkeys(more.replace("\n\nNew:", "").split())])

    def _facts(self, shown: str) -> list[dict[str, Any]]:
        said = re.findall(r"^\[\d+\] (.*)$", shown, re.MULTILINE)
        told = " ".join(re.findall(r"[a-z]+", " ".join(said).lower()))
        return [
            {"type": "interest", "key": f"talk {n}", "value": told, "message": n, "quote": text}
            for n, text in enumerate(said)
        ]


def searched(_: str) -> list[Excerpt]:
    return [Excerpt("The ferries are late.", "https://news.example", None)]


def tell(memory: Memory, said: list[Line]) -> None:
    """Each text asked for a context, added and answered."""
    for session, role, text in said:
        chat = memory.session(session, user="ada")
        if role == "user":
            chat.context(text)
        chat.add(role, text)
        memory.drain()
    memory.session("trip", user="ada").patterns()


def shown(memory: Memory) -> str:
    """Everything that a user is told, in any of his sessions."""
    told: list[object] = [memory.session("new", user="ada").facts(), memory.session("new", user="ada").patterns()]
    for name in SESSIONS:
        chat = memory.session(name, user="ada")
        context = chat.context("What do you know of my sister, my boat, the news today and where I live?")
        told += [context.prompt, context.receipt, chat.summary(), chat.history(), list(chat.search(MARKER))]
    return repr(told).lower()


def secret_ids(memory: Memory) -> list[str]:
    return [e.message.id for e in memory.store.log.scan(Scope()) if MARKER in e.message.text.lower()]


def by_session(memory: Memory) -> None:
    for name in SESSIONS:
        memory.session(name, user="ada").forget(secret_ids(memory))


def by_user(memory: Memory) -> None:
    memory.forget(Scope("default", "ada"), secret_ids(memory))


def by_tenant(memory: Memory) -> None:
    memory.forget(Scope("default"), secret_ids(memory))


def whole_sessions(memory: Memory) -> None:
    for name in SESSIONS:
        memory.session(name, user="ada").forget()


def whole_user(memory: Memory) -> None:
    memory.forget(Scope("default", "ada"))


def whole_tenant(memory: Memory) -> None:
    memory.forget(Scope("default"))


LEVELS = (by_session, by_user, by_tenant, whole_sessions, whole_user, whole_tenant)
