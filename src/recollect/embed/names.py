"""Embedders and re-rankers by name: 'onnx:e5-small-v2', 'openai:text-embedding-3-small', 'hash:256', 'auto', 'none'."""

from __future__ import annotations

import importlib.util
import logging
from functools import cache
from pathlib import Path

from recollect.embed.embedder import Embedder, Reranker
from recollect.errors import ConfigError

DEFAULT, DEFAULT_RERANKER = "e5-small-v2", "ms-marco-MiniLM-L-12-v2"
TORCH = "sentence-transformers"
NONE = "none"
PROVIDERS = ("onnx", "openai", TORCH, "hash")
_log = logging.getLogger("recollect.embed")


def open(name: str = "auto", *, device: str | None = None) -> Embedder | None:
    """Open the embedder of that 'provider:model' name; 'auto' is the local default model, or None if it is not here.

    'none' gives None: recall then works by keywords only. `device` is where sentence-transformers runs: cpu, cuda, mps.
    """
    if name == "auto":
        return _local_default()
    if name == NONE:
        return None
    match _parts(name):
        case "onnx", model:
            return _onnx(model)
        case "hash", model:
            return _hashing(model)
        case "openai", model:
            from recollect.embed.http import HttpEmbedder

            return HttpEmbedder(model)
        case _, model:
            from recollect.embed.sentence_transformers import SentenceTransformersEmbedder

            return SentenceTransformersEmbedder(model, device)


def check(name: str) -> None:
    """Raises ConfigError if there is no embedder of that name; loads no model."""
    if name not in ("auto", NONE):
        provider, model = _parts(name)
        if provider == "onnx" and not (folder := _folder(model)).is_dir():
            raise ConfigError(f"there is no folder {folder}: name a model that was pulled, or a folder with a model")
        if provider == "hash":
            _hashing(model)


def _parts(name: str) -> tuple[str, str]:
    provider, _, model = name.partition(":")
    if provider not in PROVIDERS or not model:
        known = ", ".join(f"'{p}:…'" for p in PROVIDERS)
        raise ConfigError(f"embedder {name!r} is not known: use 'auto', '{NONE}' or one of {known}")
    return provider, model


def open_reranker(name: str = DEFAULT_RERANKER) -> Reranker:
    """Open the cross-encoder of that name, if it was pulled, or the one in that folder."""
    from recollect.embed.onnx import OnnxReranker

    return OnnxReranker(_folder(name))


def runs_here() -> bool:
    """Whether the packages that a local model needs are installed."""
    return all(importlib.util.find_spec(package) for package in ("onnxruntime", "tokenizers"))


def _local_default() -> Embedder | None:
    if not runs_here():
        _say_once("packages are missing: pip install onnxruntime tokenizers")
    elif (folder := _known(DEFAULT)) is None or not folder.is_dir():
        _say_once(f"the local model is not here: fetch it with python -m recollect.embed.models pull {DEFAULT}")
    else:
        return _onnx(DEFAULT)
    return None


@cache
def _say_once(problem: str) -> None:
    _log.warning("Recall works by keywords alone: %s", problem)


def _onnx(model: str) -> Embedder:
    from recollect.embed.onnx import OnnxEmbedder

    return OnnxEmbedder(_folder(model), f"onnx:{model}" if _known(model) else None)


def _folder(model: str) -> Path:
    known = _known(model)
    if known is not None and not known.is_dir():
        raise ConfigError(f"the model {model} is not here: fetch it with python -m recollect.embed.models pull {model}")
    return known or Path(model).expanduser()


def _known(model: str) -> Path | None:
    from recollect.embed import models  # imported here, so that models can be run as a script

    return models.folder(model) if model in models.KNOWN else None


def _hashing(dimension: str) -> Embedder:
    from recollect.embed.hashing import HashingEmbedder

    if not dimension.isdecimal():
        raise ConfigError(f"'hash:{dimension}' is not known: give a number of dimensions, as in 'hash:256'")
    return HashingEmbedder(int(dimension))
