"""Settings: defaults, four places in order of precedence, and errors that name key and place."""

from __future__ import annotations

import dataclasses
import inspect
import os
import pickle
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from recollect.errors import ConfigError, MissingExtra
from recollect.settings import Settings, load
from tests.wrong import wrong


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.upper().startswith("RECOLLECT_")]:
        monkeypatch.delenv(name)
    return tmp_path


def write(text: str, name: str = "providers.yaml") -> None:
    Path(name).write_text(text, "utf-8")


def test_settings_tell_what_is_not_the_default() -> None:
    assert repr(Settings()) == "Settings()"
    told = repr(Settings(context_budget=9_000, layout="memory-first"))
    assert told == "Settings(context_budget=9000, layout='memory-first')"


def test_without_any_place_the_defaults_hold() -> None:
    assert load() == Settings()
    assert load().limit == ("tokens", 8000)


@pytest.mark.parametrize(
    "section, limit",
    [
        ("context_budget: 9000", ("tokens", 9000)),
        ("conversation_window: 5", ("messages", 5)),
        ("{context_budget: 9000, conversation_window: 5}", ("tokens", 9000)),
        ("{context_budget: 8000, conversation_window: 5}", ("tokens", 8000)),
        ("{}", ("tokens", 8000)),
        ("", ("tokens", 8000)),
    ],
)
def test_the_file_gives_a_budget_or_a_window_and_the_budget_wins(section: str, limit: tuple[str, int]) -> None:
    write(f"agent:\n  {section}\n")
    assert load().limit == limit


def test_other_sections_belong_to_other_programs() -> None:
    write("providers: [1, 2]\nagent: {context_budget: 5}\n")
    assert load().context_budget == 5


@pytest.mark.parametrize("content", ["", "# nothing\n", "providers: {}\n"])
def test_a_file_without_the_section_changes_nothing(content: str) -> None:
    write(content)
    assert load() == Settings()


def test_settings_outside_the_section_are_refused() -> None:
    write("providers: {}\nContext_Budget: 5\nmin_turns: 2\n")
    with pytest.raises(ConfigError, match=r"yaml: Context_Budget, min_turns must be .*: indent them below `agent:`"):
        load()


@pytest.mark.parametrize("name", ["RECOLLECT_CHUNK_TOKENS", "RAG_CHUNK_SIZE", "EMBEDDINGS_DEVICE"])
def test_an_empty_variable_is_none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write("agent: {chunk_tokens: 200}\n")
    write(f"{name}=\n", ".env")
    assert load().chunk_tokens == 200
    monkeypatch.setenv(name, "")
    assert load() == Settings(chunk_tokens=200)


def test_arguments_win_over_environment_over_dotenv_over_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write("agent: {context_budget: 1, min_turns: 1, min_messages: 1, low_water: 0.1}\n")
    write("RECOLLECT_MIN_TURNS=2\nRECOLLECT_MIN_MESSAGES=2\nRECOLLECT_LOW_WATER=0.2\nOTHER=x\n", ".env")
    monkeypatch.setenv("RECOLLECT_MIN_MESSAGES", "3")
    monkeypatch.setenv("RECOLLECT_LOW_WATER", "0.3")
    got = load(low_water=0.4)
    assert (got.context_budget, got.min_turns, got.min_messages, got.low_water) == (1, 2, 3, 0.4)


def test_who_has_pydantic_settings_without_yaml_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    write("agent: {context_budget: 7}\n")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtra, match=r"providers\.yaml needs 'pyyaml'.*pip install 'pydantic-settings\[yaml\]>="):
        load()


def test_a_named_file_is_read_and_must_exist(folder: Path) -> None:
    write("agent: {context_budget: 7}\n", "other.yaml")
    assert load(folder / "other.yaml").context_budget == 7
    with pytest.raises(ConfigError, match=r"none\.yaml can't be read"):
        load("none.yaml")


@pytest.mark.parametrize(
    "section, said",
    [
        ("context_budget: many", "providers.yaml, section agent: context_budget is 'many'"),
        ("context_budget: 0", "context_budget is 0: .*greater than 0"),
        ("context_budget: -8000", "context_budget is -8000"),
        ("context_budget: 1.5", "context_budget is 1.5"),
        ("context_budget: yes", "context_budget is True: yes or no"),
        ("context_budget: [1]", r"context_budget is \[1\]"),
        ("conversation_window: 0", "conversation_window is 0"),
        ("low_water: 1.1", "low_water is 1.1"),
        ("low_water: .nan", "low_water is nan"),
        ("min_turns: -1", "min_turns is -1"),
        ("counter: ''", "counter is ''"),
        ("context_bugdet: 5", "section agent: no setting 'context_bugdet': perhaps 'context_budget' is meant$"),
        ("RAG_FINAL_TOP_K: many", "section agent: RAG_FINAL_TOP_K is 'many': it must be a valid integer$"),
        ("CONTEXT: 5", "no setting 'CONTEXT': perhaps 'context_budget' is meant$"),
        ("speed: 5", "no setting 'speed': there are context_budget, conversation_window, "),
        ("5", "section agent: expected names with values, got 5"),
        ("[a]", r"section agent: expected names with values, got \['a'\]"),
        ("{1: 2}", "section agent: expected names with values"),
    ],
)
def test_a_wrong_value_is_refused_with_its_key_and_file(section: str, said: str) -> None:
    write(f"agent:\n  {section}\n")
    with pytest.raises(ConfigError, match=said):
        load()


@pytest.mark.parametrize(
    "content",
    [
        b"agent: [",
        b"\0",
        b"\xff\xfe\xfa",
        b"- 5",
        b"just words",
        b"agent: " + b"[" * 2_000,
        b"agent: {context_budget: %b}" % (b"9" * 5_000),
        b"agent: {context_budget: !!int ''}",
        b"agent: {context_budget: !!bool maybe}",
        b"agent: {context_budget: !!timestamp soon}",
    ],
    ids=lambda content: content[:12],
)
def test_a_file_that_is_not_a_mapping_is_refused_by_name(content: bytes) -> None:
    Path("providers.yaml").write_bytes(content)
    with pytest.raises(ConfigError, match=r"providers\.yaml"):
        load()


def test_every_problem_is_told_at_once() -> None:
    write("agent: {context_budget: x, min_turns: y}\n")
    with pytest.raises(ConfigError, match=r"context_budget.*min_turns"):
        load()


def test_what_is_no_number_and_what_is_out_of_bounds_are_told_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    write("agent: {context_budget: x, facts_share: 2}\n")
    monkeypatch.setenv("RECOLLECT_MIN_TURNS", "0")
    with pytest.raises(ConfigError) as told:
        load(speed=3)
    said = str(told.value).split("; ")
    assert said[0] == "providers.yaml, section agent: context_budget is 'x': it must be a valid integer"
    assert said[1] == "providers.yaml, section agent: facts_share is 2: it must be at most 1"
    assert said[2] == "the environment: RECOLLECT_MIN_TURNS is '0': it must be at least 1"
    assert said[3].startswith("the arguments: no setting 'speed'")


def test_the_place_of_a_wrong_value_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    write("RECOLLECT_MIN_TURNS=x\n", ".env")
    with pytest.raises(ConfigError, match=r"^\.env: RECOLLECT_MIN_TURNS is 'x'"):
        load()
    monkeypatch.setenv("RECOLLECT_MIN_TURNS", "y")
    with pytest.raises(ConfigError, match=r"^the environment: RECOLLECT_MIN_TURNS is 'y'"):
        load()
    with pytest.raises(ConfigError, match=r"^the arguments: min_turns is 'z'"):
        load(min_turns="z")
    with pytest.raises(ConfigError, match=r"^the arguments: no setting 'speed'"):
        load(min_turns=1, speed=3)


def test_the_places_of_numbers_that_do_not_fit_together_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    write("agent: {chunk_tokens: 60}")
    with pytest.raises(ConfigError, match=r"^providers.yaml, section agent: chunk_overlap is 50.* which is 60"):
        load()
    monkeypatch.setenv("RAG_CHUNK_OVERLAP", "40")
    with pytest.raises(
        ConfigError, match=r"^providers.yaml, section agent and the environment: RAG_CHUNK_OVERLAP is 40"
    ):
        load()
    monkeypatch.setenv("RECOLLECT_CHUNK_TOKENS", "70")
    with pytest.raises(
        ConfigError, match=r"^the environment: RAG_CHUNK_OVERLAP .* of RECOLLECT_CHUNK_TOKENS, which is 70"
    ):
        load()


def test_capitals_do_not_matter_in_a_name() -> None:
    write("agent: {CONTEXT_BUDGET: 5000, Rag_Chunk_Size: 200}")
    assert (load().context_budget, load().chunk_tokens) == (5000, 200)


def test_a_dotenv_that_is_not_text_is_refused_by_name() -> None:
    Path(".env").write_bytes(b"RECOLLECT_COUNTER=\xff\xfe\n")
    with pytest.raises(ConfigError, match=r"\.env can't be read"):
        load()


def test_settings_can_not_be_changed() -> None:
    settings: Any = load()
    with pytest.raises(AttributeError):
        settings.min_turns = 9


def test_the_documented_table_is_complete_and_true() -> None:
    page = (Path(__file__).parent.parent / "docs" / "settings.md").read_text("utf-8")
    assert table() in page, f"put this between the settings marks of docs/settings.md:\n{table()}"


def table() -> str:
    rows = ["| setting | default | environment besides `RECOLLECT_…` | |", "|---|---|---|---|"]
    for knob in dataclasses.fields(Settings):
        env = f"`{knob.metadata['env']}`" if knob.metadata["env"] else ""
        rows.append(f"| `{knob.name}` | {knob.default} | {env} | {knob.metadata['says']} |")
    return "\n".join(rows)


@pytest.mark.parametrize(
    "name, value, setting",
    [
        ("EMBEDDINGS_DEVICE", "cuda", "embeddings_device"),
        ("RAG_CHUNK_SIZE", "200", "chunk_tokens"),
        ("RAG_CHUNK_OVERLAP", "30", "chunk_overlap"),
        ("RAG_TOP_K_MAX", "4", "documents_search_k"),
        ("RAG_SIMILARITY_THRESHOLD", "0.5", "documents_threshold"),
        ("RAG_RE_RANK_TOP_N", "10", "documents_rerank_n"),
        ("RAG_FINAL_TOP_K", "2", "documents_top_k"),
        ("RAG_PER_TURN_MEMORY_BUDGET_TOKENS", "500", "memory_tokens"),
        ("CONVO_SUMMARY_EVERY_N_MESSAGES", "20", "summary_every_messages"),
        ("CONVO_SUMMARY_MAX_TOKENS", "300", "summary_tokens"),
    ],
)
def test_the_knobs_have_the_names_people_know(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, setting: str
) -> None:
    monkeypatch.setenv(name, value)
    assert str(getattr(load(), setting)) == value
    monkeypatch.setenv(f"RECOLLECT_{setting.upper()}", value)
    assert str(getattr(load(), setting)) == value


def test_none_takes_a_cap_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_EPISODIC_TOKENS", "none")
    assert load().episodic_tokens is None
    monkeypatch.delenv("RECOLLECT_EPISODIC_TOKENS")
    write("agent: {episodic_tokens: none, facts_tokens: null}\n")
    assert (load().episodic_tokens, load().facts_tokens) == (None, None)


def test_a_setting_has_its_other_name_in_every_place(monkeypatch: pytest.MonkeyPatch) -> None:
    write("agent: {RAG_FINAL_TOP_K: 1, documents_search_k: 1}\n")
    assert load().documents_top_k == 1
    assert load(RAG_FINAL_TOP_K=2).documents_top_k == 2
    assert load(documents_top_k=4).documents_top_k == 4
    monkeypatch.setenv("RAG_TOP_K_MAX", "3")
    assert (load().documents_top_k, load().documents_search_k) == (1, 3)


@pytest.mark.parametrize(
    "numbers, said",
    [
        ({"memory_tokens": -1}, "memory_tokens is -1: it must be at least 0"),
        ({"low_water": float("nan")}, "low_water is nan"),
        ({"episodic_recency_weight": 10**400}, "episodic_recency_weight is 10+: that is no value"),
        ({"counter": 5}, "counter is 5: expected text"),
        ({"min_turns": True}, "min_turns is True"),
        ({"layout": "upside-down"}, "layout is 'upside-down'; use tail-first or memory-first"),
        ({"old_messages": "burn"}, "old_messages is 'burn'; use drop or summarise"),
        ({"chunk_tokens": 5}, "chunk_tokens is 5: it must be at least 20"),
        ({"chunk_overlap": 200}, "chunk_overlap is 200"),
        ({"documents_threshold": 1.5}, "documents_threshold is 1.5: it must be at most 1"),
        ({"documents_top_k": -1, "tools_top_k": -1}, "documents_top_k is -1: .*; tools_top_k is -1: "),
        ({"documents_search_k": -1}, "documents_search_k is -1"),
        ({"documents_rerank_n": -1}, "documents_rerank_n is -1"),
        ({"summary_every_messages": 0}, "summary_every_messages is 0: it must be at least 1"),
        ({"summary_tokens": -1}, "summary_tokens is -1"),
        ({"patterns_every_sessions": 2**63}, "patterns_every_sessions is 9223372036854775808: it must be at most 92"),
        ({"tools_days": 0}, "tools_days is 0: it must be greater than 0"),
        ({"tools_days": 10**6}, "tools_days is 1000000: it must be at most 36500"),
        ({"context_bugdet": 5}, "^no setting 'context_bugdet': perhaps 'context_budget' is meant$"),
        ({"budget": 5}, "^no setting 'budget': perhaps 'context_budget' or 'alert_budget' is meant$"),
        (
            {"low_water": 2, "speed": 5},
            "^no setting 'speed': there are context_budget, .*; low_water is 2: it must be ",
        ),
    ],
)
def test_settings_made_by_hand_are_checked_too(numbers: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Settings(**numbers)


def test_what_can_be_set_is_still_told_by_the_signature() -> None:
    assert list(inspect.signature(Settings).parameters) == [one.name for one in dataclasses.fields(Settings)]
    assert dataclasses.replace(Settings(), min_turns=2).min_turns == 2
    assert pickle.loads(pickle.dumps(Settings(min_turns=2))) == Settings(min_turns=2)
    with pytest.raises(TypeError, match="positional"):
        wrong(Settings)(8_000)


def test_the_same_settings_have_the_same_name() -> None:
    assert Settings().hash == Settings().hash != Settings(facts_tokens=1).hash


@pytest.mark.parametrize("said", ["agent: *a", "agent:\n  min_turns: *a"])
def test_a_value_of_billions_of_items_is_told_in_a_line(tmp_path: Path, said: str) -> None:
    names = "abcdefgh"
    lists = [f"{one}: &{one} [{', '.join([f'*{of}'] * 9)}]" for of, one in pairwise(reversed(names))]
    file = tmp_path / "providers.yaml"
    file.write_text("\n".join(["h: &h [x, x, x]", *lists, said]), "utf-8")
    with pytest.raises(ConfigError) as told:
        load(file)
    assert len(str(told.value)) < 2_000
