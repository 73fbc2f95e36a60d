"""Several people at once."""

from __future__ import annotations

import pytest

from recollect.flow.facts import extract

from .scores import SAID


@pytest.mark.parametrize(
    "text",
    [
        "I have two kids: Lena is 8 and Max is 5.",
        "I have two kids, Lena (8) and Max (5).",
        "My kids Lena, 8, and Max, five years old, are loud.",
    ],
)
def test_several_are_told_with_their_age(text: str) -> None:
    assert [found.value for found in extract(text, SAID)] == ["Lena", "8", "Max", "5"]
