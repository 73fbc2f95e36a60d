"""Messages and sessions over REST, pages of them, and what is refused."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Sequence
from typing import Any

import pytest

from recollect.server.problems import BODIES, PARTS
from recollect.store import Entry, Job
from recollect.types import Scope
from tests.server.rest import ADA, HELLO, NOTED, add, listed, texts
from tests.server.running import Running

CALL = {"type": "tool_call", "id": "1", "name": "x"}
JSON = {"content-type": "application/json"}
OWN = ("date", "x-request-id")
"""Headers that each answer has for itself."""
HOSTILE = [
    "..", ".", "/", "a/b", "//", "%2F", "%", "?x=1&y=2", "#", "a b", "+", "\t\n\r", "☃", "e\u0301", "שלום", "\u202e",
    "💥", "'; DROP TABLE messages; --", "<script>", "\\", '"', "a" * 1_000, "null", "\x1b[31m", "\x7f",
]  # fmt: skip


def test_a_message_is_kept_and_comes_back_with_its_number(service: Running) -> None:
    added = add(service, HELLO, NOTED)
    assert added.status_code == 201
    assert [item["content"] for item in added.json()["items"]] == [HELLO["content"], NOTED["content"]]
    page = listed(service)
    assert [(item["seq"], item["message"]["role"]) for item in page["items"]] == [(1, "user"), (2, "assistant")]
    assert (page["before"], page["after"]) == (None, None)


def test_parts_of_every_kind_come_back_as_they_were_sent(service: Running) -> None:
    call = {"type": "tool_call", "id": "c1", "name": "weather", "arguments": '{"city": "Oslo"}'}
    result = {"type": "tool_result", "call_id": "c1", "content": [{"type": "text", "text": "rain"}]}
    picture = {"type": "image", "url": "https://example.org/a.png", "width": 3, "height": 4}
    sent: list[dict[str, Any]] = [
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
    for path in ("/", "/facts/history", "/v1/models/test"):
        assert service.http.patch(path).headers["allow"] == "GET, HEAD"


def test_half_a_surrogate_pair_survives(service: Running) -> None:
    body = b'{"messages": [{"role": "user", "content": "cut \\ud83d"}]}'
    assert service.http.post("/messages", params=ADA, content=body, headers=JSON).status_code == 201
    assert texts(listed(service)) == ["cut \ud83d"]
    context = service.http.post("/context", params=ADA, json={"question": "What was cut?"}).json()
    assert "cut \ud83d" in [line["text"] for line in context["receipt"]["lines"]]


def test_pages_go_backward_and_forward(service: Running) -> None:
    add(service, *({"role": "user", "content": str(n)} for n in range(1, 11)))
    last = listed(service, limit=3)
    assert (texts(last), last["before"], last["after"]) == (["8", "9", "10"], 8, None)
    before = listed(service, limit=3, before=8)
    assert (texts(before), before["before"], before["after"]) == (["5", "6", "7"], 5, 7)
    first = listed(service, limit=3, after=0)
    assert (texts(first), first["before"], first["after"]) == (["1", "2", "3"], None, 3)
    rest = listed(service, limit=50, after=3)
    assert (len(rest["items"]), rest["before"], rest["after"]) == (7, 4, None)
    none = listed(service, before=1)
    assert (none["items"], none["before"], none["after"]) == ([], None, 0)
    none = listed(service, after=10)
    assert (none["items"], none["before"], none["after"]) == ([], 11, None)
    service.memory.forget(Scope("default", "ada", "trip"), [first["items"][0]["message"]["id"]])
    left = listed(service, limit=2, after=1)
    assert (texts(left), left["before"], left["after"]) == (["2", "3"], None, 3)


def test_pages_begin_and_end_at_ids_too(service: Running) -> None:
    add(service, *({"role": "user", "content": str(n), "id": f"m/{n}"} for n in range(1, 11)))
    assert listed(service, limit=3, before="m/8") == listed(service, limit=3, before=8)
    assert listed(service, limit=3, after="m/3") == listed(service, limit=3, after=3)
    asked = {"roles": ["user"]}
    found = service.http.post("/messages/search", params={**ADA, "before": "m/3"}, json=asked).json()
    assert texts(found) == ["1", "2"]
    for gone in ({"before": "m/11"}, {"after": "m/11"}):
        refused = service.http.get("/messages", params={**ADA, **gone})
        assert (refused.status_code, refused.json()["detail"]) == (404, "no message 'm/11' in session 'trip'")
    assert service.http.get("/messages", params={**ADA, "before": 0}).status_code == 422


def test_a_message_is_found_in_whichever_session_has_it(service: Running) -> None:
    [kept] = add(service, HELLO).json()["items"]
    found = service.http.get("/message", params={"user": ADA["user"], "id": kept["id"]}).json()
    assert (found["session"], found["seq"], found["message"]["id"]) == (ADA["session"], 1, kept["id"])
    assert service.http.get("/message", params={"user": "eve", "id": kept["id"]}).status_code == 404


def test_who_misspells_a_key_or_a_name_is_told_to_check_it(service: Running) -> None:
    user = {"user": ADA["user"]}
    for path, wrong in (("/facts", {"key": "seta"}), ("/documents", {"name": "gudie.md"})):
        refused = service.http.delete(path, params={**user, **wrong})
        assert refused.status_code == 404
        assert set(wrong) < set(refused.json()["next"].replace(",", "").split())


def test_the_same_idempotency_key_keeps_messages_once(service: Running) -> None:
    first = add(service, HELLO, NOTED, **{"Idempotency-Key": "one"})
    again = add(service, HELLO, NOTED, **{"Idempotency-Key": "one"})
    assert again.json() == first.json()
    assert len(listed(service)["items"]) == 2
    other = add(service, {"role": "user", "content": "Something else"}, NOTED, **{"Idempotency-Key": "one"})
    assert (other.status_code, other.json()["class"]) == (409, "Conflict")
    assert other.json()["detail"] == "the Idempotency-Key 'one' came before with other content"
    assert "next" in other.json()


def test_a_conflict_names_what_the_caller_gave(service: Running) -> None:
    add(service, {**HELLO, "id": "mine"}, NOTED, **{"Idempotency-Key": "one"})
    changed = {"role": "user", "content": "Something else"}
    own = add(service, {**changed, "id": "mine"}, NOTED, **{"Idempotency-Key": "one"})
    keyed = add(service, {**HELLO, "id": "mine"}, changed, **{"Idempotency-Key": "one"})
    assert own.json()["detail"].startswith("message 'mine' is already in this session")
    assert keyed.json()["detail"] == "the Idempotency-Key 'one' came before with other content"


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


@pytest.mark.parametrize("path", ["/sessions", "/messages", "/facts", "/documents", "/tools", "/jobs"])
def test_every_list_has_a_tag(service: Running, path: str) -> None:
    whose = {} if path == "/jobs" else {"user": "ada"} if path == "/sessions" else ADA
    assert service.http.get(path, params=whose).headers["etag"]


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


def test_the_titles_of_a_page_of_sessions_are_read_together(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(120):
        add(service, HELLO, where={"user": "ada", "session": f"s{n}"})
    log, asked = service.memory.store.log, list[int]()
    openings = log.openings

    def counted(sessions: Sequence[Scope], limit: int) -> list[list[Entry]]:
        asked.append(len(sessions))
        return openings(sessions, limit)

    monkeypatch.setattr(log, "openings", counted)
    page = service.http.get("/sessions", params={"limit": 1_000}).json()
    assert {item["title"] for item in page["items"]} == {HELLO["content"]}
    assert asked == [100, 20]


def test_sessions_are_listed_the_last_written_first(service: Running) -> None:
    for session in ("one", "two", "three"):
        add(service, HELLO, where={"user": "ada", "session": session})
    add(service, HELLO, where={"user": "bob", "session": "four"})
    page = service.http.get("/sessions", params={"user": "ada", "limit": 2}).json()
    assert [(item["session"], item["title"]) for item in page["items"]] == [
        ("three", HELLO["content"]),
        ("two", HELLO["content"]),
    ]
    rest = service.http.get("/sessions", params={"user": "ada", "limit": 2, "before": page["before"]}).json()
    assert ([item["session"] for item in rest["items"]], rest["before"]) == (["one"], None)
    assert len(service.http.get("/sessions").json()["items"]) == 4


def test_every_list_is_paged_alike(service: Running) -> None:
    for number in range(5):
        add(service, HELLO, where={"user": "ada", "session": f"{number}"})
        service.http.post("/facts", params=ADA, json={"key": f"key:{number}", "value": "x"})
        service.http.post("/documents", params=ADA, json={"name": f"{number}.md", "text": f"Tent {number}."})
    service.memory.drain()
    service.memory.store.jobs.enqueue(Scope("default", "ada"), [Job("later", key=f"{n}", delay=99) for n in range(5)])
    for path, side in {"/sessions": "before", "/facts": "after", "/documents": "after", "/jobs": "after"}.items():
        whose: dict[str, Any] = {} if path == "/jobs" else ADA if path != "/sessions" else {"user": "ada"}
        whole, paged = service.http.get(path, params={**whose, "limit": 1_000}).json(), list[Any]()
        assert len(whole["items"]) >= 5
        more: dict[str, Any] = {}
        while side not in more or more[side] is not None:
            page = service.http.get(path, params={**whose, "limit": 2, **more}).json()
            paged, more = [*paged, *page["items"]], {side: page[side]}
        assert (paged, whole[side]) == (whole["items"], None)


def test_a_page_after_what_is_gone_is_not_taken_for_the_end(service: Running) -> None:
    refused = service.http.get("/facts", params={**ADA, "after": "gone"})
    says = "the list has no 'gone' any more: read it from its start"
    assert (refused.status_code, refused.json()["detail"]) == (404, says)


def test_documents_go_on_from_where_one_stood_that_is_gone(service: Running) -> None:
    for number in range(5):
        service.http.post("/documents", params=ADA, json={"name": f"{number}.md", "text": f"Tent {number}."})
    first = service.http.get("/documents", params={**ADA, "limit": 2}).json()
    service.http.delete("/documents", params={**ADA, "name": first["after"]})
    rest = service.http.get("/documents", params={**ADA, "after": first["after"]}).json()
    assert ([item["name"] for item in rest["items"]], rest["after"]) == (["2.md", "3.md", "4.md"], None)


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
        ({"content": b"{", "headers": JSON}, "body.1: it is not JSON"),
        ({"content": b'{"', "headers": JSON}, "it is not JSON: Unterminated string starting at this character"),
        ({"json": {}}, "body.messages: it is missing"),
        ({"content": b'{"messages": []}'}, "body: it is text not marked as JSON"),
        ({"json": [HELLO]}, "body: it is a list, not a JSON object"),
        ({"json": {"messages": ["Hello."]}}, "body.messages.0: it is text, not a JSON object"),
        ({"json": {"messages": HELLO}}, "body.messages: it is an object, not a list"),
        ({"json": {"messages": [{**HELLO, "content": 5}]}}, "body.messages.0.content: it is a number, not text"),
        ({"json": {"messages": [{**HELLO, "text": "x"}]}}, "body.messages.0.text: there is no such field"),
        ({"json": {"messages": [HELLO], "sender": "x"}}, "body.sender: there is no such field"),
        ({"params": {**ADA, "user": "a\0"}, "json": {"messages": [HELLO]}}, "query.user: it contains a NUL"),
        ({"content": b"\xff\xfe", "headers": JSON}, "body"),
        ({"params": {}, "json": {**ADA, "messages": [HELLO]}}, "query.user: it is missing; query.session: it is"),
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


def test_an_error_says_of_a_value_what_to_change_alone(service: Running) -> None:
    said = {**HELLO, "id": None, "content": [{"type": "text", "text": "Look:"}, {"type": "image_url"}]}
    refused = service.http.post("/messages", params=ADA, json={"messages": [said]}).json()
    assert [fault["where"] for fault in refused["errors"]] == ["body.messages.0.id", "body.messages.0.content.1"]
    assert refused["errors"][0]["problem"] == "it is null, not text"


def test_a_name_in_another_encoding_is_no_user(service: Running) -> None:
    refused = service.http.post("/messages?user=J%F6rg&session=trip", json={"messages": [HELLO]})
    assert (refused.status_code, refused.json()["detail"]) == (400, "the address has bytes that are not UTF-8")
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


def test_messages_are_found_by_role_time_and_metadata(service: Running) -> None:
    said = [
        {"role": "user", "content": "One.", "at": "2026-05-01T12:00:00Z"},
        {"role": "assistant", "content": "Two.", "at": "2026-05-02T12:00:00Z", "metadata": {"score": 9}},
        {"role": "user", "content": "Three.", "at": "2026-05-03T12:00:00Z"},
    ]
    assert service.http.post("/messages", params=ADA, json={"messages": said}).status_code == 201

    def found(where: dict[str, Any], **more: int) -> tuple[list[str], int | None]:
        page = service.http.post("/messages/search", params={**ADA, **more}, json=where).json()
        return [one["message"]["content"] for one in page["items"]], page["before"]

    assert found({}) == (["One.", "Two.", "Three."], None)
    assert found({"roles": ["user"]}) == (["One.", "Three."], None)
    assert found({"roles": ["user"]}, limit=1) == (["Three."], 3)
    assert found({"roles": ["user"]}, before=3) == (["One."], None)
    assert found({"since": "2026-05-02T00:00:00Z", "before": "2026-05-03T00:00:00Z"}) == (["Two."], None)
    assert found({"metadata": {"score": 9}}) == (["Two."], None)
    assert service.http.post("/messages/search", params=ADA, json={"role": "user"}).status_code == 422


def test_a_message_is_tagged_later_and_found_with_its_tags(service: Running) -> None:
    kept = add(service, HELLO).json()["items"][0]
    tags = {"metadata": {"important": True, "id": "its own"}}
    tagged = service.http.patch("/message", params={**ADA, "id": kept["id"]}, json=tags)
    assert (tagged.status_code, tagged.json()["seq"]) == (200, 1)
    assert tagged.json()["message"]["metadata"] == tags["metadata"]
    off = service.http.patch("/message", params={**ADA, "id": kept["id"]}, json={"metadata": {"important": None}})
    assert off.json() == service.http.get("/message", params={**ADA, "id": kept["id"]}).json()
    assert off.json()["message"]["metadata"] == {"id": "its own"}


def test_tags_that_can_not_be_set_are_refused(service: Running) -> None:
    kept = add(service, HELLO).json()["items"][0]
    for id, metadata, status in (("nowhere", {"a": 1}, 404), (kept["id"], {"score": 11}, 422)):
        tagged = service.http.patch("/message", params={**ADA, "id": id}, json={"metadata": metadata})
        assert tagged.status_code == status
    assert "metadata" not in listed(service)["items"][0]["message"]


def test_a_session_that_is_not_there_is_told_with_those_like_it_and_reading_it_finds_nothing(service: Running) -> None:
    add(service, HELLO, where={"user": "ada", "session": "trip"})
    for user, session, says in (
        ("ada", "trp", "nothing was said by ada in the session trp: perhaps 'trip' is meant"),
        ("ada", "xyz", "nothing was said by ada in the session xyz: see those that are by GET /sessions"),
        ("ad", "trip", "nothing was said by ad in the session trip: perhaps 'ada' is meant"),
        ("root", "trip", "nothing was said by root in the session trip: the store has ada"),
    ):
        refused = service.http.get("/session", params={"user": user, "session": session})
        assert (refused.status_code, refused.json()["detail"]) == (404, says)
    assert service.http.get("/messages", params={"user": "ada", "session": "trp"}).json()["items"] == []


def test_an_id_of_a_few_digits_is_told_from_a_number(service: Running) -> None:
    add(service, {**HELLO, "id": "2"}, NOTED, {**HELLO, "id": "id:2"}, NOTED)
    for written, before in (("2", 1), ("id:2", 0), ("id:id:2", 2)):
        assert len(listed(service, before=written)["items"]) == before


@pytest.mark.parametrize(("path", "body"), BODIES.items())
def test_a_body_that_an_error_names_is_taken(service: Running, path: str, body: str) -> None:
    refused = service.http.post(path, params=ADA, json={"x": 1})
    assert (refused.status_code, refused.json()["next"]) == (422, f"send a body like {body}")
    assert service.http.post(path, params=ADA, content=body, headers=JSON).is_success
    nobody = service.http.post(path, json={**ADA, **json.loads(body)})
    assert nobody.json()["next"] == f"add it to the address, as in {path}?user=…"


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function"}]},
        {"role": "tool", "tool_call_id": "1", "content": "rain"},
    ],
)
def test_calls_as_openai_has_them_are_refused_with_the_parts_that_are_taken(service: Running, message: Any) -> None:
    refused = service.http.post("/messages", params=ADA, json={"messages": [message]})
    assert (refused.status_code, refused.json()["next"]) == (422, PARTS)
    taken = f'{{"messages": [{PARTS.partition(": ")[2]}]}}'
    assert service.http.post("/messages", params=ADA, content=taken, headers=JSON).status_code == 201
