"""Forgetting and retention over REST: previewed, then done."""

from __future__ import annotations

import pytest

from tests.server.rest import ADA, HELLO, NOTED, add, listed, texts
from tests.server.running import Running


def test_forgetting_is_previewed_and_then_done(service: Running) -> None:
    ids = [item["id"] for item in add(service, HELLO, NOTED).json()["items"]]
    one = {"ids": ids[:1]}
    assert service.http.post("/forget/preview", params=ADA, json=one).json()["messages"] == 1
    assert len(listed(service)["items"]) == 2
    assert service.http.post("/forget", params=ADA, json=one).json()["messages"] == 1
    assert texts(listed(service)) == ["Noted!"]
    assert service.http.get("/message", params={**ADA, "id": ids[0]}).status_code == 404
    assert service.http.get("/message", params={"user": ADA["user"], "id": ids[0]}).status_code == 404
    assert service.http.post("/forget/preview", params={"user": "ada"}, json={}).json()["messages"] == 1
    assert service.http.post("/forget", params={"user": "ada"}, json={}).json()["messages"] == 1
    assert service.http.get("/sessions").json()["items"] == []


def test_a_preview_tells_what_is_erased_then(service: Running) -> None:
    add(service, *({"role": "user", "content": f"I live in Oslo, on pier {n}.", "id": str(n)} for n in range(26)))
    add(service, {"role": "user", "content": "I love jazz.", "id": "0"}, where={"user": "ada", "session": "other"})
    service.memory.drain()
    would = service.http.post("/forget/preview", params=ADA, json={"ids": ["0"]}).json()
    assert (would["messages"], would["records"]) == (1, 3)  # the fact and both summaries, nothing of the other session
    assert service.http.post("/forget", params=ADA, json={"ids": ["0"]}).json() == would
    assert "jazz" in [fact["value"] for fact in service.http.get("/facts", params=ADA).json()["items"]]


def test_retention_is_previewed_and_then_applied(service: Running) -> None:
    add(service, {**HELLO, "at": "2001-01-01T00:00:00Z"}, {**NOTED, "at": "2001-01-01T00:00:00Z"}, HELLO)
    policies = {"policies": [{"layer": "messages", "days": 365}]}
    plan = service.http.post("/retention/preview", params=ADA, json=policies).json()
    assert [(going["layer"], going["count"]) for going in plan["going"]] == [("messages", 2)]
    assert len(listed(service)["items"]) == 3
    named = {**policies, "now": plan["now"], "digest": plan["digest"]}
    other = service.http.post("/retention", params=ADA, json={**named, "digest": "0" * 64})
    assert (other.status_code, other.json()["class"]) == (409, "Conflict")
    assert "(messages 2 now)" in other.json()["detail"]
    assert service.http.post("/retention", params=ADA, json=named).json()["messages"] == 2
    assert len(listed(service)["items"]) == 1
    again = service.http.post("/retention", params=ADA, json=named)
    assert (again.status_code, "(nothing now)" in again.json()["detail"]) == (409, True)


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (
            {"layer": "nope", "days": 3},
            "layer: it must be 'messages', 'facts', 'summaries', 'documents', 'tools' or 'patterns'",
        ),
        ({"layer": "facts", "idle": 3}, "layer: it must be 'messages'"),
        ({"layer": "facts", "days": -1}, "days: it must be greater than or equal to 0"),
        ({"layer": "messages"}, "it has no limit: give days, count or idle"),
        (3, "it has no limit: give days, count or idle"),
    ],
)
def test_what_is_wrong_with_a_policy_is_told_in_a_sentence(service: Running, policy: object, says: str) -> None:
    refused = service.http.post("/retention/preview", params=ADA, json={"policies": [policy]}).json()
    assert refused["status"] == 422
    assert refused["detail"] in (f"body.policies.0.{says}", f"body.policies.0: {says}")
