"""What images cost: by their pixels, never by the length of the data."""

from __future__ import annotations

import binascii
from math import ceil
from typing import Final

from recollect.types import Image

MAX_IMAGE_TOKENS: Final = 1600
"""The most that a provider charges for one image; an image of unknown size counts as that."""
LOW_DETAIL_TOKENS: Final = 85
_HEADER_CHARS: Final = 64
_JPEG_CHARS: Final = 256 * 1024
_LARGEST_SIDE: Final = 1_000_000
_JPEG_SIZES: Final = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}


def image_tokens(image: Image) -> int:
    """What an image costs, by OpenAI's rule or Anthropic's, whichever is more; the maximum if its size is unknown."""
    if image.detail == "low":
        return LOW_DETAIL_TOKENS
    size = _size(image)
    return MAX_IMAGE_TOKENS if size is None else max(_tiles(*size), _pixels(*size))


def _size(image: Image) -> tuple[int, int] | None:
    if image.width and image.height and image.width > 0 and image.height > 0:
        return min(image.width, _LARGEST_SIDE), min(image.height, _LARGEST_SIDE)
    data = image.data
    if data is None and image.url is not None and image.url.startswith("data:"):
        data = image.url[:_JPEG_CHARS].partition(",")[2]
    return None if data is None else size_of(data)


def _tiles(width: int, height: int) -> int:
    """OpenAI scales it to fit 2048 x 2048, then its short side to 768; a tile of 512 x 512 costs 170, and 85 on top."""
    scale = min(1, 2048 / max(width, height))
    scale = min(scale, 768 / min(width, height))
    return 85 + 170 * ceil(width * scale / 512) * ceil(height * scale / 512)


def _pixels(width: int, height: int) -> int:
    """Anthropic takes a token for each 750 pixels, and scales down images that would cost more than the maximum."""
    return min(MAX_IMAGE_TOKENS, ceil(width * height / 750))


def size_of(data: str) -> tuple[int, int] | None:
    """Width and height from the first bytes of a base64 PNG, JPEG, GIF or WebP; None if they can't be read."""
    head = _decode(data[:_HEADER_CHARS])
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        size = int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
    elif head.startswith((b"GIF87a", b"GIF89a")):
        size = int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    elif head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        size = _webp(head)
    elif head.startswith(b"\xff\xd8"):
        size = _jpeg(_decode(data[:_JPEG_CHARS]))
    else:
        return None
    return size if all(size) else None


def _decode(text: str) -> bytes:
    try:
        kept = "".join(text.split()).replace("-", "+").replace("_", "/").encode("ascii")
        return binascii.a2b_base64(kept[: len(kept) // 4 * 4])
    except (UnicodeEncodeError, binascii.Error):
        return b""


def _webp(head: bytes) -> tuple[int, int]:
    match head[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
        case b"VP8L":
            bits = int.from_bytes(head[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF
    return 0, 0


def _jpeg(head: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        if head[at + 1] in _JPEG_SIZES:
            return int.from_bytes(head[at + 7 : at + 9]), int.from_bytes(head[at + 5 : at + 7])
        at += 1 if head[at + 1] == 0xFF else 2 + int.from_bytes(head[at + 2 : at + 4])
    return 0, 0
