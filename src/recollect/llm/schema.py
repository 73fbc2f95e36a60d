"""Checks a JSON value against a JSON schema, with the keywords that schemas for models use and no others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from recollect.errors import ConfigError
from recollect.store.values import same

_TYPES: Final[dict[str, Any]] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None),
    "integer": int, "number": (int, float),
}  # fmt: skip
_NOTES: Final = frozenset({"$defs", "$schema", "title", "description", "default", "examples", "format", "strict"})
_RULES: Final = frozenset(
    {
        "type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "$ref", "pattern",
        "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems",
    }
)  # fmt: skip
_NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_LENGTHS: Final = ("minLength", "maxLength", "minItems", "maxItems")
_KINDS: Final[dict[str, tuple[Any, str]]] = {
    **dict.fromkeys(("properties", "$defs"), (Mapping, "an object")),
    **dict.fromkeys(("anyOf", "enum", "required"), (list | tuple, "a list")),
    **dict.fromkeys(("pattern", "$ref"), (str, "text")),
    **dict.fromkeys(_NUMBERS, (int | float, "a number")),
    **dict.fromkeys(_LENGTHS, (int, "a whole number")),
}


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raise ConfigError if a schema has a keyword that is not known here, or one whose value can't be checked."""
    for where, part in list(_parts(schema, "schema")):
        if unknown := sorted(set(part) - _RULES - _NOTES):
            raise ConfigError(f"{where}: {', '.join(unknown)} is not known; use {', '.join(sorted(_RULES))}")
        kinds = part.get("type", [])
        for kind in kinds if isinstance(kinds, list | tuple) else [kinds]:
            if not isinstance(kind, str) or kind not in _TYPES:
                raise ConfigError(f"{where}: type {kind!r} is not one of {', '.join(_TYPES)}")
        try:
            re.compile(part.get("pattern", ""))
        except re.error as error:
            raise ConfigError(f"{where}.pattern is no regular expression: {error}") from error
        _check_ends(part, schema, where, ())


def problems(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """What in the value does not fit the schema, each with its place; empty if everything fits."""
    try:
        return list(_problems(value, schema, schema, "$"))
    except RecursionError:
        return ["$ is nested too deeply"]


def _parts(schema: Any, where: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(schema, bool):
        return
    _check_kind(schema, where, Mapping, "an object")
    for key, (kind, called) in _KINDS.items():
        if key in schema:
            _check_kind(schema[key], f"{where}.{key}", kind, called)
    yield where, schema
    for key in ("properties", "$defs"):
        for name, inner in schema.get(key, {}).items():
            yield from _parts(inner, f"{where}.{key}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from _parts(schema[key], f"{where}.{key}")
    for index, inner in enumerate(schema.get("anyOf", ())):
        yield from _parts(inner, f"{where}.anyOf[{index}]")


def _check_kind(value: Any, where: str, kind: Any, called: str) -> None:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ConfigError(f"{where} must be {called}, got {type(value).__name__}")


def _check_ends(part: Any, root: Mapping[str, Any], where: str, before: tuple[str, ...]) -> None:
    """Raise where references lead back to themselves for the same value, or to nothing."""
    if not isinstance(part, Mapping):
        return
    if "$ref" in part:
        if (ref := part["$ref"]) in before:
            raise ConfigError(f"{where}: {ref} leads back to itself")
        _check_ends(_resolved(ref, root), root, where, (*before, ref))
    for one in part.get("anyOf", ()):
        _check_ends(one, root, where, before)


def _problems(value: Any, schema: Mapping[str, Any] | bool, root: Mapping[str, Any], where: str) -> Iterator[str]:
    if isinstance(schema, bool):
        yield from () if schema else (f"{where} is not asked for",)
        return
    if "$ref" in schema:
        yield from _problems(value, _resolved(schema["$ref"], root), root, where)
    if "type" in schema and not _is(value, schema["type"]):
        yield f"{where} is a {_kind(value)}, not {schema['type']}"
        return
    if "enum" in schema and not any(same(value, item) for item in schema["enum"]):
        yield f"{where} is {value!r}, not one of {schema['enum']}"
    if "const" in schema and not same(value, schema["const"]):
        yield f"{where} is {value!r}, not {schema['const']!r}"
    if "anyOf" in schema and all(any(_problems(value, one, root, where)) for one in schema["anyOf"]):
        yield f"{where} fits none of its {len(schema['anyOf'])} forms"
    yield from _bounds(value, schema, where)
    if isinstance(value, dict):
        yield from _members(value, schema, root, where)
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from _problems(item, schema["items"], root, f"{where}[{index}]")


def _members(value: dict[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], where: str) -> Iterator[str]:
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{where}.{name} is missing"
    others = schema.get("additionalProperties", True)
    for name, item in value.items():
        yield from _problems(item, known.get(name, others), root, f"{where}.{name}")


def _bounds(value: Any, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    if _is(value, "number"):
        low, high = schema.get("minimum"), schema.get("maximum")
        above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
        if (low is not None and value < low) or (above is not None and value <= above):
            yield f"{where} is {value}, too small"
        if (high is not None and value > high) or (below is not None and value >= below):
            yield f"{where} is {value}, too large"
    for kind, least, most in ((str, "minLength", "maxLength"), (list, "minItems", "maxItems")):
        if isinstance(value, kind):
            if len(value) < schema.get(least, 0):
                yield f"{where} is shorter than {schema[least]}"
            if len(value) > schema.get(most, len(value)):
                yield f"{where} is longer than {schema[most]}"
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{where} does not match {schema['pattern']}"


def _resolved(ref: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    name = ref.removeprefix("#/$defs/")
    found = root.get("$defs", {}).get(name)
    if not isinstance(found, Mapping):
        raise ConfigError(f"the schema has no {ref}: definitions are under $defs")
    return found


def _is(value: Any, kind: str | list[str]) -> bool:
    if not isinstance(kind, str):
        return any(_is(value, one) for one in kind)
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _kind(value: Any) -> str:
    return next(name for name in _TYPES if _is(value, name))
