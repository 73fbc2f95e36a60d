"""A chat message as OpenAI's clients send it, for the OpenAPI document: what `parse` reads, and what it refuses."""

from __future__ import annotations

from typing import Any, Final

Schema = dict[str, Any]


def _either(*kinds: Schema) -> Schema:
    return {"anyOf": [*kinds, {"type": "null"}]}


def _object(required: tuple[str, ...], **properties: Schema) -> Schema:
    return {"type": "object", "required": list(required), "properties": properties}


TEXT: Final = {"type": "string"}
WRITTEN: Final = {"type": ["string", "object", "array"]}
"""Arguments of a call: JSON as text, or, as some clients send them, as it is."""
PART: Final = {
    "anyOf": [
        _object(("type", "text"), type={"const": "text"}, text=TEXT),
        _object((), type={"not": {"const": "text"}}),
    ]
}
CONTENT: Final = _either(TEXT, {"type": "array", "items": PART})
FUNCTION: Final = _object(("name", "arguments"), name=TEXT, arguments=WRITTEN)
CALL: Final = {
    "anyOf": [
        _object(
            ("id", "function"),
            id=TEXT,
            type={"const": "function"},
            function=FUNCTION,
            custom={"not": {"type": "object"}},
        ),
        _object(
            ("id", "custom"),
            id=TEXT,
            type={"const": "custom"},
            custom=_object(("name", "input"), name=TEXT, input=WRITTEN),
        ),
    ]
}
FROM_PERSON: Final = _object(
    ("role",),
    role={"enum": ["system", "developer", "user"]},
    content=CONTENT,
    name=_either(TEXT),
    tool_calls=_either({"type": "array", "maxItems": 0}),
    function_call={"type": "null"},
)
FROM_MODEL: Final = _object(
    ("role",),
    role={"const": "assistant"},
    content=CONTENT,
    name=_either(TEXT),
    tool_calls=_either({"type": "array", "items": CALL}),
    function_call=_either(FUNCTION),
)
FROM_TOOL: Final = _object(
    ("role", "tool_call_id"), role={"const": "tool"}, tool_call_id=TEXT, content=CONTENT, name=_either(TEXT)
)
MESSAGE: Final = {"anyOf": [FROM_PERSON, FROM_MODEL, FROM_TOOL]}
