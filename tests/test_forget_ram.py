"""What is forgotten is gone from the memory of the process, too."""

from __future__ import annotations

import gc
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from recollect import Memory, Scope
from recollect.embed.hashing import HashingEmbedder
from recollect.store import open as open_store
from tests.forgetting import EAGER, NOW, Parrot, searched

SAID = (
    "I live in {}.",
    "My sister {} moved to Oslo in May.",
    "What is the latest news about {} today?",
    "We decided to call the boat {}, not Emma, next Friday.",
    "my favourite dish is {}",
    "{} in an \u00e9t\u00e9, I said",
)


def a_mark() -> str:
    return f"qux{secrets.token_hex(4)}"


def held(mark: str) -> Iterator[str]:
    """Every text that any object holds in which a mark is, but for the mark itself; those of young objects first."""
    gc.collect()
    seen, left = {id(mark)}, list[Any](gc.get_objects())
    seen.update(map(id, (left, seen)))
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, str | bytes):
            text = one if isinstance(one, str) else one.decode("latin-1")
            if mark in text.lower():
                yield text
        else:
            left += gc.get_referents(one)


def talk(memory: Memory, user: str, mark: str) -> None:
    chat = memory.session("trip", user=user)
    chat.documents.add(f"The {mark} is a boat. It lies in Lisbon, at pier 4.", name="boat")
    for text in SAID:
        chat.context(text.format(mark.title()))
        chat.add("user", text.format(mark.title()))
        chat.add("assistant", f"I see, {mark}.")
        memory.drain()
    chat.search(mark)
    chat.patterns()
    chat.summary()


def whole(memory: Memory, user: str) -> None:
    memory.forget(Scope("default", user))


def by_ids(memory: Memory, user: str) -> None:
    memory.session("trip", user=user).documents.remove("boat")
    memory.forget(Scope("default", user), [entry.message.id for entry in memory.store.log.scan(Scope())])


@pytest.mark.parametrize(("place", "forget"), [(":memory:", by_ids), ("memory.db", whole)])
def test_what_is_forgotten_is_held_by_nothing(
    tmp_path: Path, place: str, forget: Callable[[Memory, str], None]
) -> None:
    store = open_store(place if place == ":memory:" else str(tmp_path / place), clock=lambda: NOW)
    mark, model = a_mark(), cast("Any", Parrot())
    with Memory(
        store, embedder=HashingEmbedder(64), settings=EAGER, model=model, search=searched, clock=lambda: NOW
    ) as memory:
        user = mark if forget is whole else "ada"
        talk(memory, user, mark)
        assert next(held(mark)) and memory.embedder and memory.embedder.bytes
        forget(memory, user)
        memory.drain()
        assert list(held(mark)) == []
        assert memory.embedder.bytes == 0


def test_a_document_that_is_removed_is_held_by_nothing(tmp_path: Path) -> None:
    mark = a_mark()
    with Memory.open(tmp_path / "memory.db", embedder=HashingEmbedder(64)) as memory:
        chat = memory.session("trip", user="ada")
        chat.documents.add(f"The boat {mark} lies in Lisbon, at pier 4.", name="boat")
        memory.drain()
        assert mark in str(chat.context("Where in Lisbon lies the boat?").messages)
        chat.documents.remove("boat")
        assert list(held(mark)) == []
