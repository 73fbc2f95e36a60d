"""Where the settings of the command line come from, and what is said of those that are wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import recollect.store
from recollect.cli.terminal import out
from recollect.embed.hashing import HashingEmbedder
from recollect.layers import summary

from .conftest import Run, parsed


def test_an_empty_variable_of_the_environment_is_none(trip: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RECOLLECT_USER", "RECOLLECT_STORE", "RECOLLECT_SESSION"):
        monkeypatch.setenv(name, "")
    assert len(parsed(trip, "history", "--session", "trip")) == 3


def test_config_tells_an_option_from_its_variable(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_STORE", "mine.db")
    rows = {row["name"]: (row["value"], row["from"]) for row in parsed(run, "config", "--user", "bo")}
    assert rows["store"] == ("mine.db", "the environment")
    assert rows["user"] == ("bo", "given")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ada:geheim@db:5432/memory", "postgresql://ada:***@db:5432/memory"),
        ("postgresql://db/memory?user=ada&password=geheim", "postgresql://db/memory?user=ada&password=***"),
        ("postgresql://ada:a:b/c@db/memory", "postgresql://ada:***@db/memory"),
        ("postgresql://ada@db/memory", "postgresql://ada@db/memory"),
    ],
)
def test_the_password_of_a_store_is_not_shown(run: Run, address: str, shown: str) -> None:
    rows = {row["name"]: row["value"] for row in parsed(run, "config", "--store", address)}
    assert rows["store"] == shown


def test_config_says_where_every_value_came_from(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "providers.yaml").write_text("agent:\n  context_budget: 9000\n  low_water: 0.5\n")
    (home / ".env").write_text("RECOLLECT_LOW_WATER=0.6\nRAG_CHUNK_SIZE=200\n")
    monkeypatch.setenv("RECOLLECT_MIN_TURNS", "2")
    rows = {row["name"]: (row["value"], row["from"]) for row in parsed(run, "config")}
    assert rows["context_budget"] == (9000, "providers.yaml, section agent")
    assert rows["low_water"] == (0.6, ".env")
    assert rows["chunk_tokens"] == (200, ".env")
    assert rows["min_turns"] == (2, "the environment")
    assert rows["min_messages"] == (2, "default")
    assert rows["user"] == ("ada", "default")


def test_config_is_read_at_a_narrow_terminal_without_a_broken_word(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out, "_width", 80)
    shown = run("config").stdout
    words = " ".join(shown.split())
    for row in parsed(run, "config"):
        value = "not set" if row["value"] is None else row["value"]
        assert f"{row['name']}: {value} ({row['from']}) {row['says']}" in words
    told = [line for line in shown.splitlines() if line.startswith(" ")]
    assert all(len(line) <= 80 and line == line.rstrip() for line in told)
    monkeypatch.setattr(out, "_width", 1)
    run("config")


def test_a_setting_that_is_wrong_is_told_in_one_line(trip: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_LOW_WATER", "7")
    for command in (["config"], ["facts"]):
        assert trip(*command, code=1).stderr.startswith("ConfigError: the environment: RECOLLECT_LOW_WATER")


def test_the_default_store_is_in_the_data_folder(run: Run, home: Path) -> None:
    missing = run("facts", code=1).stderr
    assert str(home / "memory.db") in missing and "recollect add" in missing
    run("add", "Hello.")
    assert (home / "memory.db").exists()


def test_the_embedder_is_the_one_that_is_used(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> tuple[str, str]:
        return next((row["value"], row["from"]) for row in parsed(run, "config") if row["name"] == "embedder")

    assert told() == ("none", "keywords alone until: recollect models pull e5-small-v2")
    (home / "models" / "e5-small-v2").mkdir(parents=True)
    assert told() == ("onnx:e5-small-v2", "default")
    monkeypatch.setattr("recollect.embed.names.runs_here", lambda: False)
    assert told() == ("none", "keywords alone until: pip install onnxruntime tokenizers")
    (home / "models" / "e5-small-v2").rmdir()
    both = "pip install onnxruntime tokenizers && recollect models pull e5-small-v2"
    assert told() == ("none", f"keywords alone until: {both}")


def test_documents_that_are_found_by_words_alone_tell_how_to_find_them_by_meaning(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = ("documents", "add", "-", "--name", "a", "--json")
    hint = "by their meaning too, run: recollect models pull e5-small-v2 && recollect reindex\n"
    assert run(*add, said="Tea.").stderr.endswith(hint)
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "none")
    assert run(*add, said="Tea.").stderr == ""


def test_a_model_of_sentence_transformers_runs_where_the_settings_say(
    trip: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def model(name: str, device: str | None) -> HashingEmbedder:
        asked.append((name, device))
        return HashingEmbedder(64)

    monkeypatch.setattr("recollect.embed.sentence_transformers.SentenceTransformersEmbedder", model)
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "sentence-transformers:some/model")
    (home / ".env").write_text("EMBEDDINGS_DEVICE=cuda\n")
    for command in (["search", "sister"], ["reindex"]):
        trip(*command)
        assert asked.pop() == ("some/model", "cuda")


def test_what_reindex_learns_keeps_to_the_settings(run: Run, home: Path) -> None:
    (home / "talk.jsonl").write_text(
        json.dumps([{"role": "user", "content": f"Boat {n} was built by Smith in {1600 + n}."} for n in range(30)])
    )
    run("import", "talk.jsonl")
    (home / ".env").write_text("CONVO_SUMMARY_MAX_TOKENS=50\n")
    with recollect.store.open(str(home / "memory.db")) as store:
        (talk,) = store.log.sessions(recollect.Scope(user="ada"))
        store.jobs.enqueue(talk.scope, [summary.JOB])
    run("reindex")
    with recollect.store.open(str(home / "memory.db")) as store:
        kept = store.records.find(talk.scope, kind="summary")
    assert {record.key.split()[-1] for record in kept} == {"400", "50"}  # the most tokens each may have


@pytest.mark.parametrize("place", ["environment", ".env", "both"])
def test_a_variable_with_a_misspelt_name_is_told_once_on_stderr(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    if place != ".env":
        monkeypatch.setenv("RECOLLECT_CONTEXT_BUGDET", "100")
    if place != "environment":
        (home / ".env").write_text("# RECOLLECT_STOR=x\nOTHER=1\nexport RECOLLECT_CONTEXT_BUGDET = 100\n")
    said = run("config", "--json")
    told = "nothing reads RECOLLECT_CONTEXT_BUGDET: is RECOLLECT_CONTEXT_BUDGET or RECOLLECT_ALERT_BUDGET meant?\n"
    assert said.stderr == told
    assert json.loads(said.stdout)


def test_another_engine_for_vectors_is_the_one_of_the_service(trip: Run, home: Path) -> None:
    (home / ".env").write_text("RECOLLECT_INDEX=nonsense\n")
    told = "ConfigError: index='nonsense': give chroma:///folder or chroma://host:port\n"
    for command in (["doctor"], ["reindex"], ["forget", "--session", "trip", "--yes"]):
        assert trip(*command, code=1).stderr == told
    rows = {row["name"]: (row["value"], row["from"]) for row in parsed(trip, "config")}
    assert rows["index"] == ("nonsense", ".env")
