"""One tenant sees of another what it would see if that one did not exist: on every route, under the same names."""

from __future__ import annotations

import re
from typing import Any

from recollect.memory import Memory
from recollect.server.app import document
from recollect.server.auth import add_key
from tests.server.running import Running, running

SAID = {"role": "user", "content": "My sister Nadia moved to Oslo.", "id": "known"}
KNOWN: dict[str, str] = {
    "user": "ada",
    "session": "trip",
    "id": "known",
    "name": "guide.md",
    "key": "city",
}
"""What the parameters of every route are, so that they name what the other tenant has."""
ASKED = {"question": "Where does my sister Nadia live?"}
BODIES: dict[str, Any] = {
    "addMessages": {"messages": [{**SAID, "content": "Hello"}]},
    "addDocument": {"name": "guide.md", "text": "About ferries."},
    "addExcerpt": {"text": "Late.", "source": "https://example.org"},
    "remember": {"key": "city", "value": "Bergen"},
    "chat": {"message": "Where does Nadia live?"},
    "createChatCompletion": {"messages": [{"role": "user", "content": "Where does Nadia live?"}], "user": "ada"},
    "tagMessage": {"metadata": {"mood": "fine"}},
    "searchMessages": {"roles": ["user"]},
    "forget": {},
    "previewForget": {},
    "reviveJobs": None,
    **dict.fromkeys(("recall", "search", "context", "searchDocuments", "searchExcerpts"), ASKED),
}
FILES = {
    "uploadDocument": b"About trains.",
    "import": b'{"user": "ada", "session": "trip", "message": {"role": "user", "content": "Hi."}}\n',
}
GLOBAL = ("health", "ready", "metrics", "stats", "listModels", "retrieveModel", "previewRetention", "applyRetention")
"""About the service, not about what tenants keep; and what needs a plan of its own."""
VARIES = re.compile(r"[0-9a-f]{28,32}|\d{4}-\d\d-\d\dT[0-9:.+]+|\"(?:position|created)\":\d+")


def fill(service: Running, signed: dict[str, str]) -> None:
    """Everything a tenant can have, under the names that the other one asks for."""
    post, where = service.http.post, {"user": "ada", "session": "trip"}
    for path, body, headers in (
        ("/messages", {"messages": [SAID]}, {}),
        ("/messages", {"messages": [{"role": "user", "content": "I live in Paris."}]}, {"Idempotency-Key": "same"}),
        ("/documents", {"name": "guide.md", "text": "Secret ferries of Nadia."}, {}),
        ("/facts", {"key": "city", "value": "Oslo"}, {}),
        ("/tools", {"text": "Nadia is late.", "source": "https://example.org/nadia"}, {}),
    ):
        assert post(path, params=where, json=body, headers={**signed, **headers}).status_code == 201


def asked(service: Running, signed: dict[str, str]) -> dict[str, tuple[int, str, str]]:
    """What every route answers, in the order of the document, reads before writes."""
    operations = [
        (method, path, operation)
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
        if operation["operationId"] not in GLOBAL
    ]
    found = {}
    for method, path, operation in sorted(operations, key=lambda each: (each[0] != "get", each[1], each[0])):
        id = operation["operationId"]
        names = {p["name"] for p in operation.get("parameters", ()) if p["in"] == "query"}
        headers = {**signed, "Idempotency-Key": "same", "If-None-Match": '"x"'}
        if id == "import":
            headers["Content-Type"] = "application/jsonl"
        content = {"content": FILES[id]} if id in FILES else {"json": BODIES[id]} if id in BODIES else {}
        answer = service.http.request(
            method.upper(),
            path.format(message=1),
            params={name: value for name, value in KNOWN.items() if name in names},
            headers=headers,
            **content,
        )
        tag = answer.headers.get("etag", "")
        found[f"{method} {path}"] = (answer.status_code, VARIES.sub("…", answer.text), VARIES.sub("…", tag))
    return found


def test_a_tenant_finds_nothing_of_another_on_any_route() -> None:
    seen = []
    for alone in (True, False):
        with Memory.open(":memory:", embedder=None) as memory:
            keys = [add_key(memory.store, tenant=tenant, may=["admin"])[1] for tenant in ("acme", "other")]
            mine, theirs = ({"Authorization": f"Bearer {secret}"} for secret in keys)
            with running(memory) as service:
                if not alone:
                    fill(service, theirs)
                seen.append(asked(service, mine))
                if not alone:
                    kept = service.http.get("/export", params={"user": "ada"}, headers=theirs).text
    assert len(seen[0]) >= 30
    assert seen[0] == seen[1]
    assert {route for route, (status, *_) in seen[0].items() if status not in (200, 201, 404, 409, 422)} == set()
    assert "Nadia moved" in kept and "Secret ferries" in kept and "Hello" not in kept
