"""How much one caller may ask for."""

from __future__ import annotations

import asyncio
import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Gauge
from starlette.types import Message

from recollect.errors import RateLimited
from recollect.server.limits import CALLERS, PACE, SILENT_SECONDS, Rate, Streams, timely, too_deep
from recollect.server.problems import Refused, reply, told
from tests.server.running import running

ADA = {"user": "ada", "session": "trip"}
JSON = {"content-type": "application/json"}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='[]{}"\\ab'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='[]{}"\\a'), inner, max_size=3),
    max_leaves=20,
)


def depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


@given(VALUES, st.integers(0, 5))
def test_nesting_is_counted_outside_of_strings(value: object, most: int) -> None:
    assert too_deep(json.dumps(value).encode(), most) is (depth(value) > most)


@given(st.binary(), st.integers(0, 5))
def test_any_bytes_can_be_counted(body: bytes, most: int) -> None:
    assert too_deep(body, most) in (True, False)


def test_a_body_that_is_too_large_or_too_deep_is_refused_before_it_is_read() -> None:
    with running(max_body=1_000, max_depth=10) as service:
        large = service.http.post(
            "/messages", params=ADA, json={"messages": [{"role": "user", "content": "x" * 1_000}]}
        )
        assert (large.status_code, large.headers["content-type"]) == (413, "application/problem+json")
        assert "the new messages alone, or have the service set RECOLLECT_MAX_BODY" in large.json()["next"]
        streamed = service.http.post("/messages", params=ADA, content=iter([b"x" * 600] * 3), headers=JSON)
        assert streamed.status_code == 413
        upload = service.http.put("/documents", params={**ADA, "name": "a.md"}, content=iter([b"x" * 600] * 3))
        assert upload.status_code == 413
        for kind in ("application/json", "Application/JSON"):
            nested = b'{"question":' + b"[" * 20
            deep = service.http.post("/recall", params=ADA, content=nested, headers={"content-type": kind})
            assert (deep.status_code, deep.json()["class"]) == (422, "Refused")
        line = service.http.post("/import", content=b"x" * 1_500, headers={"content-type": "application/jsonl"})
        assert line.status_code == 413
        wrong = service.http.post("/recall", params=ADA, content=b"{}", headers={**JSON, "content-length": "2"})
        assert wrong.status_code == 422


def test_a_caller_is_told_to_wait_as_long_as_the_model_asks_for() -> None:
    assert reply(RateLimited("slow down", 1.2)).headers["Retry-After"] == "2"
    assert reply(RateLimited("slow down", 0)).headers["Retry-After"] == "1"


def test_how_long_a_limit_of_the_model_holds_is_said_where_no_header_can_say_it() -> None:
    assert told(RateLimited("slow down", 3_599.5))["next"] == "try again in 3,600 seconds"
    assert told(RateLimited("slow down", 0))["next"] == "try again in 1 second"
    assert told(RateLimited("slow down"))["next"] == "try again in a moment"
    assert "check the billing" in told(RateLimited("no quota", passing=False))["next"]


def test_a_caller_that_comes_too_often_has_to_wait() -> None:
    now = 0.0
    rate = Rate(2.0, lambda: now)
    rate.check("a")
    rate.check("a")
    with pytest.raises(Refused) as refused:
        rate.check("a")
    assert (refused.value.status_code, refused.value.headers) == (429, {"Retry-After": "1"})
    rate.check("b")
    now = 0.5
    rate.check("a")
    now = 100.0
    rate.check("a")
    rate.check("a")
    with pytest.raises(Refused):
        rate.check("a")


def test_a_rate_below_one_a_second_lets_a_caller_in_when_it_says() -> None:
    now = 0.0
    rate = Rate(0.25, lambda: now)
    rate.check("a")
    for wait in (4, 1):
        now = 4.0 - wait
        with pytest.raises(Refused) as refused:
            rate.check("a")
        assert refused.value.headers == {"Retry-After": str(wait)}
    now = 4.0
    rate.check("a")


def test_callers_not_seen_for_long_are_forgotten() -> None:
    rate = Rate(1.0, lambda: 0.0)
    for number in range(CALLERS + 10):
        rate.check(str(number))
    assert len(rate._seen) == CALLERS


@given(st.lists(st.floats(0, 3), min_size=1, max_size=60), st.sampled_from([0.5, 1.0, 3.0, 10.0]))
def test_no_stretch_of_time_sees_more_requests_than_allowed(waits: list[float], per_second: float) -> None:
    now, let_in = 0.0, list[float]()
    rate = Rate(per_second, lambda: now)
    for wait in waits:
        now += wait
        try:
            rate.check("a")
        except Refused:
            continue
        let_in.append(now)
    burst = max(1.0, per_second)
    for start, first in enumerate(let_in):
        for count, last in enumerate(let_in[start:], 1):
            assert count <= burst + (last - first) * per_second + 1e-6


def test_only_so_many_answers_are_streamed_at_once() -> None:
    streams = Streams(1, Gauge("streams", "", registry=None))
    with streams.place():
        pass
    with pytest.raises(Refused) as refused, streams.place():
        pytest.fail("there was no place")
    assert refused.value.status_code == 429
    streams.leave()
    for _ in range(2):
        with pytest.raises(KeyError), streams.place():
            raise KeyError("an answer that could not begin")
    assert streams.open == 0


def test_a_service_says_when_it_is_asked_too_often() -> None:
    with running(rate=0.01) as service:
        answers = [service.http.get("/sessions") for _ in range(5)]
        assert 429 in [answer.status_code for answer in answers]
        assert all("retry-after" in answer.headers for answer in answers if answer.status_code == 429)
        assert service.http.get("/healthz").status_code == 200


@pytest.mark.parametrize("path", ["/messages", "/import", "/v1/chat/completions"])
def test_a_compressed_body_is_refused_with_its_cause(path: str) -> None:
    body = gzip.compress(b'{"messages": [{"role": "user", "content": "Hello."}]}')
    with running() as service:
        sent = service.http.post(path, content=body, params=ADA, headers={**JSON, "content-encoding": "gzip"})
        assert (sent.status_code, sent.headers["accept-encoding"]) == (415, "identity")
        assert "Content-Encoding: gzip, which this service does not read" in sent.text
        assert "send it as it is, without Content-Encoding" in sent.text
        plain = service.http.get("/healthz", headers={"content-encoding": "Identity"})
        assert plain.status_code == 200


def taken(monkeypatch: pytest.MonkeyPatch, size: int, wait: float, work: float = 0) -> None:
    """Take in a body of a hundred parts; `wait` seconds pass before each, and the service works on it for `work`."""

    async def take() -> None:
        now, left = 0.0, 100

        async def receive() -> Message:
            nonlocal now, left
            now, left = now + wait, left - 1
            return {"type": "http.request", "body": bytes(size), "more_body": left > 0}

        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
        timed = timely(receive)
        while left:
            await timed()
            now += work

    asyncio.run(take())


def test_a_large_body_may_take_its_time_and_a_small_one_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    taken(monkeypatch, size=PACE, wait=1)
    taken(monkeypatch, size=1, wait=SILENT_SECONDS / 100)
    with pytest.raises(Refused, match="too slowly") as refused:
        taken(monkeypatch, size=1, wait=1)
    assert refused.value.status_code == 408


def test_time_that_the_service_takes_itself_is_not_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    taken(monkeypatch, size=1, wait=0.1, work=60)
