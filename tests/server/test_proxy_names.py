"""Whose a conversation is and which: as the caller of the proxy names it, or not."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from recollect.types import Scope
from tests.server.openai_client import HELLO, ask, client, said
from tests.server.running import Running


def test_the_user_can_be_named_by_the_standard_field(proxy: Running) -> None:
    ask(client(proxy, user=None), HELLO, user="eve/../ 1")
    assert said(proxy, user="eve/../ 1")[0] == ("user", HELLO["content"])


def test_names_in_headers_are_percent_encoded(proxy: Running) -> None:
    ask(client(proxy, session="%E2%98%83%2F%25", user="%C3%A9"), HELLO)
    assert said(proxy, session="☃/%", user="é")[0] == ("user", HELLO["content"])


def test_a_caller_that_names_no_session_stays_in_its_conversation(proxy: Running) -> None:
    asked = client(proxy, session=None)
    first = asked.chat.completions.with_raw_response.create(model="recollect", messages=[HELLO])
    session = first.headers["x-recollect-session"]
    answer = first.parse().choices[0].message.model_dump()
    ask(asked, HELLO, answer, {"role": "user", "content": "And then?"})
    assert [role for role, _ in said(proxy, session)] == ["user", "assistant"] * 2


def test_conversations_that_begin_with_other_sounds_are_not_the_same(proxy: Running) -> None:
    for data in ("AAAA", "BBBB", "AAAA"):
        spoken = {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}
        ask(client(proxy, session=None), {"role": "user", "content": [spoken]})
    assert [session["messages"] for session in proxy.http.get("/sessions").json()["items"]] == [4, 2]


def test_a_caller_that_names_no_user_is_told_how(proxy: Running) -> None:
    with pytest.raises(openai.BadRequestError, match="X-Recollect-User"):
        ask(client(proxy, user=None), HELLO)


def test_a_caller_that_is_named_twice_is_nobody(proxy: Running) -> None:
    """A gateway that adds the header behind the one of its caller would let that caller be anyone."""
    for name in ("X-Recollect-User", "X-Recollect-Session"):
        named = [("X-Recollect-User", "ada"), ("X-Recollect-Session", "trip"), (name, "other")]
        refused = proxy.http.post("/v1/chat/completions", json={"messages": [HELLO]}, headers=named)
        assert (refused.status_code, f"more than one {name}" in refused.text) == (400, True)
    assert proxy.http.get("/sessions").json()["items"] == []


@pytest.mark.parametrize("header", ["j%C3%BCrgen", "jürgen".encode()])
def test_a_name_that_is_not_ascii_is_the_same_encoded_or_not(proxy: Running, header: Any) -> None:
    body = {"model": "recollect", "messages": [HELLO]}
    answer = proxy.http.post(f"{proxy.url}/v1/chat/completions", json=body, headers={"X-Recollect-User": header})
    assert answer.status_code == 200
    assert [session.scope.user for session in proxy.memory.store.log.sessions(Scope())] == ["jürgen"]


def test_a_name_in_another_encoding_is_refused(proxy: Running) -> None:
    body, headers = {"model": "recollect", "messages": [HELLO]}, {b"X-Recollect-User": "jürgen".encode("latin-1")}
    answer = proxy.http.post(f"{proxy.url}/v1/chat/completions", json=body, headers=headers)
    assert answer.status_code == 400
    assert "percent-encode" in answer.text
