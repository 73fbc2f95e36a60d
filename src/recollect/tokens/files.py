"""What files cost: a PDF by its pages, text by its words, sound by its duration; never by the length of the base64."""

from __future__ import annotations

import binascii
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from recollect.tokens.estimator import TokenCounter

PAGE_TOKENS: Final = 3_000
"""The most that a page of a PDF usually costs, for its text and its picture."""
PAGE_BYTES: Final = 20_000
"""Assumed bytes of a page, if a PDF's pages can't be counted."""
SOUND_BYTES: Final = 64
"""Bytes of sound or film for each token: those of a poor recording, at 32 tokens a second."""

_SHORTEST: Final = 64
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_\s-]++={0,2}\s*")
_PAGE: Final = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_PACKED: Final = re.compile(rb"/ObjStm\b.{0,400}?stream\r?\n(.*?)(?:endstream|\Z)", re.DOTALL)
_MOST_UNPACKED: Final = 2**24
_SOUND: Final = (b"RIFF", b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"OggS", b"fLaC")


def without_files(data: Mapping[str, Any], count: TokenCounter) -> tuple[int, Mapping[str, Any]]:
    """What the files in a part's data cost, and the data without them."""
    total = 0

    def without(value: Any) -> Any:
        nonlocal total
        if isinstance(value, Mapping):
            return {name: without(part) for name, part in value.items()}
        if isinstance(value, (list, tuple)):
            return [*map(without, value)]
        tokens = _file(value, count) if isinstance(value, str) and len(value) >= _SHORTEST else None
        total += tokens or 0
        return value if tokens is None else ""

    rest = {name: without(part) for name, part in data.items()}
    return total, rest


def _file(text: str, count: TokenCounter) -> int | None:
    """What a file costs, given as base64 or a data URL; None if the text is not a file of a known kind."""
    content = _decoded(text.partition(";base64,")[2] if text.startswith("data:") else text)
    if content.startswith(b"%PDF-"):
        return PAGE_TOKENS * (_pages(content) or -(-len(content) // PAGE_BYTES))
    if content.startswith(_SOUND) or content[4:8] == b"ftyp":
        return -(-len(content) // SOUND_BYTES)
    try:
        words = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return count(words) if words and "".join(words.split()).isprintable() else None


def _decoded(text: str) -> bytes:
    if not _BASE64.fullmatch(text):
        return b""
    kept = "".join(text.split()).replace("-", "+").replace("_", "/")
    try:
        return binascii.a2b_base64(kept + "=" * (-len(kept) % 4))
    except binascii.Error:
        return b""


def _pages(pdf: bytes) -> int:
    return sum(len(_PAGE.findall(part)) for part in (pdf, *_unpacked(pdf)))


def _unpacked(pdf: bytes) -> Iterator[bytes]:
    """The contents of a newer PDF's object streams, up to a limit."""
    left = _MOST_UNPACKED
    for packed in _PACKED.finditer(pdf):
        with suppress(zlib.error):
            part = zlib.decompressobj().decompress(packed[1], left)
            yield part
            left -= len(part)
        if left <= 0:
            return
