"""What memory answers over REST: contexts, facts, documents, excerpts, summaries."""

from __future__ import annotations

import json
from typing import Any

from tests.server.rest import ADA, HELLO, NOTED, add
from tests.server.running import Running


def test_a_question_finds_what_was_said_in_another_session(service: Running) -> None:
    add(service, HELLO, NOTED)
    later = {"user": "ada", "session": "later"}
    asked = {"question": "Where does my sister live?"}
    for verb in ("/recall", "/search"):
        found = service.http.post(verb, params=later, json=asked).json()
        assert "Oslo" in found["items"][0]["text"]
        assert not found["by_chance"]
        assert service.http.post(verb, params=later, json={"question": "zebra"}).json()["by_chance"]
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


def replay(service: Running, message: int | str, **more: Any) -> Any:
    return service.http.post("/replay", params=ADA, json={"message": message, **more})


def test_a_context_of_the_past_is_built_again(service: Running) -> None:
    add(service, HELLO, NOTED, {"role": "user", "content": "Where does my sister live?"}, NOTED)
    replayed = replay(service, 3).json()
    assert replayed["messages"][-1]["content"].endswith("Where does my sister live?")
    assert replay(service, 99).status_code == 404
    add(service, {"role": "user", "content": "Where does my sister live?", "id": "ask/2?"})
    assert replay(service, "ask/2?").json() == replay(service, 5).json()
    for gone in ("ask", "5", 0):
        assert replay(service, gone).status_code == 404


def test_a_time_that_is_none_is_refused_with_an_example(service: Running) -> None:
    refused = service.http.get("/facts", params={**ADA, "as_of": "gestern"})
    assert refused.status_code == 422
    assert refused.json()["detail"] == "query.as_of: 'gestern' is not a time: give one such as 2026-05-01T12:00:00Z"


def test_facts_are_remembered_and_superseded(service: Running) -> None:
    fact = {"key": "city", "value": "Oslo"}
    assert service.http.post("/facts", params=ADA, json=fact).status_code == 201
    service.http.post("/facts", params=ADA, json={**fact, "value": "Bergen"})
    now = service.http.get("/facts", params=ADA).json()["items"]
    assert [item["value"] for item in now if item["key"] == "city"] == ["Bergen"]
    past = service.http.get("/facts/history", params={**ADA, "key": "city"}).json()["items"]
    assert [item["value"] for item in past] == ["Oslo", "Bergen"]


def test_a_fact_is_erased_with_its_history(service: Running) -> None:
    key = "a/b: \u00e9\n%2F"
    for value in ("Oslo", "Bergen"):
        service.http.post("/facts", params=ADA, json={"key": key, "value": value})
    user = {"user": "ada", "key": key}
    gone = service.http.delete("/facts", params=user)
    assert [item["value"] for item in gone.json()["items"]] == ["Oslo", "Bergen"]
    assert service.http.get("/facts/history", params=user).json()["items"] == []
    again = service.http.delete("/facts", params=user)
    assert (again.status_code, again.json()["class"]) == (404, "NotFound")
    assert service.http.delete("/facts", params=ADA).status_code == 422


def test_what_was_made_of_a_session_is_searched_by_its_kind(service: Running) -> None:
    add(service, HELLO, {"role": "user", "content": "I live in Bergen."})
    service.http.post("/tools", params=ADA, json={"text": "Rain in Bergen.", "source": "weather"})
    asked = {"question": "Where do I live, in Bergen?", "scope": "session"}

    def texts(kind: str, user: dict[str, str] = ADA) -> list[str]:
        found = service.http.post("/search", params=user, json={**asked, "kind": kind}).json()["items"]
        return [item["text"].partition(" (")[0] for item in found]

    assert texts("facts") == ["place: Bergen", "sister Nadia, place: Oslo"]
    assert texts("tools") == ["[tool weather] Rain in Bergen."]
    assert texts("summary") == []  # nothing is folded yet
    assert texts("facts", {**ADA, "session": "elsewhere"}) == []
    assert service.http.post("/search", params=ADA, json={**asked, "kind": "fact"}).status_code == 422


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
    upload_body = b"<p>The red canoe leaks.</p>"
    upload = service.http.put("/documents", params={**ADA, "name": "page.HTML"}, content=upload_body)
    assert (upload.status_code, upload.json()["metadata"]) == (201, {})
    about = {"metadata": '{"by": "Bo", "pages": [3]}', "at": "2026-05-01T12:00:00Z"}
    again = service.http.put("/documents", params={**ADA, "name": "page.HTML", **about}, content=upload_body)
    assert again.json()["metadata"] == {"by": "Bo", "pages": [3]}
    assert again.json()["at"].startswith("2026-05-01T12:00:00")
    for wrong in ("[]", "{", "1"):
        refused = service.http.put("/documents", params={**ADA, "name": "a.txt", "metadata": wrong}, content=b"x")
        assert refused.status_code == 422
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


def test_a_form_is_not_kept_as_a_file(service: Running) -> None:
    refused = service.http.put("/documents", params={**ADA, "name": "a.txt"}, files={"file": b"A red canoe."})
    assert (refused.status_code, refused.json()["next"]) == (415, "send the file itself as the body")
    assert service.http.get("/documents", params=ADA).json()["items"] == []


def test_an_excerpt_of_a_tool_is_quoted_in_a_context(service: Running) -> None:
    excerpt = {"text": "The ferry to Bastoy leaves at 14:10 today.", "source": "https://example.org/ferries"}
    assert service.http.post("/tools", params=ADA, json=excerpt).status_code == 201
    (kept,) = service.http.get("/tools", params=ADA).json()["items"]
    assert (kept["text"], kept["source"]) == (excerpt["text"], excerpt["source"])
    asked = service.http.post("/tools/search", params=ADA, json={"question": excerpt["text"]})
    assert asked.json()["items"] == [kept]
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


def test_a_context_with_a_system_text_and_tools_comes_again_as_it_was(service: Running) -> None:
    add(service, *[{**said, "content": f"{said['content']} {n}"} for n in range(40) for said in (HELLO, NOTED)])
    tool = {"type": "function", "function": {"name": "book", "parameters": {"type": "object"}}}
    question = "Where does my sister live?"
    given = {"budget": 400, "system": "You plan trips. " * 10, "tools": [tool], "shape": "anthropic"}
    made = service.http.post("/context", params=ADA, json={"question": question, **given}).json()
    add(service, {"role": "user", "content": question})
    again = replay(service, 81, **given).json()
    assert (again["messages"], again["request"]) == (made["messages"], made["request"])
    without = replay(service, 81, **{**given, "tools": []}).json()
    assert without["receipt"]["overhead"] < again["receipt"]["overhead"]


def test_a_day_goes_by_the_zone_of_the_message(service: Running) -> None:
    said = {"role": "user", "content": "Remind me to pay the rent tomorrow.", "at": "2125-05-14T22:00:00-04:00"}
    add(service, said)
    assert service.http.get("/messages", params=ADA).json()["items"][0]["message"]["at"] == said["at"]
    service.memory.drain()
    (plan,) = service.http.get("/facts", params=ADA).json()["items"]
    assert plan["valid_to"] == "2125-05-16T00:00:00-04:00"
