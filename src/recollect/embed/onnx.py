"""A local model: any folder with `model.onnx` and `tokenizer.json`, run on the CPU without torch.

Texts run one at a time. An int8 model scales its activations over the whole batch, so in a batch a text's vector would
depend on its neighbours (cosine .995 to itself, which reorders results), and on a CPU batching saves little.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recollect.embed.embedder import Kind, readable, unit
from recollect.embed.style import CHARS_A_TOKEN, Style, style_in
from recollect.errors import ConfigError, MissingExtra, ModelUnavailable

MAX_TOKENS, MAX_THREADS = 512, 4


class OnnxModel:
    """A loaded model with its tokenizer: takes texts, gives the model's first output. Thread-safe."""

    def __init__(self, folder: Path, max_tokens: int | None) -> None:
        for file in ("model.onnx", "tokenizer.json"):
            if not (folder / file).is_file():
                raise ConfigError(
                    f"{folder} has no {file}: name a model that was pulled, or a folder with model.onnx and "
                    "tokenizer.json"
                )
        self._folder, self._tokenizer = folder, _tokenizer(folder)
        self.max_tokens = max_tokens or (self._tokenizer.truncation or {}).get("max_length", MAX_TOKENS)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self.max_tokens)
        self._session = _session(folder)
        self._inputs = [given.name for given in self._session.get_inputs()]
        if unknown := set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids"}:
            raise ConfigError(f"{folder}: needs {', '.join(sorted(unknown))} besides a text: name another model")
        self._output = self._session.get_outputs()[0].name

    def run(self, text: str, pair: str | None = None) -> NDArray[np.float32]:
        """The model's first output for one text or for a pair of texts, without the batch axis."""
        longest = CHARS_A_TOKEN * self.max_tokens
        encoded = self._tokenizer.encode(text[:longest], None if pair is None else pair[:longest])
        fed = {"input_ids": encoded.ids, "attention_mask": encoded.attention_mask, "token_type_ids": encoded.type_ids}
        arrays = {name: np.array([fed[name]], np.int64) for name in self._inputs}
        try:
            out: NDArray[np.float32] = self._session.run([self._output], arrays)[0][0]
        except Exception as error:
            problem = f"fails on a text of {len(encoded.ids)} tokens ({error}): is max_tokens in recollect.json right?"
            raise ModelUnavailable(f"{self._folder}: {problem}") from error
        return out


def _tokenizer(folder: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("tokenizers", "local", "a local model") from error
    try:
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:
        raise ModelUnavailable(f"{folder}: tokenizer.json can't be read: {error}") from error


def _session(folder: Path) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtra("onnxruntime", "local", "a local model") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = min(MAX_THREADS, os.cpu_count() or 1)
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads would burn a core
    try:
        return onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ModelUnavailable(f"{folder}: model.onnx can't be loaded: {error}") from error


class OnnxEmbedder:
    """Vectors from a local ONNX model, with the pooling and prefixes of its style."""

    def __init__(self, folder: Path, name: str | None = None) -> None:
        self._style = style_in(folder)
        self._model = OnnxModel(folder, self._style.max_tokens)
        self.name = name or f"onnx:{folder.resolve().name}@{_digest(folder, self._style)}"

    @cached_property
    def dimension(self) -> int:
        """The length of each vector."""
        return int(self.embed([""]).shape[1])

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> NDArray[np.float32]:
        """One unit vector per text, in order."""
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        prefixed = self._style.prefixed(texts, kind)
        return unit(self.name, np.stack([self._pooled(self._model.run(text)) for text in prefixed]))

    def _pooled(self, tokens: NDArray[np.float32]) -> NDArray[np.float32]:
        if tokens.ndim == 1:
            return tokens
        pooled: NDArray[np.float32] = tokens[0] if self._style.pooling == "cls" else tokens.mean(axis=0)
        return pooled


class OnnxReranker:
    """A cross-encoder in an ONNX folder. Its scores are logits; each is independent of the other texts."""

    def __init__(self, folder: Path) -> None:
        self._model = OnnxModel(folder, style_in(folder).max_tokens)
        self.name = f"onnx:{folder.resolve().name}"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """One logit per text, in order."""
        asked = readable(query)
        return np.array([self._model.run(asked, readable(text))[0] for text in texts], np.float32)


def _digest(folder: Path, style: Style) -> str:
    with (folder / "model.onnx").open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    digest.update(repr(style).encode())
    return digest.hexdigest()[:8]
