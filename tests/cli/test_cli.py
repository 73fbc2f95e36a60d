"""The command line does what its help says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from typer.testing import CliRunner, Result

from recollect import Memory, Message
from recollect.cli import main
from recollect.cli.app import app
from recollect.embed import models
from recollect.layers import summary
from recollect.store import Item, Progress
from recollect.store import open as open_store
from recollect.store.sqlite import keywords
from recollect.store.sqlite.change import Change
from recollect.store.values import MEND
from recollect.types import Scope

ADA = Scope("default", "ada", "trip")


@pytest.fixture(autouse=True)
def _no_model_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "none")


@pytest.fixture
def file(tmp_path: Path) -> str:
    file = str(tmp_path / "memory.db")
    with open_store(file) as store:
        store.log.append(ADA, [Message("user", f"remark {n}") for n in range(3)])
    return file


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_doctor_finds_a_sound_store_well(file: str) -> None:
    assert run("doctor", "--store", file).exit_code == 0
    assert json.loads(run("doctor", "--store", file, "--json").stdout) == []


def test_doctor_erases_what_is_damaged_but_messages(file: str) -> None:
    with Memory.open(file, embedder=None) as memory:
        memory.session("trip", user="ada").remember("city", "Oslo")
    with closing(apsw.Connection(file)) as db:
        db.execute("UPDATE record SET body = CAST(replace(body, 'Oslo', 'Osla') AS BLOB) WHERE kind = 'fact'")
        assert db.changes() == 1
    asking = ("context", "Where?", "--store", file, "--user", "ada", "--session", "trip")
    told, refused = run("doctor", file), run(*asking)
    assert (told.exit_code, refused.exit_code) == (1, 1)
    assert json.loads(run("doctor", file, "--json").stdout)[0]["fix"] == MEND
    assert f"recollect doctor --mend --store {file}" in told.stderr.replace("\n", "")
    assert "is damaged" in refused.stderr and "`recollect doctor`" in refused.stderr
    mended = run("doctor", file, "--mend")
    assert (mended.exit_code, mended.stdout) == (0, "All is well.\n")
    assert "the fact 'city' " in mended.stderr and "is damaged (ada): erased" in mended.stderr.replace("\n", " ")
    assert run(*asking).exit_code == 0
    assert len(json.loads(run("history", *asking[2:], "--json").stdout)) == 3


def test_doctor_makes_the_index_anew_once_when_it_mends(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(file) as store:
        store.index.put(ADA.owner, [Item("note", "n1", "fjord")])
    with closing(apsw.Connection(file)) as db:
        db.execute("UPDATE item SET body = CAST(replace(body, 'fjord', 'fjort') AS BLOB)")
    made, rebuild = list[Change](), keywords.rebuild

    def counting(change: Change, progress: Progress | None = None) -> int:
        made.append(change)
        return rebuild(change, progress)

    monkeypatch.setattr(keywords, "rebuild", counting)
    assert run("doctor", file, "--mend").exit_code == 0
    assert len(made) == 1


def test_doctor_says_which_session_has_a_message_that_was_changed(file: str) -> None:
    with closing(apsw.Connection(file)) as db:
        db.execute("UPDATE message SET body = CAST(replace(body, 'remark 1', 'remark 7') AS BLOB)")
    told = run("doctor", file)
    assert told.exit_code == 1
    assert f"session {ADA.session} of {ADA.user}" in " ".join(word for word in told.stdout.split() if word != "│")
    assert (
        run("forget", "--session", str(ADA.session), "--user", str(ADA.user), "--store", file, "--yes").exit_code == 0
    )
    assert run("doctor", file).exit_code == 0


def test_doctor_tells_of_a_store_that_is_not_there(tmp_path: Path) -> None:
    result = run("doctor", "--store", str(tmp_path / "nowhere.db"))
    assert result.exit_code == 1
    assert "--store" in result.stderr
    assert not (tmp_path / "nowhere.db").exists()


def test_doctor_names_the_file_it_was_given_in_what_to_do_next(tmp_path: Path) -> None:
    file = tmp_path / "copy.db"
    for content in (b"no store", b""):
        file.write_bytes(content)
        told = run("doctor", str(file)).stderr.replace("\n", "")
        assert f"recollect restore FILE --store {file}" in told


def test_doctor_finds_no_store_in_an_empty_file_and_begins_none(tmp_path: Path) -> None:
    empty = tmp_path / "memory.db"
    empty.touch()
    result = run("doctor", "--store", str(empty))
    assert result.exit_code == 1
    assert "is empty" in result.stderr and "restore" in result.stderr
    assert empty.read_bytes() == b"" and list(tmp_path.iterdir()) == [empty]
    assert run("add", "Hello.", "--store", str(empty)).exit_code == 0
    assert run("doctor", "--store", str(empty)).exit_code == 0


def test_reindex_counts_what_is_in_the_index(file: str) -> None:
    assert json.loads(run("reindex", "--store", file, "--json").stdout)["items"] == 3


def test_work_that_was_given_up_is_shown_and_done_again(file: str) -> None:
    assert run("jobs", "--store", file).stdout == "Nothing waits, and nothing was given up.\n"
    with open_store(file) as store:
        store.jobs.enqueue(ADA, [summary.JOB])
        store.jobs.fail(store.jobs.claim(worker="w")[0], "ModelUnavailable", retry=False)
    (given_up,) = json.loads(run("jobs", "--store", file, "--json").stdout)
    assert {**given_up, "id": ""} == {
        "id": "",
        "kind": summary.JOB.kind,
        "state": "dead",
        "user": "ada",
        "session": "trip",
        "attempts": 1,
        "error": "ModelUnavailable",
    }
    done = run("jobs", "--revive", "--store", file)
    assert (done.stdout, done.stderr) == ("Nothing waits, and nothing was given up.\n", "Given another try: 1 job.\n")
    assert run("jobs", "--revive", "--store", file).stderr == "Given another try: 0 jobs.\n"


def test_a_backup_brings_everything_back(file: str, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy")
    assert json.loads(run("backup", copy, "--store", file, "--json").stdout) == {"file": copy, "store": file}
    with open_store(file) as store:
        store.log.erase(ADA)
    assert run("restore", copy, "--store", file, "--yes").exit_code == 0
    with open_store(file) as store:
        assert [entry.message.text for entry in store.log.read(ADA)] == ["remark 0", "remark 1", "remark 2"]


@pytest.mark.parametrize("content", [b"no backup", b"", b"SQLite format 3\x00"])
def test_what_is_no_backup_is_refused_and_begins_no_store(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "copy").write_bytes(content)
    refused = run("restore", str(tmp_path / "copy"), "--store", str(tmp_path / "memory.db"), "--yes")
    assert (refused.exit_code, "is no backup" in refused.stderr) == (1, True)
    assert [file.name for file in tmp_path.iterdir()] == ["copy"]
    (tmp_path / "memory.db").touch()
    assert "is no backup" in run("restore", str(tmp_path / "copy"), "--store", str(tmp_path / "memory.db")).stderr
    assert (tmp_path / "memory.db").read_bytes() == b""


def test_a_folder_is_no_backup(file: str, tmp_path: Path) -> None:
    refused = run("restore", str(tmp_path), "--store", file, "--yes")
    assert (refused.exit_code, "directory" in refused.stderr) == (2, True)


def test_restore_asks_first(file: str, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy")
    run("backup", copy, "--store", file)
    result = CliRunner().invoke(app, ["restore", copy, "--store", file], input="n\n")
    assert result.exit_code == 1


@pytest.mark.parametrize("begun", [False, True])
def test_restore_does_not_ask_where_there_is_nothing_to_replace(file: str, tmp_path: Path, begun: bool) -> None:
    copy, new = str(tmp_path / "copy"), str(tmp_path / "new.db")
    run("backup", copy, "--store", file)
    if begun:
        (tmp_path / "new.db").touch()
    assert CliRunner().invoke(app, ["restore", copy, "--store", new], input="").exit_code == 0
    with open_store(new) as store:
        assert len(store.log.read(ADA)) == 3


def test_a_model_nobody_knows_is_an_error_with_the_known_names() -> None:
    result = run("models", "pull", "nothing")
    assert result.exit_code == 1
    assert "e5-small-v2" in result.stderr


def test_models_that_are_pulled_are_one_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "pull", lambda name, _: tmp_path / name)
    pulled = [{"name": name, "folder": str(tmp_path / name)} for name in ("small", "large")]
    assert json.loads(run("models", "pull", "small", "large", "--json").stdout) == pulled
    assert json.loads(run("models", "pull", "small", "--json").stdout) == pulled[:1]


def test_models_are_listed() -> None:
    assert {row["name"] for row in json.loads(run("models", "list", "--json").stdout)} >= {"e5-small-v2"}


def test_every_model_that_is_here_is_listed_as_pulled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_DATA_DIR", str(tmp_path))
    for name, model in models.KNOWN.items():
        models.folder(name).mkdir(parents=True)
        for file in model.files:
            (models.folder(name) / file).touch()
    assert all(row["pulled"] for row in json.loads(run("models", "list", "--json").stdout))
    (models.folder("smollm2-135m") / "SmolLM2-135M-Instruct.Q4_1.gguf").unlink()
    assert [row["name"] for row in json.loads(run("models", "list", "--json").stdout) if not row["pulled"]] == [
        "smollm2-135m"
    ]


def test_who_pulls_the_default_model_is_told_how_old_messages_get_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "pull", lambda name, _: tmp_path / name)
    assert run("models", "pull", "e5-small-v2").stdout.endswith("For those already kept, run: recollect reindex\n")
    assert "reindex" not in run("models", "pull", "smollm2-135m").stdout


@pytest.mark.skipif(os.name == "nt", reason="a shell of Windows closes no stream")
@pytest.mark.parametrize(
    ("command", "status", "told"),
    [
        ("facts --json >&-", 0, ""),
        ("export 2>&- >&-", 0, ""),
        ("add - <&-", 1, "the message is empty"),
        ("chat <&-", 0, ""),
        ("forget --session trip <&-", 1, "there is no terminal to ask at"),
    ],
)
def test_a_stream_that_is_closed_is_an_empty_one(command: str, status: int, told: str, file: str) -> None:
    line = f"exec {sys.executable} -m recollect {command}"
    environment = {**os.environ, "RECOLLECT_STORE": file, "RECOLLECT_USER": "ada"}
    ended = subprocess.run(["sh", "-c", line], env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, "Traceback" in ended.stderr) == (status, False), ended.stderr
    assert told in ended.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(("command", "unbuffered"), [(("stats",), ""), (("history", "--json"), "1")])
def test_output_that_can_not_be_written_is_told_in_a_line(file: str, command: tuple[str, ...], unbuffered: str) -> None:
    run("add", "I like tea.", "--store", file, "--user", "ada")
    arguments = [sys.executable, "-m", "recollect", *command, "--store", file, "--user", "ada"]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w") as full:
        told = subprocess.run(arguments, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (told.returncode, told.stderr) == (1, "OSError: [Errno 28] No space left on device\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_is_no_news(file: str, unbuffered: str) -> None:
    run("add", "I like tea.", "--store", file, "--user", "ada")
    arguments = [sys.executable, "-m", "recollect", "history", "--store", file, "--user", "ada"]
    reader, writer = os.pipe()
    os.close(reader)
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    told = subprocess.run(arguments, env=environment, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (told.returncode, told.stderr) == (1, "")


@pytest.mark.parametrize("arguments", [("history", "--wrong"), ("history", "--user", "nobody")])
@pytest.mark.parametrize("apart", [True, False])
def test_nobody_who_reads_an_error_is_no_news_either(file: str, arguments: tuple[str, ...], apart: bool) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "recollect", *arguments]
    environment = {**os.environ, "PYTHONUNBUFFERED": "", "RECOLLECT_STORE": file}
    told = subprocess.run(
        command, env=environment, stdout=subprocess.DEVNULL if apart else writer, stderr=writer, check=False
    )
    os.close(writer)
    assert told.returncode == 1


@pytest.mark.parametrize(
    "command", [("history",), ("stats",), ("context", "tea"), ("chat", "What did I say of green?")]
)
def test_letters_that_the_output_does_not_have_are_replaced(file: str, command: tuple[str, ...]) -> None:
    run("add", "I like green tea \u2603", "--store", file, "--user", "ada")
    run("add", "Hello.", "--store", file, "--user", "ada", "--session", "tea \u2603")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    arguments = [sys.executable, "-m", "recollect", *command, "--store", file, "--user", "ada"]
    told = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")
    assert "tea ?" in told.stdout


def test_an_interrupt_while_the_commands_are_built_ends_it_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("recollect.cli.app.app", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130


def test_an_interrupt_while_it_is_loading_ends_it_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupting:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name == "recollect.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "recollect.cli.app")
    monkeypatch.setattr(sys, "meta_path", [Interrupting, *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
