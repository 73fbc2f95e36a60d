"""One scale of nearness for every model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import embed
from recollect.embed import Kind
from recollect.embed.hashing import HashingEmbedder
from recollect.embed.nearness import UNRELATED, Nearness
from recollect.errors import ModelUnavailable


class Narrow(HashingEmbedder):
    """Every vector points much the same way, as with e5."""

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> npt.NDArray[np.float32]:
        rows = super().embed(texts, kind) + np.full(self.dimension, 3 / np.sqrt(self.dimension), np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_it_is_from_0_to_1_and_grows_with_the_cosine(one: float, other: float) -> None:
    near = Nearness(HashingEmbedder(64))
    low, high = (near.of(cosine) for cosine in sorted((one, other)))
    assert 0 <= low <= high <= 1


@pytest.mark.parametrize("embedder", [HashingEmbedder(256), Narrow(256)], ids=["wide", "narrow"])
def test_the_unrelated_are_near_0_and_the_same_is_1_wherever_a_models_cosines_lie(embedder: HashingEmbedder) -> None:
    near = Nearness(embedder)
    cosines = [
        float(embedder.embed([question], "query")[0] @ embedder.embed([passage])[0]) for question, passage in UNRELATED
    ]
    assert np.mean([near.of(cosine) for cosine in cosines]) < 0.1
    assert near.of(1.0) == pytest.approx(1)


@pytest.mark.parametrize("embedder", [HashingEmbedder(256), Narrow(256)], ids=["wide", "narrow"])
def test_a_question_is_farther_above_the_unrelated_the_nearer_a_text_is(embedder: HashingEmbedder) -> None:
    near, passages = Nearness(embedder), embedder.embed([passage for _, passage in UNRELATED])
    for question in embedder.embed([question for question, _ in UNRELATED], "query"):
        above = [near.above(float(passage @ question), question) for passage in passages]
        assert min(above) < 0 < max(above)
        assert near.above(1.0, question) > max(above)


def test_the_model_is_asked_once_and_its_failure_is_told() -> None:
    class Flaky(HashingEmbedder):
        calls, down = 0, True

        def embed(self, texts: Sequence[str], kind: Kind = "passage") -> npt.NDArray[np.float32]:
            if self.down:
                raise ModelUnavailable("no route")
            self.calls += 1
            return super().embed(texts, kind)

    embedder = Flaky(64)
    near = Nearness(embedder)
    with pytest.raises(ModelUnavailable):
        near.of(0.5)
    embedder.down = False
    assert near.of(0.5) == near.of(0.5)
    assert embedder.calls == 2


def test_the_local_model_tells_an_answer_from_what_is_unrelated() -> None:
    embedder = embed.open("auto")
    if embedder is None:
        pytest.skip("the local model is not here: python -m recollect.embed.models pull e5-small-v2")
    near = Nearness(embedder)
    passage = "Fill the kettle with vinegar, boil it twice, and rinse it: that takes the limescale off."
    (said,) = embedder.embed([passage])
    asked = embedder.embed(["How do I descale a kettle?", "Who won the match last night?"], "query")
    related, unrelated = (near.of(float(row @ said)) for row in asked)
    assert unrelated < 0.25 < related
    related, unrelated = (near.above(float(row @ said), row) for row in asked)
    assert unrelated < 2 < related
