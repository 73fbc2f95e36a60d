"""The suite every embedder passes. Subclass it with pytest and say how to make yours:

class TestMine(EmbedderSuite):
    def new(self):
        return MyEmbedder()
"""

from __future__ import annotations

from abc import abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from recollect.embed import Embedder
from recollect.errors import ConfigError
from recollect.testing.suite import Suite

TEXTS = [
    "My sister Nadia moved to Oslo in May.",
    "The train to Hamar leaves at 34 past each hour.",
    "I am allergic to peanuts, and so is my brother.",
    "ok",
    "Wir haben gestern über das neue Haus gesprochen, und es wurde spät.",
]


class EmbedderSuite(Suite):
    """The behaviour of `recollect.embed.Embedder`, as tests."""

    tolerance = 1e-5
    """How far the numbers of a text's vector may differ between two ways of asking for it."""

    @abstractmethod
    def new(self) -> Embedder:
        """An embedder, ready to use."""

    @pytest.fixture
    def embedder(self) -> Embedder:
        """The embedder under test."""
        return self.new()

    def test_it_is_an_embedder_with_a_name_and_a_dimension(self, embedder: Embedder) -> None:
        assert isinstance(embedder, Embedder)
        assert embedder.name
        assert isinstance(embedder.dimension, int)
        assert embedder.dimension > 0

    def test_a_batch_gives_one_float32_vector_a_text(self, embedder: Embedder) -> None:
        vectors = embedder.embed(TEXTS)
        assert vectors.shape == (len(TEXTS), embedder.dimension)
        assert vectors.dtype == np.float32

    def test_every_vector_has_length_one(self, embedder: Embedder) -> None:
        lengths = np.linalg.norm(embedder.embed([*TEXTS, ""]), axis=1)
        assert lengths == pytest.approx(1, abs=1e-5)

    def test_no_texts_give_no_vectors(self, embedder: Embedder) -> None:
        for vectors in (embedder.embed([]), embedder.embed([], "query")):
            assert vectors.shape == (0, embedder.dimension)
            assert vectors.dtype == np.float32

    def test_the_same_text_gives_the_same_vector(self, embedder: Embedder) -> None:
        assert np.allclose(embedder.embed(TEXTS), embedder.embed(TEXTS), atol=self.tolerance)
        assert np.allclose(self.new().embed(TEXTS), embedder.embed(TEXTS), atol=self.tolerance)

    def test_a_text_has_one_vector_whatever_stands_beside_it(self, embedder: Embedder) -> None:
        together = embedder.embed([*TEXTS, "long " * 200])
        alone = np.concatenate([embedder.embed([text]) for text in [*TEXTS, "long " * 200]])
        assert np.allclose(together, alone, atol=self.tolerance)

    def test_order_is_kept(self, embedder: Embedder) -> None:
        forwards, backwards = embedder.embed(TEXTS), embedder.embed(TEXTS[::-1])
        assert np.allclose(forwards, backwards[::-1], atol=self.tolerance)
        assert not np.allclose(forwards, backwards, atol=self.tolerance)

    def test_a_text_given_twice_comes_back_twice(self, embedder: Embedder) -> None:
        twice = embedder.embed([TEXTS[0], TEXTS[1], TEXTS[0]])
        assert np.allclose(twice[0], twice[2], atol=self.tolerance)
        assert not np.allclose(twice[0], twice[1], atol=self.tolerance)

    @pytest.mark.parametrize(
        "text",
        [
            pytest.param("", id="empty"),
            pytest.param(" ", id="blank"),
            pytest.param("\n\t", id="lines"),
            pytest.param("\x00", id="NUL"),
            pytest.param("\ud800", id="lone high"),
            pytest.param("a\udfffb", id="lone low"),
            pytest.param("ليلى في أوسلو", id="Arabic"),
            pytest.param("e\u0301", id="combining"),
            pytest.param("🏳️‍🌈" * 50, id="emoji"),
            pytest.param("漢字かな交じり", id="CJK"),
            pytest.param("\u202eabc", id="override"),
        ],
    )
    def test_any_text_has_a_vector(self, embedder: Embedder, text: str) -> None:
        for vector in np.concatenate([embedder.embed([text], "query"), embedder.embed([text], "passage")]):
            assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)

    @pytest.mark.parametrize(
        "text", ["word " * 20_000, "x" * 100_000, "漢" * 34_000], ids=["words", "one word", "no spaces"]
    )
    def test_a_text_of_100_kb_has_a_vector(self, embedder: Embedder, text: str) -> None:
        assert embedder.embed([text]).shape == (1, embedder.dimension)

    def test_a_text_is_closest_to_itself(self, embedder: Embedder) -> None:
        scores = embedder.embed(TEXTS, "query") @ embedder.embed(TEXTS, "passage").T
        assert list(scores.argmax(axis=1)) == list(range(len(TEXTS)))

    def test_a_question_is_closer_to_the_text_that_shares_its_words(self, embedder: Embedder) -> None:
        (question,) = embedder.embed(["When does the train to Hamar leave?"], "query")
        assert (embedder.embed(TEXTS) @ question).argmax() == 1

    def test_a_kind_that_is_not_known_is_refused(self, embedder: Embedder) -> None:
        wrong: Any = "question"
        with pytest.raises(ConfigError, match="question"):
            embedder.embed(["x"], wrong)

    def test_threads_get_their_own_vectors(self, embedder: Embedder) -> None:
        expected = embedder.embed(TEXTS)
        picks = [(n * 7) % len(TEXTS) for n in range(40)]
        with ThreadPoolExecutor(8) as pool:
            got = list(pool.map(lambda n: embedder.embed([TEXTS[n]])[0], picks))
        assert np.allclose(got, expected[picks], atol=self.tolerance)

    def test_what_is_handed_out_can_not_change_what_comes_next(self, embedder: Embedder) -> None:
        first = embedder.embed(TEXTS)
        kept = first.copy()
        if first.flags.writeable:
            first[:] = 0
        assert np.allclose(embedder.embed(TEXTS), kept, atol=self.tolerance)
