"""Export and import over REST."""

from __future__ import annotations

import json
import re
import socket

import pytest

from recollect.layers.semantic import SAID
from recollect.server import lines
from recollect.store import Item, Record
from recollect.types import Scope
from tests.server.rest import ADA, HELLO, add, listed
from tests.server.running import Running

KINDS = ("messages", "documents", "facts", "excerpts", "records", "items", "known")


def test_what_was_exported_is_imported_with_ids_and_times(service: Running) -> None:
    add(service, *({"role": "user", "content": f"message {n}"} for n in range(1_203)))
    add(service, HELLO, where={"user": "ada", "session": "other\n"})
    before = listed(service, limit=1_000, after=0)
    lines = service.http.get("/export", params={"user": "ada"})
    assert lines.headers["content-type"].startswith("application/jsonl")
    assert len(lines.text.splitlines()) == 1_204
    service.http.post("/forget", params={"user": "ada"}, json={})
    for new in ("messages", "known"):
        taken = service.http.post("/import", content=lines.content, headers={"content-type": "Application/JSONL"})
        assert taken.json() == {**dict.fromkeys(KINDS, 0), new: 1_204}
        assert listed(service, limit=1_000, after=0) == before
    assert service.http.get("/session", params=ADA).json()["messages"] == 1_203


def test_an_export_is_sent_in_few_pieces(service: Running) -> None:
    add(service, *({"role": "user", "content": f"message {n}"} for n in range(1_203)))
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as asking:
        asking.sendall(f"GET /export?user=ada HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        sent = b"".join(iter(lambda: asking.recv(2**16), b""))
    assert sent.count(b'"message": ') == 1_203
    assert len(re.findall(rb"\r\n[0-9a-f]+\r\n", sent)) < 20


def test_all_that_was_put_in_is_exported_and_imported(service: Running) -> None:
    add(service, HELLO)
    service.http.post("/facts", params={"user": "ada"}, json={"key": "city", "value": "Oslo"})
    ended = service.http.post("/facts", params={"user": "ada"}, json={"key": "city", "value": None})
    assert (ended.status_code, ended.json()) == (200, {"item": None})
    service.http.post(
        "/documents", params={"user": "ada"}, json={"name": "guide", "text": "Water it.", "metadata": {"a": 1}}
    )
    service.http.post("/tools", params=ADA, json={"text": "It rains.", "source": "weather"})
    service.memory.store.records.put(Scope("default", "ada"), [Record("plan", "route", "by ferry")])
    service.memory.store.index.put(Scope("default", "ada"), [Item("plan", "1", "by ferry")])
    lines = service.http.get("/export", params={"user": "ada"})
    told = ("/facts", "/facts/history?key=city", "/documents", "/messages")
    before = [service.http.get(path, params=ADA).json() for path in told]
    service.http.post("/forget", params={"user": "ada"}, json={})
    assert service.http.get("/export", params={"user": "ada"}).text == ""
    for counts in ({**dict.fromkeys(KINDS, 1), "facts": 2, "known": 0}, {**dict.fromkeys(KINDS, 0), "known": 7}):
        taken = service.http.post("/import", content=lines.content, headers={"content-type": "application/jsonl"})
        assert taken.json() == counts
        assert service.http.get("/export", params={"user": "ada"}).text == lines.text
        assert [service.http.get(path, params=ADA).json() for path in told] == before


def test_a_document_that_is_here_with_another_text_stays(service: Running) -> None:
    service.http.post("/documents", params={"user": "ada"}, json={"name": "guide", "text": "Mine."})
    line = {"user": "ada", "document": {"name": "guide", "text": "Not mine."}}
    refused = service.http.post("/import", content=json.dumps(line), headers={"content-type": "application/jsonl"})
    assert refused.status_code == 409
    assert "line 1: document 'guide' is here with another text" in refused.text
    assert "Mine." in service.http.get("/export", params={"user": "ada"}).text


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("{", "line 2: Expecting"), ("[]", "line 2: no JSON object"), ("5", "object"),
        ("{}", "no message, document, fact, excerpt, record or item;"),
        ('{"user": "a", "session": "b"}', "no message"), ('{"message": {}}', "no user and no session"),
        ('{"user": "", "session": "b", "message": {"role": "user"}}', "user: it is empty"),
        ('{"user": "a", "session": "b", "message": {"role": "nobody"}}', "message: its 'role' is 'nobody'"),
        ('{"user": "a", "session": "b", "message": {"role": "user", "content": 5}}', "content: "),
        ('{"user": "a", "session": "b", "message": {"role": "user", "content": [{"type": "image", "url": 5}]}}', "url"),
        ('{"user": "a", "session": "b", "message": {"role": "user", "at": "yesterday"}}', "'yesterday' is not a time"),
        ('{"user": "a", "session": "b", "message": {"role": "user", "sender": "x"}}', "sender: there is no such field"),
        ('{"user": "a", "message": {"role": "user"}}', "no session"), ('{"user": "a", "hologram": {}}', "but hologram"),
        ('{"user": "a", "document": {"name": "b"}}', "document.text: it is missing"),
        ('{"user": "a", "document": {"name": "b", "text": "c", "d": 1}}', "document.d: there is no such field"),
        ('{"user": "a", "document": {"name": "b", "text": "c"}, "message": {"role": "user"}}', "document and message"),
        ('{"user": "a", "fact": {"key": "b", "id": "c", "value": {"value": "d"}}}', "fact"),
        ('{"user": "a", "record": {"kind": "mark", "key": "b", "id": "c", "value": 1}}', "mark"),
    ],
)  # fmt: skip
def test_a_line_that_can_not_be_used_is_named(service: Running, line: str, names: str) -> None:
    good = json.dumps({"user": "a", "session": "b", "message": HELLO})
    refused = service.http.post("/import", content=f"{good}\n{line}\n", headers={"content-type": "application/jsonl"})
    assert (refused.status_code, refused.json()["where"]) == (422, "line 2")
    assert names in refused.json()["detail"]


def test_all_that_an_exported_fact_may_say_is_taken_in() -> None:
    """A fact whose message is gone is exported with its speaker: the service refused what it had exported itself."""
    assert {*lines.Stated.model_fields} == {*lines.Ended.model_fields} == SAID
