"""How a model wants its text (prefixes, pooling, length), from its name or from a `recollect.json` in its folder."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from recollect.arguments import check_given
from recollect.embed.embedder import Kind, readable
from recollect.errors import ConfigError

CHARS_A_TOKEN = 100
"""No tokenizer in use makes tokens longer than this, so cutting a text at this many per token loses nothing."""


@dataclass(frozen=True, slots=True)
class Style:
    """What to put in front of a text, how to pool its tokens, and how many tokens to read."""

    query: str = ""
    passage: str = ""
    pooling: Literal["mean", "cls"] = "mean"
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.query, str) or not isinstance(self.passage, str):
            raise ConfigError("query and passage must be text, to be put in front of each query and passage")
        if self.pooling not in ("mean", "cls"):
            raise ConfigError(f"pooling {self.pooling!r} is not known: use 'mean' or 'cls'")
        if self.max_tokens is not None and (type(self.max_tokens) is not int or self.max_tokens < 1):
            raise ConfigError(f"max_tokens must be a whole number above 0, not {self.max_tokens!r}")

    def prefixed(self, texts: Sequence[str], kind: Kind) -> list[str]:
        """Each text with the prefix that this model wants for that kind."""
        check_given(texts=(texts, not isinstance(texts, str), "a list of texts"))
        if kind not in ("query", "passage"):
            raise ConfigError(f"kind {kind!r} is not known: use 'query' or 'passage'")
        return [(self.query if kind == "query" else self.passage) + readable(text) for text in texts]


_BY_NAME = (
    (re.compile(r"(^|[-_/])e5[-_]", re.IGNORECASE), Style("query: ", "passage: ")),
    (
        re.compile(r"bge-\w+-en", re.IGNORECASE),
        Style("Represent this sentence for searching relevant passages: ", pooling="cls"),
    ),
    (re.compile(r"(^|[-_/])bge-", re.IGNORECASE), Style(pooling="cls")),
)


def style_of(model: str) -> Style:
    """The style that the model of that name was trained with; mean pooling and no prefixes if it is unknown."""
    return next((style for pattern, style in _BY_NAME if pattern.search(model)), Style())


def style_in(folder: Path) -> Style:
    """The style from the folder's `recollect.json`, or else from the folder's name."""
    path = folder / "recollect.json"
    if not path.exists():
        return style_of(folder.name)
    known = [field.name for field in fields(Style)]
    try:
        given: Any = json.loads(path.read_text("utf-8"))
        return Style(**given)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{path} can't be used ({error}): it must be a JSON object with any of {known}") from error
