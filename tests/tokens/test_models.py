"""Windows and budgets by model."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ConfigError
from recollect.tokens import recommended_budget, window_of
from recollect.tokens.models import UNKNOWN_WINDOW, WINDOWS


@pytest.mark.parametrize(
    "model, lowest, highest",
    [
        ("llama3.1 8B", 8_000, 16_000), ("Claude 3.5", 16_000, 32_000), ("GPT-4 Turbo", 8_000, 16_000),
        ("Gemini Pro", 32_000, 10**9),
    ],
)  # fmt: skip
def test_the_rows_of_the_design_document_come_out_in_their_ranges(model: str, lowest: int, highest: int) -> None:
    advice = recommended_budget(model)
    assert advice.known
    assert lowest <= advice.budget <= highest


@pytest.mark.parametrize("model", WINDOWS)
def test_every_model_is_found_and_gets_from_a_tenth_to_a_quarter(model: str) -> None:
    advice = recommended_budget(model)
    assert advice.known
    assert advice.window == WINDOWS[model]
    assert int(advice.window * 0.1) <= advice.budget <= advice.window * 0.25


@pytest.mark.parametrize(
    "model, window",
    [
        ("gpt-4", 8_192), ("gpt-4-0613", 8_192), ("gpt-4o-mini-2024-07-18", 128_000), ("gpt-4.1-nano", 1_047_576),
        ("openai:gpt-5.1", 400_000), ("ft:gpt-4o:acme", 128_000), ("azure/gpt-4-turbo", 128_000), ("o3-mini", 200_000),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 200_000), ("claude-opus-4-1", 200_000),
        ("models/gemini-2.5-flash", 1_048_576), ("gemini-1.5-pro-002", 2_097_152), ("llama3:8b", 8_192),
        ("meta.llama3-1-70b-instruct-v1:0", 131_072), ("meta-llama/Llama-3.3-70B-Instruct", 131_072),
        ("mistral-7b-instruct", 32_768), ("mixtral-8x7b", 32_768), ("qwen2.5:7b", 32_768), ("deepseek-chat", 65_536),
        ("command-r-plus", 128_000), ("phi4", 16_384),
    ],
)  # fmt: skip
def test_a_model_is_found_under_the_names_its_hosts_give_it(model: str, window: int) -> None:
    assert window_of(model) == window


@pytest.mark.parametrize("model", ["my-own-model", "gpt-40", "o1x", "turbo", "☃", "claudette"])
def test_an_unknown_model_gets_a_careful_guess_that_says_so(model: str) -> None:
    advice = recommended_budget(model)
    assert (advice.known, advice.window, advice.budget) == (False, UNKNOWN_WINDOW, 8_000)
    assert window_of(model) is None


@pytest.mark.parametrize("model", ["", "  ", None, 5])
def test_what_is_no_name_is_refused(model: Any) -> None:
    with pytest.raises(ConfigError, match="name of a model must be text"):
        recommended_budget(model)


@given(st.text(min_size=1).filter(str.strip))
def test_any_name_gets_a_budget_within_a_window(model: str) -> None:
    advice = recommended_budget(model)
    assert 0 < advice.budget <= advice.window * 0.25
