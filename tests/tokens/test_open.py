"""Counters by name, and counters of one's own."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.errors import ConfigError
from recollect.tokens import counter, estimate
from tests.wrong import wrong


def test_the_default_is_the_estimator() -> None:
    assert counter() is estimate
    assert counter("estimate") is estimate


def test_any_function_from_text_to_a_number_is_a_counter() -> None:
    assert counter(lambda text: len(text.split()))("one two") == 2


@pytest.mark.parametrize("name", ["", "estimates", "tiktoken", "tiktoken:", ":", "http://x", "anthropic:"])
def test_an_unknown_name_is_refused_with_examples(name: str) -> None:
    with pytest.raises(ConfigError, match="tiktoken:gpt-4o"):
        counter(name)


@pytest.mark.parametrize("answer", [-1, 2.0, True, None, "3"])
def test_a_counter_that_does_not_count_is_refused(answer: Any) -> None:
    with pytest.raises(ConfigError, match="whole number"):
        counter(lambda _: answer)


def test_something_that_is_no_function_is_refused() -> None:
    with pytest.raises(ConfigError, match="not 5"):
        counter(wrong(5))
