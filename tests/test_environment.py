"""A variable that nothing reads is not passed over in silence where its name is close to one of ours."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.environment import KNOWN, misspelt
from recollect.server.options import Options
from recollect.settings import Settings


def test_every_variable_that_is_read_is_known() -> None:
    read = {*Options.model_fields, *(setting.name for setting in dataclasses.fields(Settings))}
    assert {name.upper() for name in read} <= KNOWN
    assert misspelt(f"RECOLLECT_{name}" for name in KNOWN) == []


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("RECOLLECT_STOR", "RECOLLECT_STORE"),
        ("RECOLLECT_CONTEXT_BUGDET", "RECOLLECT_CONTEXT_BUDGET or RECOLLECT_ALERT_BUDGET"),
        ("RECOLLECT_BUDGET", "RECOLLECT_ALERT_BUDGET or RECOLLECT_CONTEXT_BUDGET"),
        ("recollect_modle", "RECOLLECT_MODEL"),
        ("RECOLLECT_DATADIR", "RECOLLECT_DATA_DIR"),
    ],
)
def test_the_one_that_is_meant_is_named(written: str, meant: str) -> None:
    assert misspelt(["PATH", written]) == [f"nothing reads {written}: is {meant} meant?"]


@given(st.lists(st.text()))
def test_what_is_not_ours_is_left_alone(names: list[str]) -> None:
    assert misspelt(name for name in names if not name.upper().startswith("RECOLLECT_")) == []
    assert misspelt(["RECOLLECT_SHARED", "RECOLLECT_", "recollect_store"]) == []


def test_an_empty_variable_of_a_service_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STORE", "MODEL", "EMBEDDER", "MAX_BODY"):
        monkeypatch.setenv(f"RECOLLECT_{name}", "")
    assert Options.read() == Options.model_construct()
