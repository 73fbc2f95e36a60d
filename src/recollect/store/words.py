"""Text as the words it is found by: the same for every backend, so that all of them find the same things."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Final

from recollect.recent import remembered
from recollect.store.stem import stem

VERSION: Final = 2
"""Raised whenever `words` gives other words for some text: keyword indexes made before are then rebuilt."""

MAX_QUERY: Final = 64
KEPT, MAX_KEPT = 256, 10_000
"""How many questions are remembered with their words, and the most characters of such a question."""

_COMMON: Final = """
a about after again all also am an and any are aren as at be because been before being both but by can cannot
could couldn d did didn do does doesn doing don down each else ever few for from further get go going got had hadn has
hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself just know
let like ll m made make many may me might more most much must my myself no nor not now of off oh ok on once one
only or other our ours out over own re really s said same say see shall she should shouldn so some something still such
t tell than that the their theirs them themselves then there these they thing think this those through to told too under
until up us ve very want was wasn we well were weren what when where which while who whom why will with won
would wouldn yeah yes yet you your yours yourself
"""
COMMON: Final = frozenset(_COMMON.split())

_ASCII_WORDS: Final = bytes(byte if chr(byte) in "abcdefghijklmnopqrstuvwxyz0123456789" else 32 for byte in range(256))
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SYMBOL: Final = "\u203c\u2049\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"


def words(text: str) -> list[str]:
    """The words of a text in order: lower case, no accents, stemmed; scripts without spaces by character and pair."""
    return list(map(stem, split(text)))


def split(text: str) -> Iterable[str]:
    """The words of a text before they are stemmed."""
    return _split(text, singles=True)


def query_words(text: str) -> tuple[str, ...]:
    """The words to search for, each once: without the commonest, unless there are no others."""
    return _query_words(text) if len(text) <= MAX_KEPT else _query_words.__wrapped__(text)


@remembered(KEPT)
def _query_words(text: str) -> tuple[str, ...]:
    found = list(dict.fromkeys(_split(text, singles=False)))
    usual = _common(found)
    telling = [word for word in found if word not in usual and word.strip(_says_nothing())] or found
    stems = list(dict.fromkeys(map(stem, telling)))
    return tuple(stems if len(stems) <= MAX_QUERY else sorted(stems, key=len, reverse=True)[:MAX_QUERY])


def is_foreign(text: str) -> bool:
    """Whether the common words of a text are of another language than English."""
    return common_words(text) is not COMMON


def common_words(text: str) -> frozenset[str]:
    """The commonest words of English and, where a text is in another language, of that one."""
    return _common(list(dict.fromkeys(_split(text, singles=False))))


def _common(found: Collection[str]) -> frozenset[str]:
    """The commonest words of English and, where a text has two or more of another language, of that one.

    It must have far more of those than of English alone: "Kim and Ben" has two of Turkish, and tells of two people.
    """
    if _not_english().isdisjoint(found):
        return COMMON
    best = max(_languages(), key=lambda one: len(one.intersection(found)))
    own, english = best.difference(COMMON).intersection(found), COMMON.difference(best).intersection(found)
    return COMMON | best if len(own) > max(1, 2 * len(english)) else COMMON


@cache
def _languages() -> tuple[frozenset[str], ...]:
    return tuple(frozenset(_split(one.partition(":")[2], singles=True)) for one in _commonest().split("\n\n"))


@cache
def _commonest() -> str:
    return Path(__file__).with_name("commonest.txt").read_text("utf-8")


@cache
def _not_english() -> frozenset[str]:
    return frozenset[str]().union(*_languages()) - COMMON


@cache
def _says_nothing() -> str:
    """The Chinese characters that are common words by themselves."""
    return "".join(sorted(set(re.findall(f"(?<!\\S)[{_HAN}](?!\\S)", _commonest()))))


def _split(text: str, singles: bool) -> Iterable[str]:
    if text.isascii():
        return text.lower().encode().translate(_ASCII_WORDS).decode().split()
    return _split_unicode(text, singles)


def _split_unicode(text: str, singles: bool) -> Iterable[str]:
    """The words of a text that is not all ASCII: the slow rules for Unicode read only those pieces that need them."""
    found: list[str] = []
    for is_ascii, parts in groupby(text.split(), str.isascii):
        found += (_split if is_ascii else _split_folded)(" ".join(parts), singles)
    return found


def _split_folded(text: str, singles: bool) -> Iterable[str]:
    folded = _folded(text).replace("_", " ")
    found: list[str] = _word(_marks(folded)).findall(folded)
    return found if "".join(found).isascii() else _pieces(found, singles)


def _pieces(found: Iterable[str], singles: bool) -> Iterator[str]:
    """Words; those of scripts without spaces as characters and pairs of them."""
    for word in found:
        if word.isascii():
            yield word
            continue
        for run in _runs().findall(word):
            if len(run) == 1 or not _unspaced().match(run):
                yield run
                continue
            yield from run if singles else _alone().findall(run)
            yield from (run[i : i + 2] for i in range(len(run) - 1))


def _folded(text: str) -> str:
    plain = _accents().sub("", unicodedata.normalize("NFKD", text.casefold()))
    return unicodedata.normalize("NFC", plain).lower()


@cache
def _accents() -> re.Pattern[str]:
    return re.compile(f"[{''.join(char for char in map(chr, range(0x900)) if unicodedata.combining(char))}]+")


def _marks(text: str) -> str:
    """The marks in a text that belong to words, as vowels do in many scripts."""
    return "".join(sorted(char for char in set(text) if char >= "\u0900" and unicodedata.category(char)[0] == "M"))


@lru_cache
def _word(marks: str) -> re.Pattern[str]:
    return re.compile(f"[\\w{re.escape(marks)}]+|[{_SYMBOL}]")


@cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}]")


@cache
def _alone() -> re.Pattern[str]:
    """A Chinese character with none beside it but such as say nothing: most often a word of its own."""
    other = f"(?![{_says_nothing()}])[{_HAN}]"
    return re.compile(f"(?<!{other}){other}(?!{other})")


@cache
def _runs() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
