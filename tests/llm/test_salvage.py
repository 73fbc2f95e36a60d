"""JSON out of what a model wrote, and whether it fits what was asked for."""

from __future__ import annotations

import json
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import BadReply, ConfigError
from recollect.llm.salvage import _Reader, salvage
from recollect.llm.schema import check_schema, problems

FACTS = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"key": {"type": "string"}, "sure": {"type": "number", "minimum": 0, "maximum": 1}},
                "required": ["key", "sure"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["facts"],
}
GOOD = {"facts": [{"key": "home: {Oslo}", "sure": 0.9}, {"key": 'says "hi", ok', "sure": 1}]}

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text(), values, max_size=4)
SOME_OBJECT = {"type": "object"}
prose = st.text(alphabet=st.characters(exclude_characters="{}[]\"'/"), max_size=40)


@given(value=objects, indent=st.none() | st.integers(0, 2), ascii=st.booleans())
def test_json_as_it_should_be_is_read_as_it_is(value: Any, indent: int | None, ascii: bool) -> None:
    assert salvage(json.dumps(value, indent=indent, ensure_ascii=ascii), SOME_OBJECT) == value


@given(value=objects, before=prose, after=prose, fence=st.sampled_from(["{}", "```json\n{}\n```", "```\n{}```"]))
def test_prose_and_fences_around_it_are_left_out(value: Any, before: str, after: str, fence: str) -> None:
    text = before + fence.replace("{}", json.dumps(value)) + after
    assert salvage(text, SOME_OBJECT) == value


def cut_away(value: Any, whole: Any) -> bool:
    """Whether everything in the value is in the whole, in its place."""
    if isinstance(whole, dict):
        return isinstance(value, dict) and all(key in whole and cut_away(value[key], whole[key]) for key in value)
    if isinstance(whole, list):
        return isinstance(value, list) and value == whole[: len(value)]
    return bool(value == whole)


@given(value=objects, data=st.data())
def test_of_json_that_is_cut_off_only_what_is_complete_is_kept(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = text[: data.draw(st.integers(1, len(text)))]
    assert cut_away(salvage(cut, SOME_OBJECT), value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2,], "b": {"c": 1,},}', {"a": [1, 2], "b": {"c": 1}}),
        ("{'a': 'it\\'s', 'b': True, 'c': None}", {"a": "it's", "b": True, "c": None}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"a": 1, // why not\n /* or */ "b": 2}', {"a": 1, "b": 2}),
        ('See {it} and {this: one}: {"a": 1} (and more)', {"a": 1}),
        ('{"a": 1}{"a": 2}', {"a": 1}),
        ('{"a": 1}}}', {"a": 1}),
        ('{"a": "\\d+"}', {"a": "\\d+"}),
        ('{"a": 12', {}),
        ('{"a": 12, "b": tr', {"a": 12}),
        ('{"a": {"b": 1, "c": [{"d": 2}, {"e": 3', {"a": {"b": 1, "c": [{"d": 2}]}}),
    ],
)
def test_what_models_do_to_json_is_undone(text: str, value: Any) -> None:
    assert salvage(text, SOME_OBJECT) == value


def test_of_a_list_that_is_cut_off_the_whole_items_are_kept() -> None:
    text = json.dumps(GOOD)
    assert salvage(text[:-20], FACTS) == {"facts": GOOD["facts"][:1]}


def test_the_first_value_that_fits_is_taken() -> None:
    text = f'An example: {{"facts": "none"}}. The answer [1]: ```json\n{json.dumps(GOOD)}\n```'
    assert salvage(text, FACTS) == GOOD


@pytest.mark.parametrize(
    "text", ["", "nothing here", "{", "[", "{]", "{{{{", '{"a" 1}', '{"a": NaN}', "[" * 10_000, "null"]
)
def test_where_there_is_no_json_it_says_so(text: str) -> None:
    with pytest.raises(BadReply, match="does not fit") as caught:
        salvage(text, {"type": "object", "required": ["a"]})
    assert not caught.value.passing


@given(st.text(alphabet="{}[]\",:1at\\'/* ") | st.text())
def test_no_text_breaks_it(text: str) -> None:
    try:
        value = salvage(text)
    except BadReply:
        return
    json.dumps(value, allow_nan=False)


@pytest.mark.parametrize("text", ['{"a":' * 200_000, "{'" * 100_000, "[/*" * 100_000, '{"a": "' + "x" * 1_000_000])
def test_a_huge_text_comes_to_an_end(text: str) -> None:
    with pytest.raises(BadReply):
        salvage(text, FACTS)


schemas = st.recursive(
    st.sampled_from(
        [
            {"type": "string", "minLength": 1, "maxLength": 3},
            {"type": "integer", "minimum": 0, "exclusiveMaximum": 9},
            {"type": ["number", "null"], "exclusiveMinimum": -1, "maximum": 5},
            {"enum": ["a", 1, None, True]},
            {"const": 0},
            {"type": "string", "pattern": "^a"},
            {"type": "boolean"},
        ]
    ),
    lambda inner: st.one_of(
        st.builds(lambda item: {"type": "array", "items": item, "minItems": 1, "maxItems": 3}, inner),
        st.builds(lambda one, two: {"anyOf": [one, two]}, inner, inner),
        st.builds(
            lambda one, more: {
                "type": "object", "properties": {"a": one}, "required": ["a"], "additionalProperties": more
            },
            inner, st.booleans() | inner,
        ),
    ),
    max_leaves=4,
)  # fmt: skip
small = st.recursive(
    st.sampled_from(["a", "ab", "abcd", "", 0, 1, 5, 9, -1, 2.0, 2.5, True, False, None]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=5,
)


@given(schema=schemas, value=small)
def test_the_verdict_is_that_of_jsonschema(schema: dict[str, Any], value: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema comes with the extra 'chroma'")
    check_schema(schema)
    assert (problems(value, schema) == []) == jsonschema.Draft202012Validator(schema).is_valid(value)


def test_definitions_are_followed() -> None:
    schema = {"$defs": {"Name": {"type": "string"}}, "type": "array", "items": {"$ref": "#/$defs/Name"}}
    check_schema(schema)
    assert problems(["a"], schema) == []
    assert problems([1], schema) == ["$[0] is a integer, not string"]


def test_a_problem_names_its_place() -> None:
    found = problems({"facts": [{"key": "a", "sure": 2, "x": 0}, {"sure": "no"}]}, FACTS)
    assert found == [
        "$.facts[0].sure is 2, too large",
        "$.facts[0].x is not asked for",
        "$.facts[1].key is missing",
        "$.facts[1].sure is a string, not number",
    ]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "allOf": []},
        {"type": "object", "properties": {"a": {"oneOf": []}}},
        {"type": "array", "items": {"uniqueItems": True}},
        {"anyOf": [{"not": {}}]},
        {"properties": {"a": 3}},
        {"type": "text"},
        {"type": ["string", "nothing"]},
        {"type": "object", "properties": {"a": {"type": str}}},
        {"type": None},
        {"type": [["string"]]},
        {"properties": ["a"]},
        {"anyOf": {"type": "string"}},
        {"anyOf": 3},
        {"type": "object", "required": "name"},
    ],
)
def test_a_keyword_that_is_not_checked_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="schema"):
        check_schema(schema)


def test_a_definition_that_is_not_there_is_said_so() -> None:
    with pytest.raises(ConfigError, match="Missing"):
        problems(1, {"$ref": "#/$defs/Missing"})


def test_a_long_reply_that_never_fits_is_not_read_from_every_bracket(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Mock(wraps=_Reader)
    monkeypatch.setattr("recollect.llm.salvage._Reader", read)
    with pytest.raises(BadReply):
        salvage('{"a": ' * 45 + "[" + '"a long word", ' * 50_000, {"type": "object", "required": ["b"]})
    assert read.call_count == 2
