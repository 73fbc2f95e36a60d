"""Every embedder passes the suite that third parties run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from recollect.embed import Embedder
from recollect.embed.cached import CachedEmbedder
from recollect.embed.hashing import HashingEmbedder
from recollect.embed.http import HttpEmbedder
from recollect.embed.onnx import OnnxEmbedder
from recollect.embed.sentence_transformers import SentenceTransformersEmbedder
from recollect.testing import EmbedderSuite
from tests.embed.server import serving


class TestHashing(EmbedderSuite):
    def new(self) -> Embedder:
        return HashingEmbedder()


class TestCached(EmbedderSuite):
    def new(self) -> Embedder:
        return CachedEmbedder(HashingEmbedder())


class TestCachedWithNoRoom(EmbedderSuite):
    def new(self) -> Embedder:
        return CachedEmbedder(HashingEmbedder(), max_bytes=0)


class TestHttp(EmbedderSuite):
    url = ""

    @pytest.fixture(autouse=True)
    def server(self) -> Iterator[None]:
        with serving() as server:
            self.url = server.url
            yield

    def new(self) -> Embedder:
        return HttpEmbedder("test-model", self.url)


loaded = cache(OnnxEmbedder)
"""Loading a model takes longer than most tests do."""


class _Onnx(EmbedderSuite):
    model = ""
    folder = Path()

    @pytest.fixture(autouse=True)
    def weights(self, pulled: Callable[[str], Path]) -> None:
        self.folder = pulled(self.model)

    def new(self) -> Embedder:
        return OnnxEmbedder(self.folder)

    @pytest.fixture
    def embedder(self) -> Embedder:
        return loaded(self.folder)


class TestE5(_Onnx):
    model = "e5-small-v2"


class TestBge(_Onnx):
    model = "bge-small-en-v1.5"


@pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="sentence-transformers is not installed")
class TestSentenceTransformers(EmbedderSuite):
    def new(self) -> Embedder:
        return SentenceTransformersEmbedder("sentence-transformers/all-MiniLM-L6-v2")
