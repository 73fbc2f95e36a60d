"""No text takes much longer than its length: a message of dots, blank lines or open tags can't hold everyone up.

Where reading one took the square of its length, these would run for hours.
"""

from __future__ import annotations

import base64
import time
from datetime import UTC, datetime

import pytest

from recollect.flow.chunk import chunks
from recollect.flow.facts import extract
from recollect.flow.fence import OPEN, SAYS, without_memory
from recollect.flow.html import html_text
from recollect.flow.sentences import sentences
from recollect.llm.overflow import detect
from recollect.llm.recall import NOTHING, answer
from recollect.tokens import estimate
from recollect.tokens.files import without_files
from recollect.types import Message

pytestmark = pytest.mark.processor(60)

LENGTH = 300_000
NOON = datetime(2026, 5, 5, 12, tzinfo=UTC)
UNCLOSED = f"{OPEN}\n{SAYS}\n"


def long(run: str) -> str:
    return (run * (LENGTH // len(run) + 1))[:LENGTH]


@pytest.mark.parametrize("run", [".", "!?", "\u2026", ".)", "a.", "\n", "\n \n"])
@pytest.mark.parametrize("lines", [True, False])
def test_sentences(run: str, lines: bool) -> None:
    text = long(run)
    assert "".join(text[a:b] for a, b in sentences(text, lines=lines)) == text


@pytest.mark.parametrize("run", [".", "\n", "\r\n", "\n\t", "; ", "you ", "I am "])
def test_facts(run: str) -> None:
    assert extract(long(run), NOON) == []


@pytest.mark.parametrize("run", [".", "\u0301", "e\u0301", "a" + "\u0301" * 5_000])
def test_chunks(run: str) -> None:
    text = long(run)[:50_000]
    found = chunks(text, estimate)
    assert found[-1].end == len(text)
    assert all(estimate(chunk.text) <= 300 for chunk in found)


@pytest.mark.parametrize("run", ["<a ", "<a b='", "<!--", "</", "<script>", "<svg>", "<![", "a<b>", "&#", "<svg></p>"])
def test_web_pages(run: str) -> None:
    assert isinstance(html_text(long(run)), str)


def test_signs_that_begin_no_tag_are_read_as_quickly_as_words() -> None:
    page = "<" * 1_000_000
    started = time.thread_time()
    assert html_text(page) == page
    assert time.thread_time() - started < 1


@pytest.mark.parametrize("run", ["exceed", "context ", "tokens ", "1,000"])
def test_what_providers_say(run: str) -> None:
    assert detect(400, long(run)) is None


def test_memory_that_is_opened_and_never_closed() -> None:
    message = Message("user", long(UNCLOSED))
    assert without_memory(message) == message
    assert answer([message]) == NOTHING


@pytest.mark.processor(20)
@pytest.mark.parametrize(
    "text", [long(" ") + ".", base64.b64encode(b"%PDF-1.7" + long("/ObjStm stream\n").encode()).decode()]
)
def test_what_may_be_a_file(text: str) -> None:
    tokens, rest = without_files({"data": text}, estimate)
    assert tokens or rest == {"data": text}
