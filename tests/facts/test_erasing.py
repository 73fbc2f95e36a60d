"""A fact that is erased: gone with its history, from every file and cache; all else stays as it was."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from recollect import ConfigError, Memory, NotFound
from recollect.layers.semantic import KIND, Semantic
from recollect.retention import Policy, preview
from recollect.store import Record, Store
from recollect.testing.stores.base import HOSTILE_TEXTS
from recollect.transfer import export_lines, import_lines
from recollect.types import Message, Scope
from tests.facts.told import ADA, START, TRIP, WORK, day, say, values
from tests.forgetting import Parrot
from tests.test_forget_ram import a_mark, held

PEOPLE = (
    ("My sister Nadia lives in Oslo.", "My friend Eva lives in Rome.", "Nadia moved to Trondheim."),
    (
        "Nadia moved to Trondheim.",
        "My sister Nadia lives in Oslo.",
        "My friend Nadia is a nurse.",
        "Nadia quit Google.",
    ),
)
ENDINGS = (
    ("likes:jazz", ("I hate jazz.", "Actually, I love jazz.")),
    ("place", ("I want to move to Rome.", "I live in Paris.", "Actually, I moved to Rome.")),
    ("avoids:fish", ("I'm vegetarian.", "I don't eat fish.", "I eat fish again.")),
    (
        "todo:call the bank",
        ("Remind me to call the bank about the loan.", "Remind me to call the bank.", "Never mind it."),
    ),
    ("drives:tesla", ("I drive a Tesla.", "We bought a Skoda.", "We sold our car.")),
)


def tell(layer: Semantic, *texts: str) -> None:
    for n, text in enumerate(texts):
        say(layer.store, text, n)
    layer.catch_up(TRIP)


def test_every_value_is_gone_and_returned(store: Store, layer: Semantic) -> None:
    said = [say(store, "I live in Paris."), say(store, "I live in Rome.", 1, WORK), say(store, "I love jazz.", 2)]
    for session in (TRIP, WORK):
        layer.catch_up(session)
    layer.remember(ADA, "user_profile", "place", None, day(3))
    other = Scope("rival", "ada")
    layer.remember(other, "user_profile", "place", "Bern", day(0))
    gone = layer.erase(TRIP, "place")
    assert [(fact.value, fact.sources) for fact in gone] == [("Paris", (said[0],)), ("Rome", (said[1],))]
    for reader in (layer, Semantic(store)):
        assert reader.history(ADA, "place") == []
        assert values(reader.facts(ADA)) == values(reader.facts(ADA, day(2))) == {"likes:jazz": "jazz"}
        assert values(reader.facts(other)) == {"place": "Bern"}
    assert {record.key for record in store.records.find(ADA, kind=KIND)} == {"likes:jazz"}
    assert len(store.log.scan(ADA)) == 6
    with pytest.raises(NotFound, match=r"under 'place': list the facts to see their keys; nothing was erased"):
        layer.erase(ADA, "place")
    with pytest.raises(NotFound, match="perhaps 'likes:jazz' is meant"):
        layer.erase(ADA, "likes")


@pytest.mark.parametrize(("key", "texts"), ENDINGS)
def test_what_it_had_ended_stays_ended(layer: Semantic, key: str, texts: tuple[str, ...]) -> None:
    tell(layer, *texts)
    before = [fact for fact in layer.facts(ADA) if fact.key != key]
    layer.erase(ADA, key)
    assert layer.facts(ADA) == Semantic(layer.store).facts(ADA) == before


def test_an_ending_that_is_kept_goes_with_its_message(store: Store, layer: Semantic) -> None:
    tell(layer, *ENDINGS[0][1])
    layer.erase(ADA, "likes:jazz")
    assert layer.history(ADA, "dislikes:jazz")[0].valid_to == day(1)
    store.log.erase(ADA, [entry.message.id for entry in store.log.read(TRIP)][2:])
    assert values(Semantic(store).facts(ADA)) == {"dislikes:jazz": "jazz"}


@pytest.mark.parametrize("texts", PEOPLE)
def test_a_person_goes_with_all_that_is_known_of_them(store: Store, layer: Semantic, texts: tuple[str, ...]) -> None:
    tell(layer, *texts)
    before = {fact.key for fact in layer.facts(ADA) if not fact.key.startswith("sister:")}
    assert {fact.key.removesuffix(":place") for fact in layer.erase(ADA, "sister:nadia")} == {"sister:nadia"}
    assert {fact.key for fact in layer.facts(ADA)} == before
    kept = store.records.find(ADA, kind=KIND)
    assert not [one for one in kept if one.key.startswith(("sister:", "called:nadia:"))]


def test_what_was_said_of_one_of_two_is_not_of_the_other_when_one_is_erased(store: Store, layer: Semantic) -> None:
    tell(layer, "My sister Nadia lives in Oslo.", "My sister Ida is a nurse.", "My sister lives in Bergen.")
    left = {"sister:nadia": "Nadia", "sister:nadia:place": "Oslo", "sister:place": "Bergen"}
    assert values(layer.facts(ADA)) == left | {"sister:ida": "Ida", "sister:ida:role": "nurse"}
    layer.erase(ADA, "sister:ida")
    assert values(layer.facts(ADA)) == values(Semantic(store).facts(ADA)) == left


def test_nothing_is_erased_if_a_step_fails(store: Store, layer: Semantic, monkeypatch: pytest.MonkeyPatch) -> None:
    tell(layer, *ENDINGS[0][1])
    before = layer.facts(ADA)

    def fail(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(type(store.log), "erase", fail)
        with pytest.raises(KeyboardInterrupt):
            layer.erase(ADA, "likes:jazz")
    assert layer.facts(ADA) == Semantic(store).facts(ADA) == before


@pytest.mark.parametrize("text", [text for text in HOSTILE_TEXTS if text == text.encode("utf-8", "ignore").decode()])
def test_keys_may_hold_anything(layer: Semantic, text: str) -> None:
    key = f"k{text[:200]}".replace("\0", "0")
    layer.remember(ADA, "preference", key, "secret", day(0))
    layer.remember(ADA, "preference", f"{key}:more", "kept", day(0))
    assert [fact.value for fact in layer.erase(ADA, key)] == ["secret"]
    assert values(layer.facts(ADA)) == {f"{key}:more": "kept"}


def test_it_is_in_no_file_and_nothing_holds_it(tmp_path: Path) -> None:
    place, mark, often = tmp_path / "memory.db", a_mark(), random.Random(7)
    body = {"type": "preference", "at": START.isoformat(), "order": START.isoformat(), "session": "", "ended": False}
    with Memory.open(place, embedder=None, durability="normal") as memory:
        chat = memory.session("trip", user="ada")
        keys = [f"{often.random()}{'p' * often.randrange(200)}" for _ in range(500)]
        secret = [key[:9] + mark for key in keys[::50]]
        for n in range(0, 500, 50):  # keys in any order, so that the rows of the file are moved about
            said = [(key, f"{n} words" * often.randrange(1, 60)) for key in keys[n : n + 50]]
            records = [
                Record(KIND, key, {**body, "value": text}, 1.0) for key, text in [*said, (secret[n // 50], mark)]
            ]
            memory.store.records.put(chat.scope.owner, records)
        assert mark in chat.context(f"What is {mark}?").memory
        assert mark in "".join(export_lines(memory, chat.scope.owner))
        for key in secret:
            (gone,) = chat.forget_fact(key)
            assert gone.value == mark
        del gone, key, said, records
        secret.clear()
        assert mark not in "".join(export_lines(memory, chat.scope.owner))
        assert [text for text in held(mark) if "def " not in text] == []
        assert not [file for file in tmp_path.iterdir() if mark.encode() in file.read_bytes()]
        memory.store.backup(tmp_path / "copy.db")
    assert not [file for file in tmp_path.iterdir() if mark.encode() in file.read_bytes()]


def test_no_other_process_shows_it(tmp_path: Path) -> None:
    place = tmp_path / "memory.db"
    with Memory.open(place, embedder=None) as one, Memory.open(place, embedder=None) as other:
        mine, theirs = (memory.session("trip", user="ada") for memory in (one, other))
        theirs.remember("seat", "by the window")
        theirs.add("user", "Which seat do I like?")
        asked = theirs.context()
        assert "by the window" in asked.memory and "by the window" in mine.context().memory
        assert len(mine.forget_fact("seat")) == 1
        for chat in (mine, theirs):
            assert "by the window" not in chat.context().memory  # the same question, asked again
            assert "by the window" not in chat.replay(1).memory
            assert chat.facts() == chat.fact_history("seat") == []


def test_a_message_that_stays_is_not_learned_from_again(tmp_path: Path) -> None:
    place = tmp_path / "memory.db"
    with Memory.open(place, embedder=None) as memory:
        chat = memory.session("trip", user="ada")
        chat.add_turn("I live in Paris.", "Noted.")  # not learned from yet
        assert [fact.value for fact in chat.forget_fact("place")] == ["Paris"]
        chat.add_turn("I love jazz.", "Noted.")
        memory.reindex()
        memory.drain()
        assert import_lines(memory, list(export_lines(memory, chat.scope.owner)))["known"] == 4
        assert values(chat.facts()) == {"likes:jazz": "jazz"}
    with Memory.open(place, embedder=None) as memory:
        memory.drain()
        assert values(memory.user("ada").facts()) == {"likes:jazz": "jazz"}
        lines = list(export_lines(memory, Scope("default", "ada")))
    with Memory.open(":memory:", embedder=None) as elsewhere:  # a store that has not read the message yet
        import_lines(elsewhere, lines)
        assert values(elsewhere.user("ada").facts()) == {"place": "Paris", "likes:jazz": "jazz"}


def test_an_older_export_brings_it_back() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        ada = memory.user("ada")
        ada.remember("seat", "by the window")
        lines = list(export_lines(memory, ada.scope))
        ada.forget_fact("seat")
        import_lines(memory, lines)
        assert [json.loads(line)["fact"]["key"] for line in lines] == ["seat"]
        assert values(ada.facts()) == {"seat": "by the window"}


def test_facts_of_a_model_and_other_layers_stay() -> None:
    with Memory.open(":memory:", embedder=None, model=cast("Any", Parrot())) as memory:
        chat = memory.session("trip", user="ada")
        chat.add("user", "I live in Paris.")
        chat.documents.add("Paris is a city.", name="city")
        memory.drain()
        chat.forget_fact("place")
        assert [document.name for document in chat.documents.list()] == ["city"]
        plan = preview(memory.store, chat.scope.owner, [Policy("facts", days=1)], START + timedelta(days=36_500))
        assert plan.count("facts") == len(chat.facts())


def test_a_key_that_is_none_is_refused() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        for key in ("", None, "a\0b", "x" * 2_000):
            with pytest.raises(ConfigError, match="key of a fact"):
                memory.user("ada").forget_fact(key)  # type: ignore[arg-type]
        memory.store.log.append(Scope("default", "ada", "trip"), [Message("user", "Hi.")])
        with pytest.raises(NotFound, match="nothing was ever known about ada under 'name'"):
            memory.user("ada").forget_fact("name")
