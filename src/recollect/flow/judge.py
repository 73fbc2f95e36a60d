"""Whether to trust what a model wrote: it must add no name or number, and drop none that it has to keep."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from recollect.answers import FACT_TYPES
from recollect.flow.facts.found import Found

MAX_KEY: Final = 60
CONFIDENCE: Final = 0.8
_NUMBER: Final = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NAME: Final = re.compile(r"(?<![.!?:;\"'(\n] )(?<!^)(?<!\n)(?<!- )\b[A-Z][^\W\d_]+\b", re.MULTILINE)
_WORD: Final = re.compile(r"[^\W_]+")
_NO_KEY: Final = re.compile("[\\x00\\ud800-\\udfff]")
"""Characters that no key in a store can hold."""


def numbers_and_names(text: str) -> set[str]:
    """The numbers and names of a text; a capital at the start of a sentence makes no name."""
    return {*_NUMBER.findall(text), *(name.lower() for name in _NAME.findall(text))}


def unfaithful(summary: str, must_hold: str, sources: str) -> str | None:
    """Why a summary can't be used: how many numbers or names it drops, or brings in; None where it can."""
    if dropped := sorted(numbers_and_names(must_hold) - _words(summary)):
        return f"it drops {len(dropped)} numbers or names"
    if invented := sorted(numbers_and_names(summary) - _words(sources)):
        return f"it brings in {len(invented)} numbers or names"
    return None


def cited(facts: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> list[tuple[int, Found]]:
    """The facts whose quotation stands in the message they cite, each with the number of that message."""
    found = []
    for fact in facts:
        number, quote = int(fact["message"]), fact["quote"].strip()
        if not (0 <= number < len(texts) and quote and fact["type"] in FACT_TYPES):
            continue
        there = re.search(re.escape(quote), texts[number], re.IGNORECASE)
        key, value = " ".join(_NO_KEY.sub(" ", fact["key"]).lower().split())[:MAX_KEY], fact["value"].strip()
        if not there or not key or not value or numbers_and_names(f"it is {value}") - _words(texts[number]):
            continue
        found.append((number, Found(fact["type"], key, value, CONFIDENCE, there.span())))
    return found


def _words(text: str) -> set[str]:
    """Every word and number of a text, in small letters."""
    return {*_WORD.findall(text.lower()), *_NUMBER.findall(text)}
