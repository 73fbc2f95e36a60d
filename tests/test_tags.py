"""Tags that are set on kept messages: they are found by them, and what they mean holds from then on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import ConfigError, Filter, Memory, Message, Session
from recollect.errors import NotFound
from recollect.layers import procedural
from recollect.patterns import Worked
from tests.wrong import wrong

NOW = datetime(2026, 3, 3, 12, tzinfo=UTC)


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Session]:
    with Memory.open(tmp_path / "m.db", embedder=None, durability="normal") as memory:
        yield memory.session("trip", user="ada")


def test_a_tag_is_kept_with_the_message_and_none_takes_it_off(chat: Session, tmp_path: Path) -> None:
    kept = chat.add("user", "Platform 9 at noon.", metadata={"topic": "trains"})
    assert chat.tag(kept.id, important=True, **{"two words": [1]}) == chat.history()[0]
    assert chat.history()[0].metadata == {"topic": "trains", "important": True, "two words": [1]}
    assert chat.tag(kept.id, topic=None).metadata == {"important": True, "two words": [1]}
    with Memory.open(tmp_path / "m.db", embedder=None) as again:
        assert again.session("trip", user="ada").history(where=Filter(metadata={"important": True}))


def test_an_answer_that_is_scored_later_is_recalled_or_not_by_its_score(chat: Session) -> None:
    _, answer = chat.add_turn("Who sells kettles?", "The kettle shop in Bergen.")
    later = chat.memory.session("later", user="ada")
    assert "shop in Bergen" in later.context("kettle shop?").memory
    chat.tag(answer.id, score=3)
    assert "shop in Bergen" not in later.context("kettle shop?").memory
    chat.tag(answer.id, score=8)
    assert "shop in Bergen" in later.context("kettle shop?").memory


def test_a_turn_that_is_pinned_later_stays_in_the_window_until_it_is_no_longer(chat: Session) -> None:
    rule, _ = chat.add_turn("Always name the platform.", "I will.")
    for n in range(1_200):
        chat.add_turn(f"Which train goes to stop {n}?", "The RE 10, at 34 past each hour.")

    def shows() -> bool:
        return any(message.id == rule.id for message in chat.context("And now?", 1_000).conversation)

    assert not shows()
    chat.tag(rule.id, pinned=True)
    assert shows()
    chat.tag(rule.id, pinned=None)
    assert not shows()


def test_what_can_not_be_tagged_is_told_and_changes_nothing(chat: Session) -> None:
    kept = chat.add("user", "Hello.")
    other = chat.memory.session("trip", user="eve")
    with pytest.raises(NotFound):
        other.tag(kept.id, important=True)
    with pytest.raises(ConfigError, match="score is 70"):
        chat.tag(kept.id, score=70)
    with pytest.raises(ConfigError):
        chat.tag(wrong(None), important=True)
    assert chat.history() == (kept,)


@pytest.mark.parametrize(
    "where, found",
    [
        ({"roles": ("user",)}, [0, 2, 4]),
        ({"roles": ("tool", "system")}, []),
        ({"metadata": {"important": True}}, [2, 3]),
        ({"since": NOW + timedelta(days=2)}, [2, 3, 4]),
        ({"before": NOW + timedelta(days=2), "roles": ("assistant",)}, [1]),
    ],
)
def test_the_history_by_role_by_time_and_by_tag(chat: Session, where: dict[str, Any], found: list[int]) -> None:
    said = [
        Message("assistant" if n % 2 else "user", f"Message {n}", at=NOW + timedelta(days=n), id=f"m{n}")
        for n in range(5)
    ]
    chat.add_many(said)
    for id in ("m2", "m3"):
        chat.tag(id, important=True)
    assert [int(message.id[1:]) for message in chat.history(where=Filter(**where))] == found
    assert [int(message.id[1:]) for message in chat.history(1, where=Filter(**where))] == found[-1:]
    assert [int(message.id[1:]) for message in chat.history(before=4, where=Filter(**where))] == [
        n for n in found if n < 3
    ]


def test_the_history_of_a_long_session_by_tag(chat: Session) -> None:
    chat.add_many([Message("user", f"Message {n}", id=f"m{n}") for n in range(2_500)])
    for id in ("m7", "m1600"):
        chat.tag(id, important=True)
    starred = Filter(metadata={"important": True})
    assert [message.id for message in chat.history(where=starred)] == ["m7", "m1600"]
    assert [message.id for message in chat.history(1, before=1_000, where=starred)] == ["m7"]
    with pytest.raises(ConfigError, match="give a Filter"):
        chat.history(where=wrong({"important": True}))


def test_an_answer_that_is_scored_later_counts_in_the_patterns(chat: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procedural, "PART", 7)
    kept = [chat.add_turn(f"How many kettles {n}?", "Few." if n % 2 else "Many. " * 200)[1] for n in range(40)]
    assert chat.patterns().worked == ()
    for n, answer in enumerate(kept):
        chat.tag(answer.id, score=9 if n % 2 else 2)
    assert chat.patterns().worked == (Worked("short", 9, 20, 2, 20),)
    for answer in kept:
        chat.tag(answer.id, score=None)
    assert chat.patterns().worked == ()
