"""A web page as text: its words, headings marked as in Markdown, scripts and styles left out."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final

_SILENT: Final = frozenset({"script", "style", "noscript", "template", "svg", "title"})
_TEXT_BLOCKS: Final = """
address article aside blockquote body br dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6
header hr li main nav ol p pre section summary table tbody thead tr ul
"""
_BLOCKS: Final = frozenset(_TEXT_BLOCKS.split())
_HEADINGS: Final = {f"h{n}": f"{'#' * n} " for n in range(1, 7)}
_MARKS: Final = {**_HEADINGS, "li": "- "}
_CELLS: Final = frozenset({"td", "th"})
_BLANKS: Final = re.compile(r"[ \t\r\n\f\v]+")


def html_text(page: str) -> str:
    """The words of a page as people read them, a block a paragraph."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.text()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._blocks: list[str] = [""]
        self._silent: list[str] = []
        self._kept = 0

    def text(self) -> str:
        blocks = [block if "\n" in block else block.strip() for block in self._blocks]
        return "\n\n".join(block for block in blocks if block.strip(" -#|\n"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent.append(tag)
        elif tag in _BLOCKS:
            self._kept += tag == "pre"
            self._blocks.append(_MARKS.get(tag, ""))
        elif tag in _CELLS and self._blocks[-1]:
            self._blocks[-1] += " | "

    def handle_endtag(self, tag: str) -> None:
        if tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        elif tag in _BLOCKS:
            self._kept -= tag == "pre" and self._kept > 0
            self._blocks.append("")

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        if self._kept:
            self._blocks[-1] += data
            return
        words = _BLANKS.sub(" ", data)
        joined = self._blocks[-1].endswith(" ") or not self._blocks[-1]
        self._blocks[-1] += words.lstrip() if joined else words
