"""Files that become documents: text, Markdown, HTML and PDF, and those that can't."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect.errors import ConfigError, MissingExtra
from recollect.layers import files
from recollect.layers.documents import Documents
from recollect.store import Store
from recollect.tokens import estimate
from tests.layers.guide import ADA, FILL


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.md", b"# Codes\n\nThe door code is 4417."),
        ("a.txt", "\ufeffThe door code is 4417.".encode()),
        ("a.txt", "The door code is 4417.".encode("utf-16")),
        ("a.html", b"<h1>Codes</h1><p>The door code is <b>4417</b>.<script>no()</script>"),
    ],
)
def test_files_are_read_by_what_they_are(store: Store, tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    documents = Documents(store, estimate)
    added = documents.add(ADA, path, at=datetime(2024, 5, 1, tzinfo=UTC))
    assert added.name == path.as_posix()
    assert added.at == datetime(2024, 5, 1, tzinfo=UTC)
    (found,) = documents.search(ADA, "door code")
    assert "The door code is 4417." in found.text
    assert found.at == datetime(2024, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ('<meta charset="windows-1252">', "cp1252"),
        ("<META http-equiv='Content-Type' content='text/html; charset=iso-8859-1'>", "cp1252"),
        ('<?xml version="1.0" encoding="ISO-8859-2"?>', "iso-8859-2"),
        ('<meta charset="koi8-r">', "utf-8"),
    ],
)
def test_a_page_that_is_not_utf_8_is_read_as_it_says_it_is_written(tmp_path: Path, head: str, encoding: str) -> None:
    path = tmp_path / "a.html"
    path.write_bytes(f"{head}<p>Grüße</p>".encode(encoding))
    assert files.read(path) == "Grüße"


@pytest.mark.parametrize(
    ("named", "used", "words"),
    [
        ("latin1", "cp1252", "“Grüße”"),
        ("us-ascii", "cp1252", "Grüße"),
        ("gb2312", "gbk", "朱镕基"),
        ("Shift_JIS", "cp932", "①髙島屋"),
        ("euc-kr", "cp949", "똠방각하"),
    ],
)
def test_a_page_may_use_more_than_the_encoding_that_it_names(tmp_path: Path, named: str, used: str, words: str) -> None:
    path = tmp_path / "a.html"
    path.write_bytes(f"<meta charset={named}><p>{words}</p>".encode(used))
    assert files.read(path) == words


@pytest.mark.parametrize("head", ["", *(f"<meta charset={name}>" for name in ("klingon", "utf-8", "hex", "utf-16"))])
def test_a_page_that_does_not_say_how_it_is_written_is_refused(tmp_path: Path, head: str) -> None:
    path = tmp_path / "a.html"
    path.write_bytes(f"{' ' * (len(head) % 2)}{head}<p>Grüße</p>".encode("cp1252"))
    with pytest.raises(ConfigError, match="not UTF-8"):
        files.read(path)


def pdf(*pages: str) -> bytes:
    """A small PDF with a line of text a page."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else ""
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"
            f" /Contents {5 + 2 * n} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, places = b"%PDF-1.4\n", []
    for n, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{n} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode()


def test_a_pdf_is_quoted_by_its_page(store: Store, tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    path = tmp_path / "manual.pdf"
    path.write_bytes(pdf(FILL.replace("(", "") * 5, "The door code is 4417. " + FILL * 5))
    documents = Documents(store, estimate)
    documents.add(ADA, path, name="manual.pdf")
    found = documents.search(ADA, "What is the door code?")[0]
    assert found.origin == "document manual.pdf \u203a page 2"
    assert "The door code is 4417." in found.text


def test_a_pdf_that_cannot_be_read_says_why_and_what_to_do(store: Store, tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    documents, path = Documents(store, estimate), tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.4\nnothing")
    with pytest.raises(ConfigError, match=r"a\.pdf can't be read as a PDF"):
        documents.add(ADA, path)
    path.write_bytes(pdf(""))
    with pytest.raises(ConfigError, match="only pictures"):
        documents.add(ADA, path)
    path.write_bytes(pdf("The door code is 4417."))
    locked = pypdf.PdfWriter(clone_from=path)
    locked.encrypt("secret", algorithm="RC4-128")
    locked.write(path)
    with pytest.raises(ConfigError, match="password"):
        documents.add(ADA, path)
    assert documents.list(ADA) == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"ab\x00cd", "not a text file"),
        (b"caf\xe9", "UTF-8"),
        (None, "can't be read"),
    ],
)
def test_a_file_that_is_no_text_is_refused(store: Store, tmp_path: Path, content: bytes | None, problem: str) -> None:
    path = tmp_path / "a.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=problem):
        Documents(store, estimate).add(ADA, path)


def test_without_the_package_for_pdfs_the_error_has_the_command(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf("The door code is 4417."))
    with pytest.raises(MissingExtra, match=r"^reading a PDF .*pip install 'pypdf>="):
        Documents(store, estimate).add(ADA, path)


def test_an_encrypted_pdf_says_what_reading_it_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pypdf import PdfReader, PdfWriter
    from pypdf.errors import DependencyError

    def lacks(*_: object) -> None:
        raise DependencyError("cryptography>=3.1 is required for AES algorithm")

    monkeypatch.setattr(PdfReader, "decrypt", lacks)
    path = tmp_path / "a.pdf"
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("", "owner", algorithm="RC4-128")
    writer.write(path)
    with pytest.raises(ConfigError, match="pip install cryptography"):
        files.read(path)


def _pdf_of(kids: bytes, drawn: bytes, *parts: bytes) -> bytes:
    """A PDF whose pages, `kids`, all draw the same; its parts are the objects 5 and up."""
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>" % (kids.count(b"R"), kids),
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</XObject<</A 5 0 R>>>>>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(drawn), drawn),
        *parts,
    )
    told, places = b"%PDF-1.4\n", list[bytes]()
    for number, one in enumerate(objects, 1):
        places.append(b"%010d 00000 n \n" % len(told))
        told += b"%d 0 obj%sendobj\n" % (number, one)
    size = len(objects) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n" % size + b"".join(places)
    end = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (size, len(told))
    return told + table + end


def _form(drawn: bytes, inner: bytes) -> bytes:
    head = b"<</Type/XObject/Subtype/Form/Resources<</XObject<</A %s>>>>/Length %d>>" % (inner, len(drawn))
    return head + b"stream\n" + drawn + b"\nendstream"


@pytest.mark.parametrize(
    "bomb",
    [
        _pdf_of(b"3 0 R " * 50_000, b"BT (a) Tj ET " * 100),
        _pdf_of(b"3 0 R", b"/A Do " * 8, *(_form(b"/A Do " * 8, b"%d 0 R" % n) for n in range(6, 26)), _form(b"", b"")),
    ],
    ids=["pages", "parts"],
)
def test_a_small_pdf_that_takes_days_to_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bomb: bytes
) -> None:
    pytest.importorskip("pypdf")
    monkeypatch.setattr(files, "PDF_SECONDS", 0.05)
    path = tmp_path / "bomb.pdf"
    path.write_bytes(bomb)
    with pytest.raises(ConfigError, match="it takes too long"):
        files.read(path)
