"""Shortens messages: head and tail stay, a marker says how much was cut between them, and ids stay."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from recollect.flow.shapes.wire import NOTHING, marks_cache
from recollect.frozen import EMPTY
from recollect.types import Image, Message, Opaque, Part, Text, Thinking, ToolResult, content_of

Count: TypeAlias = Callable[[Message], int]

IMAGE_CUT: Final = "[image cut]"
FILE_CUT: Final = "[file cut]"
WORDS_CUT: Final = "characters cut …]"
_LOOKED_AT: Final = 1_000
_BASE64: Final = re.compile(r"(?<![\w+/-])[\w+/-]{500}", re.ASCII)
"""A file as text: no word is as long as this, and JSON, URLs and code have other characters in between."""


def shorten_text(text: str, limit: int, count: Count) -> str:
    """The text itself if it has at most `limit` tokens, else its head and tail around a marker.

    However small the limit, the marker is left, or the whole text if that is shorter than the marker.
    """
    whole = tokens = count(Message("tool", text))
    keep = len(text)
    short = text
    while tokens > limit and keep > 0:
        keep = min(keep * max(limit, 0) * 9 // (tokens * 10), keep - 1)
        keep = 0 if keep < 16 else keep
        head = keep * 2 // 3
        tail = len(text) - (keep - head)
        short = f"{text[:head]}\n[… {tail - head:,} {WORDS_CUT}\n{text[tail:]}"
        tokens = count(Message("tool", short))
    return short if tokens < whole else text


def shorten_results(message: Message, limit: int, count: Count) -> Message:
    """The tool message with each result shortened to its share of `limit` tokens; without results, its other parts."""
    if isinstance(message.content, str):
        return message.replace(content=shorten_text(message.content, limit, count))
    if not message.tool_results and not message.extra:
        return only_words(message, limit, count)
    share = limit // max(1, len(message.tool_results))
    return _with_parts(message, [_shorten_result(p, share, count) for p in message.content])


def shorten_words(message: Message, limit: int, count: Count) -> Message:
    """The message with each text shortened to its share of `limit` tokens; other parts stay as they are."""
    if isinstance(message.content, str):
        return message.replace(content=shorten_text(message.content, limit, count))
    share = limit // max(1, sum(isinstance(part, Text) for part in message.content))
    parts = [
        dataclasses.replace(p, text=shorten_text(p.text, share, count)) if isinstance(p, Text) else p
        for p in message.content
    ]
    return _with_parts(message, parts)


def only_words(message: Message, limit: int, count: Count) -> Message:
    """The message after `shorten_words`, with a mark in place of each picture and file of more than `limit` tokens."""
    short = shorten_words(message, limit, count)
    if isinstance(short.content, str):
        return short
    return _with_parts(
        short, [part if count(Message("user", (part,))) <= limit else _mark(part) for part in short.parts]
    )


def acceptable(messages: Sequence[Message]) -> list[Message]:
    """The messages without what providers refuse.

    In messages of the user and of tools, a mark replaces blank texts and, before the last question, each picture and
    file. The model's thinking from before the last question is left out: another model may not accept it.
    """
    asked = max((n for n, message in enumerate(messages) if message.role == "user"), default=0)
    return [_accepted(message, older=n < asked) for n, message in enumerate(messages)]


def _accepted(message: Message, older: bool) -> Message:
    if message.role in ("user", "tool"):
        return _marked(message, older)
    return _without_thoughts(message) if older else message


def _without_thoughts(message: Message) -> Message:
    """An answer without its thinking, also in fields of its own (`extra`); one that only thinks stays as it is."""
    spoken = tuple(part for part in message.parts if not isinstance(part, Thinking))
    told = 0 < len(spoken) < len(message.parts)
    return message.replace(content=content_of(spoken), extra=EMPTY) if told else message


def _marked(message: Message, older: bool) -> Message:
    if isinstance(message.content, str) or not message.content:
        return message if message.text.strip() else message.replace(content=NOTHING)
    return _with_parts(message, [_said(unshown(part) if older else part) for part in message.content])


def _said(part: Part) -> Part:
    return dataclasses.replace(part, text=NOTHING) if isinstance(part, Text) and not part.text.strip() else part


def unshown(part: Part) -> Part:
    """The part with marks in place of pictures and files, also inside a tool's result; other parts as they are."""
    if isinstance(part, ToolResult) and not isinstance(part.content, str) and _has_files(part):
        return dataclasses.replace(part, content=tuple(Text(_words(inner)) for inner in part.content))
    return _mark(part)


def _mark(part: Part) -> Part:
    if isinstance(part, Image):
        return Text(IMAGE_CUT)
    return Text(FILE_CUT) if isinstance(part, Opaque) and not marks_cache(part) else part


def _with_parts(message: Message, parts: list[Part]) -> Message:
    return message if tuple(parts) == message.content else message.replace(content=tuple(parts))


def _shorten_result(part: Part, limit: int, count: Count) -> Part:
    if not isinstance(part, ToolResult):
        return part
    whole = part.content if isinstance(part.content, str) else "\n".join(_words(inner) for inner in part.content)
    short = shorten_text(whole, limit, count)
    if short == whole and not _has_files(part):
        return part
    return dataclasses.replace(part, content=short if isinstance(part.content, str) else (Text(short),))


def _has_files(result: ToolResult) -> bool:
    return not isinstance(result.content, str) and any(
        isinstance(part, Image) or (isinstance(part, Opaque) and _has_bytes(part.data)) for part in result.content
    )


def _has_bytes(value: Any) -> bool:
    """Whether a value holds a file as text."""
    if isinstance(value, str):
        return _BASE64.search(value, 0, _LOOKED_AT) is not None
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return any(map(_has_bytes, inner))


def _words(part: Text | Image | Opaque) -> str:
    match part:
        case Text():
            return part.text
        case Image():
            return IMAGE_CUT
        case Opaque():
            return FILE_CUT if _has_bytes(part.data) else json.dumps(part.data, ensure_ascii=False)
