"""The OpenAPI document is the truth: what it allows works, what it does not is refused, and nothing breaks inside."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import positive_data_acceptance

from recollect.memory import Memory
from recollect.server.app import document
from recollect.server.auth import HOME, KIND, hashed
from recollect.store import Record
from tests.server.running import running

DOCUMENT = Path(__file__).parents[2] / "docs" / "openapi.json"
EXAMPLES = int(os.environ.get("RECOLLECT_API_EXAMPLES", "200" if "CI" in os.environ else "20"))

SECRET = "rk_test"

schema = schemathesis.openapi.from_path(DOCUMENT)
accepts = schema.config.checks.positive_data_acceptance
accepts.expected_statuses = [*accepts.expected_statuses, "413", "422"]
"""A budget may be too small for what is kept, and a text may be blank to Python though no schema can say so."""

NOT_ALL_IN_THE_DOCUMENT = {
    "remember": "a fact's value has a character that is not blank, as Python tells blanks",
    "uploadDocument": "a file's bytes must be of the kind that its name says",
    "createChatCompletion": "messages follow OpenAI's rules, and a user must be named by a header or a field",
}


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
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("api") / "memory.db"
    with Memory.open(path, embedder=None, durability="normal") as memory:
        value = {"hash": hashed(SECRET), "tenant": "default", "may": ["admin"], "name": ""}
        memory.store.records.put(HOME, [Record(KIND, "test", value)])
        with running(memory, rate=1e9) as service:
            yield service.url


def test_the_document_that_is_checked_in_is_the_one_served() -> None:
    assert json.loads(DOCUMENT.read_text("utf-8")) == json.loads(json.dumps(document()))


@schema.parametrize()
@settings(max_examples=EXAMPLES, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_operation_does_what_the_document_says(case: Any, url: str) -> None:
    free = case.operation.definition.raw["operationId"] in NOT_ALL_IN_THE_DOCUMENT
    case.call_and_validate(base_url=url, excluded_checks=[positive_data_acceptance] if free else [])
