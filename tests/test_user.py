"""A user, without any one of his conversations."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect import AsyncMemory, ConfigError, Memory, Session, User


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "memory.db", embedder="hash:128", durability="normal") as memory:
        memory.session("spring", user="ada").add_turn("My sister Nadia moved to Oslo. I live in Lisbon.", "Noted!")
        memory.session("summer", user="ada").add_turn("I am allergic to peanuts.", "I will mind that.")
        memory.session("spring", user="eve").add_turn("My sister moved to Rome.", "Noted!")
        memory.drain()
        yield memory


def test_what_is_kept_of_all_his_conversations_is_found(memory: Memory) -> None:
    ada = memory.user("ada")
    assert "Nadia moved to Oslo" in ada.recall("Where does my sister live?", budget=200)[0].text
    assert {hit.session for hit in ada.search("sister or peanuts", k=9)} == {"spring", "summer"}
    assert {fact.value for fact in ada.facts()} >= {"Lisbon", "peanuts"}
    assert "Rome" not in "".join(hit.text for hit in ada.search("Where does my sister live?"))


def test_he_has_facts_and_documents_of_his_own(memory: Memory) -> None:
    ada = memory.user("ada")
    ada.remember("place", "Porto")
    ada.documents.add("Vinho verde is green wine.", name="wine.md")
    assert [fact.value for fact in ada.fact_history("place")] == ["Lisbon", "Porto"]
    chat = memory.session("autumn", user="ada")
    assert "Porto" in chat.context("Where do I live?").memory
    assert [document.name for document in chat.documents.list()] == ["wine.md"]
    assert memory.user("ada", tenant="other").facts() == []


def test_to_forget_him_is_to_forget_all_of_him(memory: Memory) -> None:
    assert memory.user("ada").forget().messages == 4
    assert memory.sessions("ada") == []
    assert memory.user("ada").facts() == []
    assert len(memory.sessions("eve")) == 1


def test_a_session_is_one_of_his_conversations(memory: Memory) -> None:
    chat = memory.session("spring", user="ada")
    assert isinstance(chat, Session) and isinstance(chat, User)
    assert chat.facts() == memory.user("ada").facts()


def test_he_has_no_session_to_look_into_alone(memory: Memory) -> None:
    with pytest.raises(ConfigError, match="no session is named"):
        memory.user("ada").search("Oslo", scope="session")
    with pytest.raises(ConfigError, match="user"):
        memory.user("")


def test_awaited_it_is_the_same(tmp_path: Path) -> None:
    async def talk() -> list[str]:
        async with AsyncMemory.open(tmp_path / "m.db", embedder=None) as memory:
            await memory.session("trip", user="ada").add("user", "I live in Lisbon.")
            return [fact.value for fact in await memory.user("ada").facts()]

    assert asyncio.run(talk()) == ["Lisbon"]


@pytest.mark.parametrize("name", ["", "half \ud800", 5, ["a"], 10**30])
def test_a_name_that_is_no_text_is_told(memory: Memory, name: Any) -> None:
    ada = memory.user("ada")
    for ask in (ada.documents.remove, ada.fact_history, lambda key: ada.remember(key, "x")):
        with pytest.raises(ConfigError, match=r"name|key"):
            ask(name)
