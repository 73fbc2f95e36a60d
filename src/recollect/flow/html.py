"""A web page as text: its words, headings marked as in Markdown; scripts, menus and footers left out."""

from __future__ import annotations

import html
import re
from typing import Final

_SILENT: Final = frozenset({"script", "style", "noscript", "template", "svg", "title"})
_BESIDE: Final = frozenset({"nav", "aside", "footer"})
"""What stands beside the text of a page; in an article, an aside and a footer are part of it."""
_TEXT: Final = frozenset({"main", "article"})
_TEXT_BLOCKS: Final = """
address article aside blockquote body br dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6
header hr li main nav ol p pre section summary table tbody thead tr ul
"""
_BLOCKS: Final = frozenset(_TEXT_BLOCKS.split())
_MARKS: Final = {"li": "- ", **{f"h{n}": f"{'#' * n} " for n in range(1, 7)}}
_CELLS: Final = frozenset({"td", "th"})
_NEXT_CELL: Final = " | "
_LIKE_A_HEADING: Final = re.compile(r"^(?=#{1,6}[ \t])", re.MULTILINE)
"""A comment in code; a blank in front of it, and it is no heading of Markdown."""
_BLANKS: Final = re.compile(r"[ \t\r\n\f\v]+")
_TOKEN: Final = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(?P<end>/?)(?P<tag>[a-z][^\s/>]*)(?:[^>=]|=\s*+(?:\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z))?)*+(?:>|\Z)"
    r"|<[!?/][^>]*(?:>|\Z)"
    r"|(?P<text>(?:[^<]|<(?![a-z!?/]))++)",
    re.DOTALL | re.IGNORECASE,
)
"""The parts of a page. What is not closed goes on to the end, so that the time grows with the length of a page only."""
_UNREAD: Final = {name: re.compile(rf"(?=</{name}\b)|\Z", re.IGNORECASE) for name in ("script", "style")}
"""Where the content of an element ends that holds no tags."""
_NO_CHARACTER: Final = re.compile(r"&#(?:0*[1-9]\d{7,}|x0*[1-9a-f][\da-f]{6,});?", re.IGNORECASE)


def html_text(page: str) -> str:
    """The words of a page as people read them, a block a paragraph; menus and footers only if there is nothing else."""
    return _read(page, _BESIDE) or _read(page, frozenset())


def _read(page: str, beside: frozenset[str]) -> str:
    reader, at = _Reader(beside), 0
    while found := _TOKEN.match(page, at):
        at = found.end()
        tag = (found["tag"] or "").lower()
        if found["text"]:
            reader.say(html.unescape(_NO_CHARACTER.sub("\ufffd", found["text"])))
        elif found["end"]:
            reader.end(tag)
        elif tag:
            reader.start(tag)
            if page.endswith("/>", 0, at):
                reader.end(tag)
            elif (closed := _UNREAD.get(tag)) and (rest := closed.search(page, at)):
                at = rest.end()
    return reader.text()


class _Reader:
    def __init__(self, beside: frozenset[str]) -> None:
        self._beside, self._in_text = beside, 0
        self._blocks: list[list[str]] = [[]]
        self._silent: list[str] = []
        self._kept = 0

    def text(self) -> str:
        joined = ["".join(block) for block in self._blocks]
        blocks = [block if "\n" in block or block.startswith(" #") else block.strip() for block in joined]
        return "\n\n".join(block for block in blocks if block.strip(" -#|\n"))

    def start(self, tag: str) -> None:
        if tag == "main":
            self._silent = [silent for silent in self._silent if silent not in self._beside]
        self._in_text += tag in _TEXT
        stands_beside = tag in self._beside and (tag == "nav" or not self._in_text)
        if tag in _SILENT or stands_beside:
            self._silent += [tag] if tag not in self._silent else []
        elif tag in _BLOCKS:
            self._kept += tag == "pre"
            self._blocks.append([_MARKS[tag]] if tag in _MARKS else [])
        elif tag in _CELLS:
            row = self._blocks[-1]
            row[-1:] = [said if said == _NEXT_CELL else said.rstrip() for said in row[-1:]]
            row.append(_NEXT_CELL if row else "")  # an empty cell counts, too

    def end(self, tag: str) -> None:
        self._in_text -= tag in _TEXT and self._in_text > 0
        if tag in self._silent:
            del self._silent[self._silent.index(tag) :]
        elif tag in _BLOCKS:
            self._kept -= tag == "pre" and self._kept > 0
            self._blocks.append([])

    def say(self, words: str) -> None:
        if self._silent:
            return
        block = self._blocks[-1]
        if self._kept:
            words = _LIKE_A_HEADING.sub(" ", words)
        else:
            words = _BLANKS.sub(" ", words)
            words = words.lstrip() if not any(block[-1:]) or block[-1].endswith(" ") else words
        if words:
            block.append(words)
