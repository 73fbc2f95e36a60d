"""What a service is started with beside its store: who learns in the background, who reads passages again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from recollect.errors import ConfigError
from recollect.server.app import _check, opened
from recollect.server.options import Options
from recollect.testing import Provider

FACT = {"type": "user_profile", "key": "dog", "value": "Biscuit", "message": 0, "quote": "the name of Biscuit"}


class Backwards:
    """A re-ranker that likes what comes later in the alphabet."""

    name = "backwards"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([ord(text[0]) for text in texts], np.float32)


def test_a_model_in_the_background_improves_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("RECOLLECT_BACKGROUND_MODEL", "openai:any")
    with Provider("openai", [json.dumps({"facts": [FACT]})]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        with opened(Options.read(store=":memory:", embedder="none")) as memory:
            chat = memory.session("walk", user="ada")
            for _ in range(5):
                chat.add_turn("Our greyhound answers to the name of Biscuit.", "Good dog!")
            memory.drain()
            assert [(fact.key, fact.value) for fact in chat.facts()] == [("dog", "Biscuit")]


def test_a_reranker_reads_the_best_passages_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECOLLECT_RERANKER", "backwards")
    monkeypatch.setattr("recollect.embed.open_reranker", lambda name: Backwards())
    with opened(Options.read(store=":memory:", embedder="none")) as memory:
        chat = memory.session("kitchen", user="ada")
        for letter in "BDAC":
            chat.documents.add(f"{letter} is the kettle's code.", name=f"{letter}.md")
        found = chat.documents.search("kettle code")
    assert [passage.text[0] for passage in found] == ["D", "C", "B", "A"]


@pytest.mark.parametrize("name", ["background_model", "reranker"])
def test_a_name_that_is_not_known_is_told_before_anything_is_served(tmp_path: Path, name: str) -> None:
    options = Options.model_validate({"store": str(tmp_path / "m.db"), "embedder": "none", name: "nonsense"})
    with pytest.raises(ConfigError, match="nonsense"):
        _check(options, "127.0.0.1", 1)
    assert not (tmp_path / "m.db").exists()


@pytest.mark.parametrize("written", ["Where do I live?", "[1", "5"])
def test_questions_that_are_no_list_are_told_with_the_form_expected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECOLLECT_QUESTIONS", written)
    with pytest.raises(ConfigError, match=r"^RECOLLECT_QUESTIONS is "):
        Options.read()
