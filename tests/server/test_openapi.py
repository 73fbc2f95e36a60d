"""The OpenAPI document is the truth: what it allows works, what it does not is refused, and nothing breaks inside."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import positive_data_acceptance
from schemathesis.specs.openapi.checks import ignored_auth

from recollect.memory import Memory
from recollect.server.app import document
from recollect.server.auth import HOME, KIND, hashed
from recollect.store import Record
from tests.server.rest import ADA
from tests.server.running import running

DOCUMENT = Path(__file__).parents[2] / "docs" / "openapi.json"
EXAMPLES = int(os.environ.get("RECOLLECT_API_EXAMPLES", "200" if "CI" in os.environ else "20"))

SECRET = "rk_test"

schema = schemathesis.openapi.from_path(DOCUMENT)
schema.config.update(request_timeout=60)

BEYOND_SCHEMAS = {
    ("chat", "BudgetTooSmall"): "a budget is too small for the message, or for the system text, by tokens",
    ("context", "BudgetTooSmall"): "the same",
    ("createChatCompletion", "BudgetTooSmall"): "the same, or for the tools",
    ("createChatCompletion", "ConfigError"): "the model that is served can't answer with what a field asks for",
    ("listMessages", "ConfigError"): "no message is before the first",
    ("recall", "ConfigError"): "one session alone is to be looked in, and none is named",
    ("replay", "BudgetTooSmall"): "the same as for a context",
    ("search", "ConfigError"): "the same as for recall",
    ("searchMessages", "ConfigError"): "the same as for listMessages",
    ("uploadDocument", "ConfigError"): "a file's bytes are of the kind that its name says, and hold text",
}
"""What is refused though the document allows it, as no schema can say why: the operation, the class of the error."""
NAMED, IN_SESSION = "X-Recollect-User", "X-Recollect-Session"
"""A chat names its user by this header or by a field, one of them, which no schema can say either. Names in headers are
percent-encoded, nor can a schema say that."""

ENFORCED: set[str] = set()
"""The operations that have been seen to refuse such a request; schemathesis' own runner keeps this, too."""

FRAMING = ("content-length", "transfer-encoding")
"""Headers that are no request's own: with others than HTTP's, none reaches the service."""


@schema.auth()
class Signed:
    def get(self, case: Any, context: Any) -> str:
        return SECRET

    def set(self, case: Any, data: str, context: Any) -> None:
        case.headers["Authorization"] = f"Bearer {data}"


@schemathesis.serializer("application/jsonl")
def as_lines(ctx: Any, value: Any) -> bytes:
    lines = value if isinstance(value, list) else [value]
    return b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    """One connection for all requests, without a look at the environment for each."""
    with requests.Session() as session:
        session.trust_env = False
        yield session


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("api") / "memory.db"
    with Memory.open(path, embedder=None, durability="normal") as memory:
        value = {"hash": hashed(SECRET), "tenant": "default", "may": ["admin"], "name": ""}
        memory.store.records.put(HOME, [Record(KIND, "test", value)])
        with running(memory, rate=1e9) as service:
            yield service.url


def test_the_document_that_is_checked_in_is_the_one_served() -> None:
    assert json.loads(DOCUMENT.read_text("utf-8")) == json.loads(json.dumps(document()))


def test_a_field_that_may_be_left_out_has_no_default() -> None:
    """Generators of TypeScript (openapi-typescript) take one that has a default for always there."""
    schemas = document()["components"]["schemas"]
    assert [name for name in schemas if '"default"' in json.dumps(schemas[name])] == []
    assert schemas["SearchQuestion"]["properties"]["k"]["description"] == "Without it: 10."


def test_every_field_of_a_fact_a_pattern_and_a_receipt_is_in_the_document() -> None:
    asked, ada = {"role": "user", "content": "\U0001f389 Where do I live? I live in Oslo."}, {"user": "ada"}
    with running() as service:
        for trip in ("one", "two", "three", "four"):
            service.http.post("/messages", params={**ADA, "session": trip}, json={"messages": [asked]})
        service.memory.drain()
        (fact,) = service.http.get("/facts", params=ada).json()["items"]
        patterns = service.http.get("/patterns", params=ada).json()
        line = service.http.post("/context", params=ADA, json={"question": "Where?"}).json()["receipt"]["lines"][0]
        fault = service.http.post("/context", params=ADA, json={"query": "Where?"}).json()["errors"][0]
    schemas, mention = document()["components"]["schemas"], patterns["questions"][0]
    shown = {"ShownFact": fact, "ShownPatterns": patterns, "ShownMention": mention, "ShownLine": line, "Fault": fault}
    assert {name: {*schemas[name]["properties"]} for name in shown} == {name: {*one} for name, one in shown.items()}
    assert asked["content"][slice(*fact["span"])] == "I live in Oslo"


@schema.parametrize()
@settings(max_examples=EXAMPLES, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_operation_does_what_the_document_says(case: Any, url: str, session: requests.Session) -> None:
    if case.operation.definition.raw["operationId"] == "createChatCompletion" and not case.headers.get(NAMED):
        case.headers[NAMED] = "ada"
    for name in [name for name in (NAMED, IN_SESSION) if name in case.headers]:
        case.headers[name] = quote(case.headers[name])
    for name in [name for name in case.headers if name.lower() in FRAMING]:
        del case.headers[name]
    case.call_and_validate(
        base_url=url,
        session=session,
        excluded_checks=[positive_data_acceptance, ignored_auth],
        additional_checks=[accepted_as_the_document_says, refused_without_its_key],
    )


def accepted_as_the_document_says(context: Any, response: Any, case: Any) -> bool | None:
    """The check that a schema's valid data is accepted, but for what is beyond schemas."""
    if (case.operation.definition.raw["operationId"], told(response)) in BEYOND_SCHEMAS:
        return None
    accepted: bool | None = positive_data_acceptance(context, response, case)
    return accepted


def refused_without_its_key(context: Any, response: Any, case: Any) -> bool | None:
    """The check that what is answered is refused without a key and with a wrong one: asked once for each operation."""
    context.auth_enforced_operations = ENFORCED
    refused: bool | None = ignored_auth(context, response, case)
    return refused


def told(response: Any) -> str:
    """The class of the error that an answer tells, in either shape."""
    if response.status_code < 400:
        return ""
    body = response.json()
    return str(body["error"]["type"] if "error" in body else body["class"])
