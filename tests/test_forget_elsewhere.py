"""What another process erased has no part in the ranking of what is left."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from recollect import Memory, Message

START = datetime(2024, 5, 8, 12, tzinfo=UTC)
QUESTION = "Where did my sister Nadia move in May?"


def test_a_recall_is_that_of_a_process_that_never_knew_what_was_erased(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Memory.open(path, embedder=None) as one, Memory.open(path, embedder=None) as other:
        texts = [
            "My sister Nadia moved to Oslo in May.",
            "Nadia likes the harbour.",
            "In May we met Paul.",
            "Bread, please.",
        ]
        said = [Message("user", text, f"m{n}", START + timedelta(days=n)) for n, text in enumerate(texts * 4)]
        one.session("trip", user="ada").add_many(said)
        asks = one.session("later", user="ada")
        asks.recall(QUESTION, 200, at=START)
        other.session("trip", user="ada").forget(["m0", "m4"])
        known = asks.recall(QUESTION, 200, at=START)
        with Memory.open(path, embedder=None) as fresh:
            again = fresh.session("later", user="ada").recall(QUESTION, 200, at=START)
        assert [(hit.text, hit.score) for hit in known] == [(hit.text, hit.score) for hit in again]
