"""Files as text: Markdown and plain text unchanged, web pages and PDFs reduced to their words."""

from __future__ import annotations

import codecs
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from recollect.errors import ConfigError, MissingExtra
from recollect.flow.html import html_text

if TYPE_CHECKING:
    from pypdf import PageObject

NEW_PAGE: Final = "\f"
WEB: Final = (".html", ".htm", ".xhtml")
ENDINGS: Final = (".md", ".markdown", ".txt", ".pdf", *WEB)
_DECLARED: Final = re.compile(rb"<(?:meta|\?xml)\b[^>]*?\b(?:charset|encoding)\s*=\s*[\"']?\s*([\w-]+)", re.IGNORECASE)
LOOKED_AT: Final = 4_096
"""How many bytes at the beginning of a web page are searched for its encoding."""
PDF_SECONDS: Final = 30.0
"""The most seconds of the processor's time that reading a PDF may take, and again for each megabyte of it.

A few kilobytes can name the same page, or the same part of one, a million times.
"""
_READ_AS: Final = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "gb2312": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949",
    "utf-16": "utf-8",
}  # fmt: skip
"""What browsers read these encodings as: pages often name an older one than they use, and one whose declaration could
be read as ASCII is not really UTF-16."""


def read(path: Path) -> str:
    """The text of a file, whatever its kind; raises ConfigError, which says what to do, if it can't be read."""
    try:
        kept = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: no name that a file can have
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"{str(path)!r} can't be read ({why}): give the path of a single, readable file") from error
    if path.suffix.lower() == ".pdf" or kept.startswith(b"%PDF-"):
        return _pdf(path)
    text = _decoded(path, kept)
    return html_text(text) if path.suffix.lower() in WEB else text


def _decoded(path: Path, kept: bytes) -> str:
    encoding = "utf-16" if kept.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = kept.decode(encoding)
    except UnicodeDecodeError as error:
        text = _as_declared(kept) if path.suffix.lower() in WEB else ""
        if not text:
            why = f"{path} is not UTF-8 text ({error.reason})"
            raise ConfigError(f"{why}: save it as UTF-8, or give its text instead") from error
    if "\x00" in text:
        raise ConfigError(f"{path} is not a text file: give Markdown, plain text, HTML or PDF, or the text itself")
    return text


def _as_declared(kept: bytes) -> str:
    """A web page decoded as it declares; empty if it declares no encoding that fits."""
    found = _DECLARED.search(kept, 0, LOOKED_AT)
    name = found[1].decode("ascii", "replace").lower() if found else ""
    try:
        known = codecs.lookup(name).name
        return kept.decode(_READ_AS.get(known, known))
    except (LookupError, ValueError):
        return ""


def _pdf(path: Path) -> str:
    """The text of a PDF, with a form feed between pages."""
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError
    except ImportError as error:
        raise MissingExtra("pypdf", "pdf", "reading a PDF") from error
    until = time.thread_time() + PDF_SECONDS * (1 + path.stat().st_size / 1_000_000)

    def check_time(*_: object) -> None:
        if time.thread_time() > until:
            raise TimeoutError("it takes too long")

    def words(page: PageObject) -> str:
        check_time()
        return page.extract_text(visitor_operand_before=check_time)

    try:
        reader = PdfReader(path)
        locked = reader.is_encrypted and not reader.decrypt("")
        text = "" if locked else NEW_PAGE.join(f"{words(page)}\n" for page in reader.pages)
    except DependencyError as error:  # pypdf leaves it to others to decrypt
        what = f"{path} is encrypted, and reading it takes one more package ({error})"
        raise ConfigError(f"{what}: pip install cryptography, or save the file without encryption") from error
    except Exception as error:  # a broken file makes pypdf raise anything
        raise ConfigError(f"{path} can't be read as a PDF ({error}): repair it, or give its text instead") from error
    if locked:
        raise ConfigError(f"{path} is locked with a password: save it without one, or give its text instead")
    if not text.strip():
        raise ConfigError(f"{path} holds no text, only pictures: run text recognition (OCR) on it, or give its text")
    return text.replace("\x00", "\ufffd")
