"""What each embedder promises beyond the suite: styles, names, the cache, the hashing, the re-ranker."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Memory, embed
from recollect.embed import Kind, names
from recollect.embed.cached import ENTRY_BYTES, CachedEmbedder
from recollect.embed.embedder import readable
from recollect.embed.hashing import HashingEmbedder
from recollect.embed.http import HttpEmbedder
from recollect.embed.onnx import OnnxEmbedder
from recollect.embed.style import Style, style_in, style_of
from recollect.errors import BadReply, ConfigError, MissingExtra, ModelUnavailable

if TYPE_CHECKING:
    from numpy.typing import NDArray

Pulled = Callable[[str], Path]
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))


class Counting(HashingEmbedder):
    """A hashing embedder that writes down what it was asked."""

    def __init__(self) -> None:
        super().__init__(64)
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
        self.asked.extend(texts)
        return super().embed(texts, kind)


@given(ANY_TEXT)
def test_readable_text_can_be_encoded_and_good_text_stays_as_it_is(text: str) -> None:
    again = readable(text)
    assert again.encode().decode() == again
    assert again == text or any(0xD800 <= ord(c) <= 0xDFFF for c in text)


@given(st.lists(ANY_TEXT, max_size=5))
def test_hashing_gives_a_unit_vector_for_any_text(texts: list[str]) -> None:
    vectors = HashingEmbedder(8).embed(texts)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)


def test_hashing_is_the_same_in_every_process() -> None:
    code = (
        "from recollect.embed.hashing import HashingEmbedder as H; print(H(16).embed(['Oslo in May']).tobytes().hex())"
    )
    outs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert outs == {HashingEmbedder(16).embed(["Oslo in May"]).tobytes().hex()}


@pytest.mark.parametrize("dimension", [-1, 0, 7, 65_537])
def test_a_hashing_dimension_out_of_range_is_refused(dimension: int) -> None:
    with pytest.raises(ConfigError, match=str(dimension)):
        HashingEmbedder(dimension)


def test_the_cache_asks_for_what_it_does_not_have() -> None:
    inner = Counting()
    cache = CachedEmbedder(inner)
    first = cache.embed(["a", "b", "a"])
    assert inner.asked == ["a", "b"]
    assert np.array_equal(cache.embed(["b", "c", "a"]), inner.embed(["b", "c", "a"]))
    assert inner.asked[2:3] == ["c"]
    assert (cache.hits, cache.misses) == (2, 4)
    assert np.array_equal(first[0], first[2])


def test_the_cache_keeps_queries_and_passages_apart() -> None:
    inner = Counting()
    cache = CachedEmbedder(inner)
    cache.embed(["a"], "query")
    cache.embed(["a"], "passage")
    assert inner.asked == ["a", "a"]


def test_the_cache_forgets_the_longest_unused_first() -> None:
    inner = Counting()
    cache = CachedEmbedder(inner, max_bytes=2 * (64 * 4 + ENTRY_BYTES))
    for text in ("a", "b", "a", "c", "a", "b"):
        cache.embed([text])
    assert inner.asked == ["a", "b", "c", "b"]


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=6)), st.integers(0, 3_000))
def test_the_cache_stays_within_its_bytes_and_never_changes_a_vector(batches: list[list[str]], limit: int) -> None:
    inner = HashingEmbedder(64)
    cache = CachedEmbedder(inner, limit)
    for batch in batches:
        assert np.array_equal(cache.embed(batch), inner.embed(batch))
        assert 0 <= cache.bytes <= limit


def test_the_cache_counts_right_under_threads() -> None:
    cache = CachedEmbedder(HashingEmbedder(64), 20 * (64 * 4 + ENTRY_BYTES))

    def work(seed: int) -> None:
        for n in range(200):
            cache.embed([f"{(n * seed) % 40}"])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(1, 9)))
    assert cache.hits + cache.misses == 1600
    assert cache.bytes == 20 * (64 * 4 + ENTRY_BYTES)


def test_too_few_vectors_are_an_error_that_names_the_embedder() -> None:
    class Lazy(HashingEmbedder):
        def embed(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
            return super().embed(texts[1:], kind)

    with pytest.raises(BadReply, match=r"hash.* 1 vectors for 2 texts"):
        CachedEmbedder(Lazy(64)).embed(["a", "b"])


def test_vectors_of_any_length_find_the_same_documents() -> None:
    class Long(HashingEmbedder):
        def embed(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
            return 10 * super().embed(texts, kind)

    def score(embedder: HashingEmbedder) -> float:
        with Memory.open(":memory:", embedder=embedder) as memory:
            chat = memory.session("trip", user="ada")
            chat.documents.add("Bread needs yeast and time.", name="bread")
            memory.drain()
            return chat.documents.search("bread yeast")[0].score

    assert score(Long(64)) == pytest.approx(score(HashingEmbedder(64)), abs=1e-4)


def test_vectors_may_be_lists() -> None:
    class Lists(HashingEmbedder):
        def embed(self, texts: Sequence[str], kind: Kind = "passage") -> Any:
            return super().embed(texts, kind).tolist()

    assert CachedEmbedder(Lists(64)).embed([]).shape == (0, 64)
    with Memory.open(":memory:", embedder=Lists(64)) as memory:
        chat = memory.session("trip", user="ada")
        chat.add("user", "My sister Nadia lives in Oslo.")
        memory.drain()
        assert 0 < chat.recall("Where does my sister live?", budget=200).relevance <= 1.001


@pytest.mark.parametrize("answer", [None, 0.5, [0.5] * 64, [["a"] * 64]])
def test_what_is_no_list_of_vectors_is_an_error_that_names_the_embedder(answer: Any) -> None:
    class Odd(HashingEmbedder):
        def embed(self, texts: Sequence[str], kind: Kind = "passage") -> Any:
            return answer

    with pytest.raises((BadReply, ModelUnavailable), match="the embedder hash"):
        CachedEmbedder(Odd(64)).embed(["a"])


@pytest.mark.parametrize("number", [0.0, np.nan, np.inf])
def test_vectors_without_a_direction_are_an_error_that_names_the_embedder(number: float) -> None:
    class Lost(HashingEmbedder):
        def embed(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
            return np.full((len(texts), 64), number, np.float32)

    with pytest.raises(BadReply, match=r"hash.* all zero, or has numbers that are not finite"):
        CachedEmbedder(Lost(64)).embed(["a", "b"])
    with Memory.open(":memory:", embedder=Lost(64)) as memory:
        chat = memory.session("trip", user="ada")
        chat.add("user", "My sister Nadia lives in Oslo.")
        assert "Oslo" in chat.recall("Where does my sister live?", budget=200)[0].text
        assert memory.session("later", user="ada").context("Where does my sister live?").memory


def test_a_negative_cache_is_refused() -> None:
    with pytest.raises(ConfigError, match="-1"):
        CachedEmbedder(HashingEmbedder(), -1)


@pytest.mark.parametrize(
    ("model", "query", "passage", "pooling"),
    [
        ("e5-small-v2", "query: x", "passage: x", "mean"),
        ("intfloat/multilingual-e5-large", "query: x", "passage: x", "mean"),
        ("BAAI/bge-small-en-v1.5", "Represent this sentence for searching relevant passages: x", "x", "cls"),
        ("bge-m3", "x", "x", "cls"),
        ("all-MiniLM-L6-v2", "x", "x", "mean"),
        ("text-embedding-3-small", "x", "x", "mean"),
    ],
)
def test_the_style_of_a_model_follows_from_its_name(model: str, query: str, passage: str, pooling: str) -> None:
    style = style_of(model)
    assert style.prefixed(["x"], "query") + style.prefixed(["x"], "passage") == [query, passage]
    assert style.pooling == pooling


def test_a_misspelt_local_model_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"e5-smal has no model\.onnx: name a model that was pulled, or a folder"):
        embed.open("onnx:e5-smal")


def test_one_text_alone_is_refused() -> None:
    for embedder in (HashingEmbedder(8), CachedEmbedder(HashingEmbedder(8))):
        with pytest.raises(ConfigError, match="texts='Oslo': give a list of texts"):
            embedder.embed("Oslo")


def test_a_recollect_json_in_the_folder_decides(tmp_path: Path) -> None:
    folder = tmp_path / "e5-small-v2"
    folder.mkdir()
    (folder / "recollect.json").write_text(json.dumps({"query": "Q ", "pooling": "cls", "max_tokens": 64}))
    assert style_in(folder) == Style("Q ", "", "cls", 64)


@pytest.mark.parametrize(
    "content",
    ["", "[]", "3", '{"pool": 1}', '{"pooling": "max"}', '{"max_tokens": 0}', '{"max_tokens": true}', '{"query": 1}'],
)
def test_a_recollect_json_that_makes_no_sense_is_refused_by_its_path(tmp_path: Path, content: str) -> None:
    (tmp_path / "recollect.json").write_text(content)
    with pytest.raises(ConfigError, match=r"recollect\.json"):
        style_in(tmp_path)


def test_names_open_embedders() -> None:
    opened = embed.open("hash:64")
    assert opened is not None
    assert (opened.name, opened.dimension) == ("hash:64", 64)
    assert isinstance(embed.open("openai:text-embedding-3-small"), HttpEmbedder)


@pytest.mark.parametrize("name", ["", "hash", "hash:", "hash:x", "hash:-3", "magic:x", "onnx:", "onnx:/no/such/folder"])
def test_a_name_that_is_not_known_is_refused_with_the_choices(name: str) -> None:
    with pytest.raises(ConfigError):
        embed.open(name)


def test_a_model_not_pulled_is_refused_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_DATA_DIR", str(tmp_path))
    for opening in (lambda: embed.open("onnx:e5-small-v2"), embed.open_reranker):
        with pytest.raises(ConfigError, match=r"recollect\.embed\.models pull"):
            opening()


def test_without_a_model_auto_is_none_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("RECOLLECT_DATA_DIR", str(tmp_path))
    names._say_once.cache_clear()
    assert embed.open() is None
    assert embed.open("auto") is None
    (record,) = [record for record in caplog.records if record.name == "recollect.embed"]
    assert record.levelno == logging.WARNING
    assert "pull e5-small-v2" in record.getMessage() or "pip install onnxruntime tokenizers" in record.getMessage()


def test_none_is_no_embedder_wherever_one_is_named() -> None:
    assert embed.open("none") is None
    embed.check("none")
    with Memory.open(":memory:", embedder="none") as memory:
        assert memory.embedder is None


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="sentence-transformers is installed")
def test_without_sentence_transformers_its_models_are_refused_with_the_command() -> None:
    with pytest.raises(ModelUnavailable, match="pip install sentence-transformers"):
        embed.open("sentence-transformers:all-MiniLM-L6-v2")


@pytest.mark.parametrize(
    ("module", "opening"),
    [
        ("onnxruntime", OnnxEmbedder),
        ("tokenizers", OnnxEmbedder),
        ("httpx2", lambda folder: HttpEmbedder("x", "http://127.0.0.1:1")),
        ("stamina", lambda folder: Memory.open(folder / "memory.db", embedder="openai:x")),
        ("httpx2", lambda folder: Memory.open(folder / "memory.db", embedder=None, model="ollama:x")),
        ("tokenizers", lambda folder: Memory.open(folder / "memory.db", counter=f"tokenizer:{folder}/tokenizer.json")),
    ],
)
def test_without_an_extra_the_error_has_the_command(
    module: str, opening: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in ("model.onnx", "tokenizer.json"):
        (tmp_path / file).write_text('{"model": {"type": "WordLevel", "vocab": {}, "unk_token": ""}}')
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"{module}.*pip install .*'{module}>="):
        opening(tmp_path)
    assert not (tmp_path / "memory.db").exists()


@pytest.fixture(scope="module")
def e5(pulled: Pulled) -> OnnxEmbedder:
    return OnnxEmbedder(pulled("e5-small-v2"))


def test_auto_is_the_local_default_once_it_is_pulled(e5: OnnxEmbedder) -> None:
    opened = embed.open()
    assert opened is not None
    assert (opened.name, opened.dimension) == ("onnx:e5-small-v2", 384)
    assert np.array_equal(opened.embed(["hello"]), e5.embed(["hello"]))


def test_e5_finds_by_meaning_not_by_words(e5: OnnxEmbedder) -> None:
    passages = ["Nadia relocated to Norway's capital in spring.", "The live broadcast starts at nine.", "I like tea."]
    (question,) = e5.embed(["Where does my sister live now? She moved."], "query")
    assert (e5.embed(passages) @ question).argmax() == 0


def test_queries_and_passages_differ_where_the_model_says_so(e5: OnnxEmbedder) -> None:
    assert not np.allclose(e5.embed(["hello"], "query"), e5.embed(["hello"], "passage"), atol=1e-3)


def test_what_lies_beyond_the_models_length_does_not_count(e5: OnnxEmbedder) -> None:
    long = "word " * 600
    assert np.array_equal(e5.embed([long]), e5.embed([long + "something else"]))
    assert not np.array_equal(e5.embed(["word"]), e5.embed([long]))


def test_a_folder_of_ones_own_is_named_by_its_content_and_style(pulled: Pulled, tmp_path: Path) -> None:
    source, mine = pulled("e5-small-v2"), tmp_path / "mine"
    shutil.copytree(source, mine)
    plain = OnnxEmbedder(mine).name
    (mine / "recollect.json").write_text('{"pooling": "cls"}')
    styled = OnnxEmbedder(mine).name
    moved = mine.rename(tmp_path / "elsewhere").rename(tmp_path / "mine")
    assert plain.startswith("onnx:mine@")
    assert plain != styled == OnnxEmbedder(moved).name


@pytest.mark.parametrize(
    ("file", "content", "error"),
    [
        ("model.onnx", None, ConfigError),
        ("tokenizer.json", None, ConfigError),
        ("model.onnx", b"not a model", ModelUnavailable),
        ("tokenizer.json", b"{}", ModelUnavailable),
    ],
)
def test_a_folder_that_is_no_model_is_refused_by_the_file(
    pulled: Pulled, tmp_path: Path, file: str, content: bytes | None, error: type[Exception]
) -> None:
    folder = tmp_path / "broken"
    shutil.copytree(pulled("e5-small-v2"), folder)
    (folder / file).unlink()
    if content is not None:
        (folder / file).write_bytes(content)
    with pytest.raises(error, match=file):
        OnnxEmbedder(folder)


def test_a_length_the_model_can_not_read_is_said_so(pulled: Pulled, tmp_path: Path) -> None:
    folder = tmp_path / "long"
    shutil.copytree(pulled("e5-small-v2"), folder)
    (folder / "recollect.json").write_text('{"max_tokens": 5000}')
    with pytest.raises(ModelUnavailable, match="max_tokens"):
        OnnxEmbedder(folder).embed(["word " * 3000])


@pytest.fixture(scope="module")
def reranker(pulled: Pulled) -> embed.Reranker:
    pulled("ms-marco-MiniLM-L-12-v2")
    return embed.open_reranker()


def test_the_reranker_puts_the_answer_first(reranker: embed.Reranker) -> None:
    texts = ["I like trains.", "The train to Hamar leaves at 34 past each hour.", "Hamar is a town.", ""]
    scores = reranker.score("When does the train to Hamar leave?", texts)
    assert scores.shape == (4,)
    assert scores.dtype == np.float32
    assert scores.argmax() == 1


def test_a_score_does_not_depend_on_the_other_texts(reranker: embed.Reranker) -> None:
    texts = ["The train leaves at nine.", "word " * 300, "no"]
    together = reranker.score("When?", texts)
    assert np.allclose(together, [reranker.score("When?", [text])[0] for text in texts], atol=1e-4)


@pytest.mark.parametrize("query", ["", "\ud800", "word " * 20_000])
def test_the_reranker_takes_any_text(reranker: embed.Reranker, query: str) -> None:
    assert np.isfinite(reranker.score(query, ["", "\udfff", "x" * 100_000])).all()
    assert reranker.score(query, []).shape == (0,)
