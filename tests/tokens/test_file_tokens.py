"""What files cost, in the parts of every provider."""

from __future__ import annotations

import base64
import io
import zlib
from typing import Any

import pytest

from recollect import estimate, parse
from recollect.frozen import freeze_dict
from recollect.tokens import TokenCounter, count_message, files
from recollect.tokens.files import PAGE_TOKENS
from recollect.types import Message, Opaque
from tests.strategies import SHAPES


def pdf(pages: int, padding: int = 0) -> bytes:
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter()
    for _ in range(pages):
        writer.add_blank_page(600, 800)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue() + b"%" + bytes(range(128, 256)) * (padding // 128)


def packed(pages: int) -> bytes:
    """A PDF whose objects are in a stream, as newer writers make them."""
    inside = zlib.compress(b"<</Type /Pages /Count 9>> " + b"<</Type /Page /Parent 1 0 R>> " * pages)
    head = b"%PDF-1.7\n1 0 obj <</Type /ObjStm /N 9 /First 10 /Filter /FlateDecode>>\nstream\n"
    return head + inside + b"\nendstream endobj\n" + bytes(range(128, 256)) * 1_000


def tokens_of(shape: str, content: bytes, media_type: str, name: str) -> int:
    """What a message with the file costs more than one without."""
    data = base64.b64encode(content).decode()
    url, kind = f"data:{media_type};base64,{data}", name.rpartition(".")[2]
    sent: dict[str, Any] = {
        "openai": {"role": "user", "content": [{"type": "file", "file": {"filename": name, "file_data": url}}]},
        "openai-responses": {
            "role": "user", "content": [{"type": "input_file", "filename": name, "file_data": url}],
        },
        "anthropic": {
            "role": "user",
            "content": [{"type": "document", "source": {"type": "base64", "media_type": media_type, "data": data}}],
        },
        "bedrock": {
            "role": "user",
            "content": [{"document": {"format": kind, "name": "paper", "source": {"bytes": content}}}],
        },
        "gemini": {"role": "user", "parts": [{"inlineData": {"mimeType": media_type, "data": data}}]},
    }  # fmt: skip
    (message,) = parse([sent[shape]], shape)
    return count_message(message, estimate) - count_message(Message("user", ""), estimate)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("content", [pdf(3, padding=1_000_000), packed(3)], ids=["plain", "packed"])
def test_a_pdf_costs_by_its_pages(shape: str, content: bytes) -> None:
    tokens = tokens_of(shape, content, "application/pdf", "paper.pdf")
    assert 3 * PAGE_TOKENS <= tokens <= 3 * PAGE_TOKENS + 60


def test_a_pdf_of_packed_nothing_is_not_unpacked_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_MOST_UNPACKED", 10_000)
    bomb = b"%PDF-1.7\n" + b"".join(
        b"<</Type /ObjStm>>\nstream\n" + zlib.compress(b" " * 9_000) + b"\nendstream\n" for _ in range(50)
    )
    assert sum(map(len, files._unpacked(bomb))) == 10_000


@pytest.mark.parametrize("shape", SHAPES)
def test_a_pdf_whose_pages_can_not_be_counted_costs_by_its_size(shape: str) -> None:
    content = b"%PDF-1.7\n" + bytes(range(128, 256)) * 300
    tokens = tokens_of(shape, content, "application/pdf", "paper.pdf")
    assert 2 * PAGE_TOKENS <= tokens <= 2 * PAGE_TOKENS + 60


@pytest.mark.parametrize("shape", SHAPES)
def test_a_file_of_text_costs_what_its_text_does(shape: str) -> None:
    text = "Name,Wohnort\nJürgen,Köln\n" * 500
    tokens = tokens_of(shape, text.encode(), "text/csv", "people.csv")
    assert estimate(text) <= tokens <= estimate(text) + 60


@pytest.mark.parametrize("head", [b"RIFF\x00\x00\x00\x00WAVEfmt ", b"\x00\x00\x00\x20ftypM4A "])
def test_sound_costs_by_its_length(head: bytes) -> None:
    minute = head + bytes(60 * 32_000)
    said = {"type": "input_audio", "input_audio": {"data": base64.b64encode(minute).decode(), "format": "wav"}}
    (message,) = parse([{"role": "user", "content": [said]}], "openai")
    assert 60 * 32 <= count_message(message, estimate) <= 60 * 600


def test_files_in_a_list_cost_what_they_do_elsewhere() -> None:
    data = base64.b64encode(b"%PDF-1.7\n" + bytes(range(128, 256)) * 300).decode()
    source = {"type": "content", "content": [{"type": "document", "data": data}] * 2}
    (message,) = parse([{"role": "user", "content": [{"type": "document", "source": source}]}], "anthropic")
    assert 4 * PAGE_TOKENS <= count_message(message, estimate) <= 4 * PAGE_TOKENS + 100


@pytest.mark.parametrize(
    "content",
    [bytes(range(256)) * 40, b"PK\x03\x04" + bytes(range(256)) * 40, bytes(9_000)],
    ids=["bytes", "zip", "zeros"],
)
def test_a_file_of_another_kind_costs_what_its_base64_does(content: bytes) -> None:
    tokens = tokens_of("anthropic", content, "application/octet-stream", "thing.bin")
    whole = estimate(base64.b64encode(content).decode())
    assert whole <= tokens <= whole + 60


def part(data: str, count: TokenCounter) -> int:
    return count_message(Message("user", (Opaque("anthropic", freeze_dict({"data": data}, "data")),)), count)


def test_a_file_costs_the_same_however_its_base64_is_written() -> None:
    content = b"%PDF-1.7\n" + bytes(range(128, 256)) * 300 + b"."
    plain, in_lines = base64.b64encode(content).decode(), base64.encodebytes(content).decode()
    assert plain.endswith("==") and "+" in plain and "/" in plain
    for written in (plain, in_lines, plain.rstrip("="), base64.urlsafe_b64encode(content).decode()):
        assert 2 * PAGE_TOKENS <= part(written, estimate) <= 2 * PAGE_TOKENS + 60


def test_a_short_text_that_could_be_base64_costs_what_it_says() -> None:
    around = part("", len)
    assert [part("QUFB" * number, len) - around for number in (1, 15, 16)] == [4, 60, 48]
