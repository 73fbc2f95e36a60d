"""Counts messages by the providers' rules: what messages, names, calls, images, files and tool schemas cost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from recollect.errors import ConfigError
from recollect.tokens.estimator import TokenCounter
from recollect.tokens.files import without_files
from recollect.tokens.images import image_tokens
from recollect.types import Image, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

MESSAGE_TOKENS: Final = 4
"""What every message costs on top of its content: three marks and its role."""
NAME_TOKENS: Final = 1
"""What a name costs on top of its text."""
REPLY_TOKENS: Final = 3
"""What the start of the reply costs, once for each request."""
PART_TOKENS: Final = 4
"""What a tool call or result costs on top of its text, for the marks around it."""


def count_message(message: Message, count: TokenCounter) -> int:
    """The tokens that one message adds to a request."""
    tokens = MESSAGE_TOKENS if message.name is None else MESSAGE_TOKENS + NAME_TOKENS + count(message.name)
    if isinstance(message.content, str):
        return tokens + count(message.content)
    return tokens + sum(_part(part, count) for part in message.content)


def count_messages(messages: Iterable[Message], count: TokenCounter) -> int:
    """The tokens of a request with these messages, including the start of the reply."""
    return sum((count_message(message, count) for message in messages), REPLY_TOKENS)


def count_tools(schemas: Iterable[Mapping[str, Any]], count: TokenCounter) -> int:
    """An upper bound of the tokens that tool schemas add to a request: those of their minified JSON."""
    if not isinstance(schemas, Iterable):
        raise ConfigError(f"tools must be a list of schemas, got {schemas!r}")
    return sum(count(_schema(schema)) for schema in schemas)


def _part(part: Part, count: TokenCounter) -> int:
    match part:
        case Text(text=text):
            return count(text)
        case Image():
            return image_tokens(part)
        case ToolCall():
            return PART_TOKENS + count(part.id) + count(part.name) + count(part.arguments)
        case ToolResult():
            return PART_TOKENS + count(part.call_id) + _result(part, count)
        case Thinking():
            return sum(count(text) for text in (part.text, part.signature, part.redacted) if text)
        case Opaque(data=data):
            tokens, rest = without_files(data, count)
            return tokens + count(_minified(rest))


def _result(result: ToolResult, count: TokenCounter) -> int:
    if isinstance(result.content, str):
        return count(result.content)
    return sum(_part(part, count) for part in result.content)


def _schema(schema: Mapping[str, Any]) -> str:
    try:
        if isinstance(schema, Mapping):
            return _minified(schema)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"the schema of a tool is not JSON: {error}") from error
    raise ConfigError(f"the schema of a tool must be a mapping, got {schema!r}; give a list of schemas")


def _minified(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
