"""Who may do what."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from fastapi.testclient import TestClient

from recollect.errors import ConfigError, NotFound, StoreUnavailable
from recollect.http import loopback
from recollect.memory import Memory
from recollect.server import auth
from recollect.server import service as server_service
from recollect.server.app import create_app
from recollect.server.auth import HOME, KINDS, Ring, add_key, from_here, list_keys, revoke_key
from recollect.server.options import Options
from recollect.store import open as open_store
from tests.server.running import Running, running

ADA = {"user": "ada", "session": "trip"}
HELLO = {"messages": [{"role": "user", "content": "Hello"}]}


def signed(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def test_a_key_is_kept_as_a_hash_and_its_secret_nowhere() -> None:
    with open_store(":memory:") as store:
        key, secret = add_key(store, tenant="acme", may=["read"], name="app")
        assert list_keys(store) == [key]
        assert all(secret not in str(record.value) for record in store.records.find(HOME))
        ring = Ring(store)
        ring.refresh()
        assert ring.get(secret) == key
        assert ring.get(secret + "x") is None
        revoke_key(store, key.id)
        ring.refresh()
        assert ring.get(secret) is None
        with pytest.raises(NotFound):
            revoke_key(store, key.id)


@pytest.mark.parametrize("bad", [{"may": []}, {"may": ["fly"]}, {"tenant": "recollect:keys"}, {"tenant": ""}])
def test_a_key_that_makes_no_sense_is_refused(bad: dict[str, Any]) -> None:
    with open_store(":memory:") as store, pytest.raises(ConfigError):
        add_key(store, **bad)


def test_keys_are_read_anew_every_few_seconds_only() -> None:
    now = 0.0
    with open_store(":memory:") as store:
        ring = Ring(store, lambda: now)
        assert (ring.stale, ring.stale) == (True, False)
        now = 4.9
        assert not ring.stale
        now = 5.1
        assert ring.stale


def test_keys_that_can_not_be_read_are_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def unavailable(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("the store can't be reached")

    with open_store(":memory:") as store, caplog.at_level(logging.INFO, "recollect"):
        ring = Ring(store)
        with monkeypatch.context() as away:
            away.setattr(store.records, "find", unavailable)
            assert [ring.refresh(), ring.refresh()] == [False, False]
        assert [ring.refresh(), ring.refresh()] == [True, True]
    assert [record.getMessage() for record in caplog.records] == [
        "the keys can't be read and stay as they are: the store can't be reached",
        "the keys can be read again",
    ]


def test_without_keys_only_this_machine_may_call() -> None:
    with running() as service:
        assert service.http.get("/sessions").status_code == 200
        for headers in (
            {"Host": "evil.example"},
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Host": "["},
        ):
            assert service.http.get("/sessions", headers=headers).status_code == 403
        assert service.http.get("/sessions", headers={"Origin": service.url}).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "LOCALHOST"])
def test_what_is_loopback(host: str) -> None:
    assert loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", "localhost.evil.org", ""])
def test_what_is_not_loopback(host: str) -> None:
    assert not loopback(host)


def test_where_a_request_comes_from() -> None:
    assert from_here("127.0.0.1:8642", None)
    assert from_here("[::1]:8642", "http://localhost:3000")
    assert not from_here("127.0.0.1.evil.org", None)
    assert not from_here("localhost", "https://evil.org")
    assert not from_here("[::1", None)
    assert not from_here("localhost", "http://[")


@pytest.fixture
def memory() -> Memory:
    return Memory.open(":memory:", embedder=None)


def test_a_key_may_do_what_it_says_and_nothing_else(memory: Memory) -> None:
    secrets = {may: add_key(memory.store, may=[may])[1] for may in ("read", "write", "erase", "admin")}
    calls: dict[str, Callable[[Running, dict[str, str]], httpx2.Response]] = {
        "read": lambda service, headers: service.http.get("/messages", params=ADA, headers=headers),
        "write": lambda service, headers: service.http.post("/messages", params=ADA, json=HELLO, headers=headers),
        "erase": lambda service, headers: service.http.post("/forget", params=ADA, json={}, headers=headers),
        "admin": lambda service, headers: service.http.get("/metrics", headers=headers),
    }
    with memory, running(memory) as service:
        for may, secret in secrets.items():
            for needed, call in calls.items():
                status = call(service, signed(secret)).status_code
                assert (status < 300) is (may in (needed, "admin")), (may, needed, status)
                assert status in (200, 201, 403)


def test_a_key_that_may_only_read_lists_models(memory: Memory) -> None:
    headers = signed(add_key(memory.store, may=["read"])[1])
    with memory, running(memory) as service:
        for path in ("/v1/models", "/v1/models/recollect"):
            assert service.http.get(path, headers=headers).status_code == 200


def test_every_operation_but_those_about_its_health_says_what_a_key_must_allow(service: Running) -> None:
    paths = service.http.get("/openapi.json").json()["paths"]
    named = [(path, ways) for path, each in paths.items() for ways in (one.get("security") for one in each.values())]
    assert {path for path, ways in named if not ways} == {"/healthz", "/readyz"}
    assert [path for path, ways in named if ways and ways[0]["HTTPBearer"] == []] == []


def test_no_operation_does_what_its_key_does_not_allow(memory: Memory) -> None:
    keys = {may: signed(add_key(memory.store, may=[may])[1]) for may in KINDS} | {"nothing": {}, "no": signed("rk_no")}
    with memory, running(memory) as service:
        for path, operations in service.http.get("/openapi.json").json()["paths"].items():
            for method, operation in operations.items():
                for ways in operation.get("security", ()):
                    statuses = {
                        may: service.http.request(method, path, headers=headers).status_code
                        for may, headers in keys.items()
                    }
                    needed = ways["HTTPBearer"]
                    allowed = {"admin", *(needed if len(needed) == 1 else ())}
                    assert {may for may, status in statuses.items() if status not in (401, 403)} == allowed, path
                    assert statuses["nothing"] == statuses["no"] == 401, path


def test_an_answer_from_memory_needs_a_key_that_may_read(memory: Memory) -> None:
    memory.session("old", user="ada").add("user", "My sister Nadia lives in Oslo.")
    question = {"role": "user", "content": "Where does my sister live?"}
    allowed = ((["write"], 403), (["read"], 403), (["read", "write"], 200))
    keys = [(signed(add_key(memory.store, may=may)[1]), status) for may, status in allowed]
    with memory, running(memory) as service:
        for headers, status in keys:
            asked = {"message": question["content"], "context": True}
            chat = service.http.post("/chat", params=ADA, json=asked, headers=headers)
            proxied = {"user": "ada", "messages": [question]}
            proxy = service.http.post("/v1/chat/completions", json=proxied, headers=headers)
            assert [chat.status_code, proxy.status_code] == [status, status]
            assert ("Oslo" in chat.text + proxy.text) is (status == 200)


def test_no_key_or_a_wrong_one_opens_nothing(memory: Memory) -> None:
    add_key(memory.store)
    with memory, running(memory) as service:
        for headers in ({}, signed("rk_wrong"), {"Authorization": "Basic eA=="}, {"Authorization": "Bearer"}):
            refused = service.http.get("/sessions", headers=headers)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"] == "Bearer"
        for open_to_all in ("/healthz", "/readyz"):
            assert service.http.get(open_to_all).status_code == 200


@pytest.mark.parametrize(
    ("path", "header", "status"),
    [
        ("/messages?user=ada&session=trip", "Authorization: Bearer rk_wrong", b"401"),
        ("/v1/chat/completions", "X-Recollect-User: ada", b"401"),
        ("/nowhere", "", b"404"),
    ],
)
def test_no_body_is_read_of_a_caller_without_a_key(memory: Memory, path: str, header: str, status: bytes) -> None:
    add_key(memory.store)
    with running(memory) as service, socket.create_connection(("127.0.0.1", httpx2.URL(service.url).port or 0)) as line:
        line.settimeout(10)
        lines = (f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", header)
        line.sendall("\r\n".join(filter(None, (*lines, "Content-Length: 9000000"))).encode() + b"\r\n\r\n{")
        assert line.recv(100).split()[1] == status


def test_tenants_do_not_see_each_other(memory: Memory) -> None:
    one, two = (add_key(memory.store, tenant=tenant, may=["read", "write", "erase"])[1] for tenant in ("one", "two"))
    with memory, running(memory) as service:
        service.http.post("/messages", params=ADA, json=HELLO, headers=signed(one))
        assert len(service.http.get("/sessions", headers=signed(one)).json()["items"]) == 1
        assert service.http.get("/sessions", headers=signed(two)).json()["items"] == []
        assert service.http.get("/messages", params=ADA, headers=signed(two)).json()["items"] == []
        assert service.http.post("/forget", params=ADA, json={}, headers=signed(two)).json()["messages"] == 0
        asked = {"question": "Hello?"}
        assert service.http.post("/recall", params=ADA, json=asked, headers=signed(two)).json()["items"] == []
        assert service.http.get("/export", params={"user": "ada"}, headers=signed(two)).text == ""


@pytest.mark.parametrize(
    "other",
    [
        {"record": {"kind": "checkpoint", "key": "/", "id": "1", "value": {}}},
        {"item": {"kind": "langgraph item", "id": "1", "text": "x"}},
    ],
)
def test_what_adapters_read_back_is_imported_by_an_admin_alone(memory: Memory, other: dict[str, object]) -> None:
    writer, admin = (add_key(memory.store, may=[may])[1] for may in ("write", "admin"))
    document = {"user": "ada", "document": {"name": "a", "text": "b"}}
    with memory, running(memory) as service:
        lines = f"{json.dumps(document)}\n{json.dumps({'user': 'ada', **other})}\n"
        jsonl = {"Content-Type": "application/jsonl"}
        refused = service.http.post("/import", content=lines, headers=signed(writer) | jsonl)
        assert (refused.status_code, "line 2" in refused.text) == (403, True)
        assert "use a key that may administer" in refused.text
        stats = service.http.get("/stats", headers=signed(writer)).json()
        told = ("this key may not administer", "use a key that may administer")
        assert (stats["detail"], stats["next"]) == told
        assert service.http.get("/export", params={"user": "ada"}, headers=signed(admin)).text == ""
        assert service.http.post("/import", content=lines, headers=signed(admin) | jsonl).status_code == 200
        assert '"a"' in service.http.get("/export", params={"user": "ada"}, headers=signed(admin)).text


def test_a_key_added_or_revoked_while_the_service_runs_counts(memory: Memory) -> None:
    key, first = add_key(memory.store)
    with memory, running(memory) as service:
        _, second = add_key(memory.store)
        assert service.http.get("/sessions", headers=signed(second)).status_code == 200
        revoke_key(memory.store, key.id)
        assert service.http.get("/sessions", headers=signed("rk_unknown")).status_code == 401
        assert service.http.get("/sessions", headers=signed(first)).status_code == 401


def test_a_store_that_does_not_answer_keeps_nobody_with_a_known_key_waiting(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Metrics are asked for when something is wrong."""
    _, secret = add_key(memory.store, may=["admin"])
    back, find = threading.Event(), memory.store.records.find

    def slow(*where: Any, **narrowed: Any) -> Any:
        back.wait(60)
        return find(*where, **narrowed)

    with running(memory) as service:
        monkeypatch.setattr(type(memory.store.records), "find", lambda _, *where, **narrowed: slow(*where, **narrowed))
        monkeypatch.setattr(auth, "FRESH_SECONDS", 0.0)
        monkeypatch.setattr(server_service, "KEYS_SECONDS", 0.1)
        try:
            assert service.http.get("/metrics", headers=signed(secret)).status_code == 200
            unknown = service.http.get("/metrics", headers=signed(f"{secret}x"))
            assert (unknown.status_code, unknown.json()["class"]) == (503, "StoreUnavailable")
            assert service.http.get("/metrics").status_code == 401
        finally:
            back.set()


def test_a_service_that_can_not_read_its_keys_does_not_start(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would answer everyone until it can."""
    add_key(memory.store)

    def gone(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("away")

    monkeypatch.setattr(type(memory.store.records), "find", gone)
    with pytest.raises(StoreUnavailable), TestClient(create_app(Options(model="recall:"), memory)):
        pytest.fail("it started")


def test_a_service_whose_last_key_is_revoked_opens_to_nobody(memory: Memory) -> None:
    key, secret = add_key(memory.store)
    with memory, running(memory) as service:
        revoke_key(memory.store, key.id)
        assert service.http.get("/sessions", headers=signed("rk_unknown")).status_code == 401
        for headers in ({}, signed(secret)):
            assert service.http.get("/sessions", headers=headers).status_code == 401
        _, new = add_key(memory.store)
        assert service.http.get("/sessions", headers=signed(new)).status_code == 200
