"""Answers that fit a schema, and what comes of those that don't."""

from __future__ import annotations

from typing import Any

import pytest

from recollect import Message
from recollect.errors import BadReply, ConfigError
from recollect.llm.salvage import salvage
from recollect.llm.schema import check_schema, problems
from tests.llm.asked import ASKED, CITY, STYLES, last
from tests.llm.conftest import Serve


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("said", [{"city": "Oslo", "degrees": 6}, '```json\n{"city": "Oslo", "degrees": 6,}\n```'])
def test_a_schema_gives_a_value_that_fits_it(serve: Serve, style: str, said: Any) -> None:
    _, model = serve(style, [said])
    whole, streamed = model.complete(ASKED, schema=CITY), last(model.stream(ASKED, schema=CITY))
    assert whole.value == streamed.value == {"city": "Oslo", "degrees": 6}
    assert whole.finish == streamed.finish == "stop"
    assert whole.message.tool_calls == ()


@pytest.mark.parametrize("style", STYLES)
def test_an_answer_that_does_not_fit_the_schema_is_a_bad_reply(serve: Serve, style: str) -> None:
    provider, model = serve(style, [{"town": "Oslo"}])
    with pytest.raises(BadReply, match=r"city is missing.*town") as caught:
        model.complete(ASKED, schema=CITY)
    assert not caught.value.passing
    assert len(provider.requests) == 1
    with pytest.raises(BadReply, match="city is missing"):
        list(model.stream(ASKED, schema=CITY))


def test_a_server_that_takes_no_schema_gets_it_in_the_prompt(serve: Serve) -> None:
    provider, model = serve("openai", [{"city": "Oslo"}], faults=["no_json_schema"])
    assert model.complete(ASKED, schema=CITY).value == {"city": "Oslo"}
    assert last(model.stream(ASKED, schema=CITY)).value == {"city": "Oslo"}
    formats = [asked.body["response_format"]["type"] for asked in provider.requests]
    assert formats == ["json_schema", "json_object", "json_object"]
    assert '"city"' in provider.requests[1].body["messages"][0]["content"]


def test_a_refusal_of_the_model_is_no_answer_to_a_schema(serve: Serve) -> None:
    _, model = serve("openai", [Message("assistant", extra={"refusal": "I can't say."}, shape="openai")])
    reply = model.complete(ASKED)
    assert (reply.text, reply.finish) == ("I can't say.", "content_filter")


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"items": True}, []),
        ({"items": False}, ["$[0] is not asked for"]),
        ({"anyOf": [True, {"type": "string"}]}, []),
        ({"anyOf": [False, {"type": "string"}]}, ["$ fits none of its 2 forms"]),
    ],
)
def test_true_and_false_are_schemas(schema: dict[str, Any], said: list[str]) -> None:
    check_schema(schema)
    assert problems([1], schema) == said


TREE = {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/tree"}}, {"type": "string"}]}


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "text"}, "type 'text' is not one of"),
        ({"items": {"colour": "red"}}, r"schema\.items: colour is not known"),
        ({"properties": {"city": 5}}, r"schema\.properties\.city must be an object"),
        ({"required": "city"}, r"schema\.required must be a list"),
        ({"enum": None}, r"schema\.enum must be a list"),
        ({"items": {"minimum": "3"}}, r"schema\.items\.minimum must be a number"),
        ({"exclusiveMinimum": True}, "must be a number"),
        ({"maxLength": 2.5}, "must be a whole number"),
        ({"pattern": "("}, "is no regular expression"),
        ({"pattern": 5}, "must be text"),
        ({"items": {"$ref": "#/$defs/tree"}}, "has no #/\\$defs/tree"),
        ({"$defs": {"a": {"$ref": "#/$defs/a"}}}, "leads back to itself"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [True, {"$ref": "#/$defs/a"}]}}}, "leads back to itself"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": 5}}}, r"schema\.\$defs\.a\.anyOf must be a list"),
    ],
)
def test_a_schema_that_can_not_be_checked_is_refused_before_the_model_is_asked(
    serve: Serve, schema: dict[str, Any], told: str
) -> None:
    provider, model = serve("openai", [{"city": "Oslo"}])
    with pytest.raises(ConfigError, match=told):
        model.complete(ASKED, schema=schema)
    assert not provider.requests


def test_a_schema_may_name_itself_for_what_is_inside_a_value() -> None:
    schema = {"$ref": "#/$defs/tree", "$defs": {"tree": TREE}}
    check_schema(schema)
    assert problems(["a", [["b"]]], schema) == []
    assert problems(["a", [[5]]], schema) == ["$ fits none of its 2 forms"]
    with pytest.raises(BadReply, match="nested too deeply"):
        salvage("[" * 500 + "]" * 500, schema)
