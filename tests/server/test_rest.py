"""The library's verbs over HTTP."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

import pytest

from recollect.store import Item, Record
from recollect.types import Scope
from tests.server.running import Running

ADA = {"user": "ada", "session": "trip"}
KINDS = ("messages", "documents", "facts", "excerpts", "records", "items")
HELLO = {"role": "user", "content": "My sister Nadia moved to Oslo in May."}
NOTED = {"role": "assistant", "content": "Noted!"}
CALL = {"type": "tool_call", "id": "1", "name": "x"}
JSON = {"content-type": "application/json"}
OWN = ("date", "x-request-id")
"""Headers that each answer has for itself."""
HOSTILE = [
    "..", ".", "/", "a/b", "//", "%2F", "%", "?x=1&y=2", "#", "a b", "+", "\t\n\r", "☃", "e\u0301", "שלום", "\u202e",
    "💥", "'; DROP TABLE messages; --", "<script>", "\\", '"', "a" * 1_000, "null", "\x1b[31m", "\x7f",
]  # fmt: skip


def add(service: Running, *messages: dict[str, Any], where: dict[str, str] = ADA, **headers: str) -> Any:
    return service.http.post("/messages", params=where, json={"messages": list(messages)}, headers=headers)


def listed(service: Running, **more: Any) -> Any:
    return service.http.get("/messages", params={**ADA, **more}).json()


def texts(page: Any) -> list[str]:
    return [item["message"]["content"] for item in page["items"]]


def test_a_message_is_kept_and_comes_back_with_its_number(service: Running) -> None:
    added = add(service, HELLO, NOTED)
    assert added.status_code == 201
    assert [item["content"] for item in added.json()["items"]] == [HELLO["content"], NOTED["content"]]
    page = listed(service)
    assert [(item["seq"], item["message"]["role"]) for item in page["items"]] == [(1, "user"), (2, "assistant")]
    assert (page["earlier"], page["later"]) == (False, False)


def test_parts_of_every_kind_come_back_as_they_were_sent(service: Running) -> None:
    call = {"type": "tool_call", "id": "c1", "name": "weather", "arguments": '{"city": "Oslo"}'}
    result = {"type": "tool_result", "call_id": "c1", "content": [{"type": "text", "text": "rain"}]}
    picture = {"type": "image", "url": "https://example.org/a.png", "width": 3, "height": 4}
    sent = [
        {"role": "user", "content": [picture, {"type": "text", "text": "where?"}], "metadata": {"important": True}},
        {"role": "assistant", "content": [{"type": "thinking", "text": "hm"}, call]},
        {"role": "tool", "content": [result]},
    ]
    add(service, *sent)
    got = [item["message"] for item in listed(service)["items"]]
    assert [message["content"] for message in got] == [message["content"] for message in sent]
    assert got[0]["metadata"] == {"important": True}


@pytest.mark.parametrize("path", ["/nowhere", "/inspector/nowhere.js", "/messages/1", "/v1/nowhere"])
def test_an_address_that_is_not_there_is_not_found(service: Running, path: str) -> None:
    answer = service.http.get(path)
    body = answer.json()
    assert (answer.status_code, body["error"]["type"] if "error" in body else body["class"]) == (404, "NotFound")


@pytest.mark.parametrize("path", ["/", "/healthz", "/sessions", "/inspector/app.js", "/openapi.json", "/nowhere"])
def test_head_is_answered_as_get_is_without_the_body(service: Running, path: str) -> None:
    asked = [service.http.request(method, path) for method in ("HEAD", "GET")]
    head, get = ({name: value for name, value in found.headers.items() if name not in OWN} for found in asked)
    assert head == get
    assert asked[0].status_code == asked[1].status_code
    assert asked[0].content == b""


def test_head_is_no_method_of_what_can_not_be_read(service: Running) -> None:
    refused = service.http.head("/recall")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
    assert service.http.patch("/messages").headers["allow"] == "GET, POST, HEAD"


def test_half_a_surrogate_pair_survives(service: Running) -> None:
    body = b'{"messages": [{"role": "user", "content": "cut \\ud83d"}]}'
    assert service.http.post("/messages", params=ADA, content=body, headers=JSON).status_code == 201
    assert texts(listed(service)) == ["cut \ud83d"]


def test_pages_go_backward_and_forward(service: Running) -> None:
    add(service, *({"role": "user", "content": str(n)} for n in range(1, 11)))
    last = listed(service, limit=3)
    assert (texts(last), last["earlier"], last["later"]) == (["8", "9", "10"], True, False)
    before = listed(service, limit=3, before=8)
    assert (texts(before), before["earlier"], before["later"]) == (["5", "6", "7"], True, True)
    first = listed(service, limit=3, after=0)
    assert (texts(first), first["earlier"], first["later"]) == (["1", "2", "3"], False, True)
    rest = listed(service, limit=50, after=3)
    assert (len(rest["items"]), rest["earlier"], rest["later"]) == (7, True, False)


def test_a_message_is_found_in_whichever_session_has_it(service: Running) -> None:
    [kept] = add(service, HELLO).json()["items"]
    found = service.http.get("/message", params={"user": ADA["user"], "id": kept["id"]}).json()
    assert (found["session"], found["seq"], found["message"]["id"]) == (ADA["session"], 1, kept["id"])
    assert service.http.get("/message", params={"user": "eve", "id": kept["id"]}).status_code == 404


def test_the_same_idempotency_key_keeps_messages_once(service: Running) -> None:
    first = add(service, HELLO, NOTED, **{"Idempotency-Key": "one"})
    again = add(service, HELLO, NOTED, **{"Idempotency-Key": "one"})
    assert again.json() == first.json()
    assert len(listed(service)["items"]) == 2
    other = add(service, {"role": "user", "content": "Something else"}, **{"Idempotency-Key": "one"})
    assert (other.status_code, other.json()["class"]) == (409, "Conflict")
    assert "next" in other.json()


@pytest.mark.parametrize("more", [(), (HELLO,), (HELLO, NOTED, HELLO)])
def test_an_idempotency_key_with_another_number_of_messages_is_refused(service: Running, more: tuple[Any, ...]) -> None:
    key = {"Idempotency-Key": "one"}
    add(service, HELLO, NOTED, **key)
    refused = add(service, *(more or (HELLO, NOTED) * 3), **key)
    assert (refused.status_code, refused.json()["class"]) == (409, "Conflict")
    assert "another number of messages" in refused.json()["detail"]
    assert len(listed(service)["items"]) == 2
    assert add(service, HELLO, NOTED, **key).status_code == 201


def test_a_parameter_that_is_given_twice_is_refused(service: Running) -> None:
    refused = service.http.get("/messages", params=[*ADA.items(), ("user", "eve")])
    assert (refused.status_code, refused.json()["detail"]) == (422, "the parameter 'user' is given twice")


def test_a_body_that_is_not_said_to_be_json_is_told_so(service: Running) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    told = service.http.post("/messages", params=ADA, content=b'{"messages": []}', headers=form)
    assert (told.status_code, told.json()["next"]) == (422, "send JSON, with Content-Type: application/json")


def test_a_page_that_is_known_is_not_sent_again(service: Running) -> None:
    add(service, HELLO)
    first = service.http.get("/messages", params=ADA)
    known = {"If-None-Match": first.headers["etag"]}
    assert service.http.get("/messages", params=ADA, headers=known).status_code == 304
    assert service.http.get("/messages", params=ADA, headers={"If-None-Match": "*"}).status_code == 304
    add(service, NOTED)
    assert service.http.get("/messages", params=ADA, headers=known).status_code == 200


@pytest.mark.parametrize("id", HOSTILE)
def test_any_text_can_be_the_id_of_a_user_or_a_session(service: Running, id: str) -> None:
    where = {"user": id, "session": id}
    assert add(service, HELLO, where=where).status_code == 201
    found = service.http.get("/session", params=where).json()
    assert (found["user"], found["session"], found["messages"]) == (id, id, 1)
    assert service.memory.store.log.sessions(Scope("default", id))[0].scope == Scope("default", id, id)
    assert service.http.post("/forget", params=where, json={}).json()["messages"] == 1
    assert service.http.get("/session", params=where).status_code == 404


@pytest.mark.parametrize("id", ["", "\x00", "a" * 1_001])
def test_what_can_be_no_id_is_refused(service: Running, id: str) -> None:
    assert service.http.get("/session", params={"user": id, "session": "s"}).status_code == 422


def test_sessions_are_listed_the_last_written_first(service: Running) -> None:
    for session in ("one", "two", "three"):
        add(service, HELLO, where={"user": "ada", "session": session})
    add(service, HELLO, where={"user": "bob", "session": "four"})
    page = service.http.get("/sessions", params={"user": "ada", "limit": 2}).json()
    assert [item["session"] for item in page["items"]] == ["three", "two"]
    rest = service.http.get("/sessions", params={"user": "ada", "limit": 2, "before": page["next"]}).json()
    assert ([item["session"] for item in rest["items"]], rest["next"]) == (["one"], None)
    assert len(service.http.get("/sessions").json()["items"]) == 4


def test_a_question_finds_what_was_said_in_another_session(service: Running) -> None:
    add(service, HELLO, NOTED)
    later = {"user": "ada", "session": "later"}
    asked = {"question": "Where does my sister live?"}
    for verb in ("/recall", "/search"):
        found = service.http.post(verb, params=later, json=asked).json()
        assert "Oslo" in found["items"][0]["text"]
    other = service.http.post("/recall", params={"user": "bob", "session": "x"}, json=asked).json()
    assert other["items"] == []
    before = {**asked, "where": {"before": "2000-01-01T00:00:00Z"}}
    assert service.http.post("/search", params=later, json=before).json()["items"] == []


def test_a_context_comes_with_its_receipt(service: Running) -> None:
    add(service, HELLO, NOTED)
    asked = {"question": "Where does my sister live?", "budget": 500, "shape": "anthropic"}
    made = service.http.post("/context", params={"user": "ada", "session": "new"}, json=asked).json()
    assert "Oslo" in made["messages"][-1]["content"]
    assert made["receipt"]["tokens"] <= made["receipt"]["budget"] == 500
    assert any(line["section"] == "episodic" and line["kept"] for line in made["receipt"]["lines"])
    assert "messages" in made["request"]


def test_a_budget_that_is_too_small_says_by_how_much(service: Running) -> None:
    asked = {"question": "word " * 500, "budget": 50}
    refused = service.http.post("/context", params=ADA, json=asked)
    assert (refused.status_code, refused.json()["class"]) == (413, "BudgetTooSmall")
    assert refused.json()["needed"] > refused.json()["allowed"]


def test_a_context_of_the_past_is_built_again(service: Running) -> None:
    add(service, HELLO, NOTED, {"role": "user", "content": "Where does my sister live?"}, NOTED)
    replayed = service.http.get("/contexts/3", params=ADA).json()
    assert replayed["messages"][-1]["content"].endswith("Where does my sister live?")
    assert service.http.get("/contexts/99", params=ADA).status_code == 404


def test_a_time_that_is_none_is_refused_with_an_example(service: Running) -> None:
    refused = service.http.get("/facts", params={**ADA, "as_of": "gestern"})
    assert refused.status_code == 422
    assert refused.json()["detail"] == "query.as_of: 'gestern' is no time: give one such as 2026-05-01T12:00:00Z"


def test_facts_are_remembered_and_superseded(service: Running) -> None:
    fact = {"key": "city", "value": "Oslo"}
    assert service.http.post("/facts", params=ADA, json=fact).status_code == 201
    service.http.post("/facts", params=ADA, json={**fact, "value": "Bergen"})
    now = service.http.get("/facts", params=ADA).json()["items"]
    assert [item["value"] for item in now if item["key"] == "city"] == ["Bergen"]
    past = service.http.get("/facts/history", params={**ADA, "key": "city"}).json()["items"]
    assert [item["value"] for item in past] == ["Oslo", "Bergen"]


def test_what_is_the_users_needs_no_session(service: Running) -> None:
    add(service, HELLO, {"role": "user", "content": "I live in Bergen."})
    user = {"user": "ada"}
    known = service.http.get("/facts", params=user).json()["items"]
    assert ("Bergen", "trip") in [(item["value"], item["session"]) for item in known]
    assert service.http.post("/facts", params=user, json={"key": "city", "value": "Oslo"}).status_code == 201
    past = service.http.get("/facts/history", params={**user, "key": "city"}).json()["items"]
    assert [item["value"] for item in past][-1] == "Oslo"
    assert service.http.get("/patterns", params=user).json()["conversations"] == 1
    assert (
        service.http.post("/documents", params=user, json={"name": "a.md", "text": "A blue tent."}).status_code == 201
    )
    assert service.http.put("/documents", params={**user, "name": "b.md"}, content=b"A red canoe.").status_code == 201
    assert [item["name"] for item in service.http.get("/documents", params=ADA).json()["items"]] == ["a.md", "b.md"]
    assert service.http.post("/documents/search", params=user, json={"question": "tent"}).json()["items"]
    assert service.http.delete("/documents", params={**user, "name": "a.md"}).status_code == 200
    for verb in ("/search", "/recall"):
        found = service.http.post(verb, params=user, json={"question": "Who moved to Oslo?"}).json()["items"]
        assert "Oslo" in found[0]["text"]
        here = service.http.post(verb, params=user, json={"question": "Where?", "scope": "session"})
        assert (here.status_code, here.json()["class"]) == (422, "ConfigError")
        assert "name one" in here.json()["detail"]


def test_documents_are_kept_found_and_removed(service: Running) -> None:
    text = "# Tents\n\nThe blue tent sleeps four people and weighs nine kilograms."
    added = service.http.post("/documents", params=ADA, json={"name": "camping.md", "text": text})
    assert (added.status_code, added.json()["name"]) == (201, "camping.md")
    upload = service.http.put("/documents", params={**ADA, "name": "page.HTML"}, content=b"<p>The red canoe leaks.</p>")
    assert upload.status_code == 201
    assert [item["name"] for item in service.http.get("/documents", params=ADA).json()["items"]] == [
        "camping.md",
        "page.HTML",
    ]
    (leaks,) = service.http.post("/documents/search", params=ADA, json={"question": "Which canoe leaks?"}).json()[
        "items"
    ]
    assert leaks["text"] == "The red canoe leaks."
    found = service.http.post("/documents/search", params=ADA, json={"question": "Which tent sleeps four people?"})
    assert "nine kilograms" in found.json()["items"][0]["text"]
    assert service.http.delete("/documents", params={**ADA, "name": "camping.md"}).status_code == 200
    assert service.http.delete("/documents", params={**ADA, "name": "camping.md"}).status_code == 404


def test_an_excerpt_of_a_tool_is_quoted_in_a_context(service: Running) -> None:
    excerpt = {"text": "The ferry to Bastoy leaves at 14:10 today.", "source": "https://example.org/ferries"}
    assert service.http.post("/tools", params=ADA, json=excerpt).status_code == 201
    made = service.http.post("/context", params=ADA, json={"question": "When does the ferry to Bastoy leave?"}).json()
    assert "14:10" in json.dumps(made["messages"])


def test_summary_and_patterns_are_there(service: Running) -> None:
    add(service, HELLO, NOTED)
    assert isinstance(service.http.get("/summary", params=ADA).json()["text"], str)
    assert service.http.get("/patterns", params=ADA).status_code == 200


def test_sources_name_their_sessions(service: Running) -> None:
    for session in ("mon", "tue"):
        said = {"role": "user", "content": "I live in Lyon.", "id": "1"}
        add(service, said, where={"user": "ada", "session": session})
    (fact,) = service.http.get("/facts", params={"user": "ada"}).json()["items"]
    assert (fact["sources"], fact["sessions"]) == (["1", "1"], ["mon", "tue"])
    add(service, {"role": "user", "content": "Hm.", "id": "1"})
    made = service.http.post("/context", params=ADA, json={"question": "Where do I live?"}).json()
    (line,) = [line for line in made["receipt"]["lines"] if line["section"] == "profile"]
    assert (line["kept"], line["sources"], line["sessions"]) == (True, ["1", "1"], ["mon", "tue"])


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


def test_what_was_exported_is_imported_with_ids_and_times(service: Running) -> None:
    add(service, *({"role": "user", "content": f"message {n}"} for n in range(1_203)))
    add(service, HELLO, where={"user": "ada", "session": "other\n"})
    before = listed(service, limit=1_000, after=0)
    lines = service.http.get("/export", params={"user": "ada"})
    assert lines.headers["content-type"].startswith("application/jsonl")
    assert len(lines.text.splitlines()) == 1_204
    service.http.post("/forget", params={"user": "ada"}, json={})
    for _ in range(2):
        taken = service.http.post("/import", content=lines.content, headers={"content-type": "Application/JSONL"})
        assert taken.json() == {**dict.fromkeys(KINDS, 0), "messages": 1_204}
        assert listed(service, limit=1_000, after=0) == before
    assert service.http.get("/session", params=ADA).json()["messages"] == 1_203


def test_all_that_was_put_in_is_exported_and_imported(service: Running) -> None:
    add(service, HELLO)
    service.http.post("/facts", params={"user": "ada"}, json={"key": "city", "value": "Oslo"})
    service.http.post("/facts", params={"user": "ada"}, json={"key": "city", "value": None})
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
    for _ in range(2):
        taken = service.http.post("/import", content=lines.content, headers={"content-type": "application/jsonl"})
        assert taken.json() == {**dict.fromkeys(KINDS, 1), "facts": 2}
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
        ('{"user": "a", "session": "b", "message": {"role": "user", "at": "yesterday"}}', "at: 'yesterday' is no time"),
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


def test_jobs_can_be_seen_and_revived(service: Running) -> None:
    assert service.http.get("/jobs").status_code == 200
    assert service.http.post("/jobs/revive").json() == {"revived": 0}


@pytest.mark.parametrize(
    ("sent", "names"),
    [
        ({"json": {"messages": []}}, "body.messages: it is empty"),
        ({"json": {"messages": [{"role": "nobody", "content": ""}]}}, "body.messages.0: its 'role' is 'nobody'"),
        ({"json": {"messages": [{"content": ""}]}}, "body.messages.0: it has no 'role'"),
        ({"json": {"message": [HELLO]}}, "messages"),
        ({"json": {"messages": [{"role": "user", "content": [CALL]}]}}, "type"),
        ({"content": b"{", "headers": JSON}, "body.1: it is no JSON"),
        ({"json": {}}, "body.messages: it is missing"),
        ({"content": b'{"messages": []}'}, "body: it is no JSON object"),
        ({"json": [HELLO]}, "body: it is no JSON object"),
        ({"json": {"messages": [HELLO], "sender": "x"}}, "body.sender: there is no such field"),
        ({"params": {**ADA, "user": "a\0"}, "json": {"messages": [HELLO]}}, "query.user: it holds a NUL"),
        ({"content": b"\xff\xfe", "headers": JSON}, "body"),
        ({"params": {**ADA, "sesion": "x"}, "json": {"messages": [HELLO]}}, "sesion"),
        ({"headers": {"Idempotency-Key": ""}, "json": {"messages": [HELLO]}}, "header.idempotency-key: it is empty"),
    ],
)  # fmt: skip
def test_bad_input_gets_an_error_that_names_it_and_keeps_nothing(service: Running, sent: Any, names: str) -> None:
    refused = service.http.post("/messages", **{"params": ADA, **sent})
    assert refused.status_code in (400, 422)
    assert refused.headers["content-type"] == "application/problem+json"
    assert names in refused.json()["detail"]
    assert refused.json()["next"]
    assert listed(service)["items"] == []


def test_a_name_in_another_encoding_is_no_user(service: Running) -> None:
    refused = service.http.post("/messages?user=J%F6rg&session=trip", json={"messages": [HELLO]})
    assert (refused.status_code, refused.json()["detail"]) == (400, "the address holds what is no UTF-8")
    assert service.http.get("/sessions").json()["items"] == []


def test_a_failure_inside_is_found_in_the_log_by_the_id_of_its_answer(
    service: Running, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    add(service, HELLO)
    monkeypatch.setattr("recollect.server.rest._session", lambda session: 1 / 0)
    failed = service.http.get("/sessions")
    assert (failed.status_code, failed.json()["class"]) == (500, "InternalError")
    (logged,) = [record for record in caplog.records if record.message == "unforeseen"]
    assert vars(logged)["request"] == failed.headers["x-request-id"]
    assert 'route="/sessions",status="500"} 1' in service.http.get("/metrics").text


def test_a_caller_that_leaves_amid_its_own_words_is_no_failure(
    service: Running, caplog: pytest.LogCaptureFixture
) -> None:
    begun = b"POST /import HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/jsonl\r\nContent-Length: 9\r\n\r\n{"
    with socket.create_connection((service.http.base_url.host, service.http.base_url.port or 80)) as caller:
        caller.sendall(begun)
    while 'route="/import",status="499"} 1' not in service.http.get("/metrics").text:
        time.sleep(0.01)
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []
