"""The rules of the house that a machine can see."""

from __future__ import annotations

import ast
import re
import resource
import subprocess
import sys
import tomllib
from importlib import metadata
from itertools import chain
from pathlib import Path
from statistics import median

import pytest

import recollect

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
HARD_LIMIT, SUITE_LIMIT = 500, 700


def test_a_file_stays_within_its_limit() -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in [*SOURCES, *(ROOT / "tests").rglob("*.py")]}
    limits = {path: SUITE_LIMIT if "testing" in path.parts else HARD_LIMIT for path in SOURCES}
    assert {path: length for path, length in lengths.items() if length > limits.get(path, HARD_LIMIT)} == {}


def test_functions_fit_on_a_screen() -> None:
    lengths = [
        node.end_lineno - node.lineno + 1
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno
    ]
    assert median(lengths) < 12
    assert max(lengths) <= 60


def test_no_class_or_file_has_a_name_that_says_nothing() -> None:
    names = [path.stem for path in SOURCES]
    names += [n.name for p in SOURCES for n in ast.walk(ast.parse(p.read_text("utf-8"))) if isinstance(n, ast.ClassDef)]
    empty = re.compile(r"(Manager|Helper|Utils?|_helpers?|_utils?)$|^(helpers?|utils?|misc|common)$")
    sdk = {f"{kind}ConversationManager" for kind in ("TokenBudget", "Summarizing", "SlidingWindow")}
    assert [name for name in names if empty.search(name) and name not in sdk] == []


def test_the_map_of_the_code_is_whole_and_true() -> None:
    package, text = ROOT / "src" / "recollect", (ROOT / "AGENTS.md").read_text("utf-8")
    named = set(re.findall(r"`([\w/*]+(?:\.py|/))`", text.partition("## A map")[2]))
    folders = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    files = {path.name for path in package.glob("*.py") if not path.name.startswith("__")}
    assert (folders | files) - named == set()
    assert [name for name in named if not any(package.glob(name))] == []


def test_the_public_names_are_the_ones_listed() -> None:
    assert sorted(recollect.__all__) == recollect.__all__
    assert [name for name in recollect.__all__ if not hasattr(recollect, name)] == []
    assert sorted(recollect._HOME_OF) == recollect.__all__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = recollect.nothing


def test_the_package_can_be_imported_whole() -> None:
    code = "from recollect import *; print(fit([Message('user', 'hi')], 100).messages[0].text)"
    out = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "hi"


def test_importing_is_light() -> None:
    heavy = (
        *("numpy", "pydantic", "yaml", "tiktoken", "apsw"),
        *("onnxruntime", "tokenizers", "httpx2", "platformdirs", "sentence_transformers"),
    )
    code = f"import recollect.embed, sys; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def closure(name: str) -> set[str]:
    """A distribution and all it needs without extras."""
    found, todo = set[str](), [name]
    while todo:
        at = todo.pop().lower().replace("_", "-")
        if at not in found:
            found.add(at)
            todo += [re.split(r"[^\w.-]", need)[0] for need in metadata.requires(at) or () if "extra ==" not in need]
    return found


def test_every_dependency_has_its_line_in_why() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras, groups = project["project"]["optional-dependencies"], project["dependency-groups"]
    needed = [*project["project"]["dependencies"], *chain(*extras.values()), *chain(*groups.values())]
    _, _, lines = (ROOT / "docs" / "why.md").read_text("utf-8").partition("\n## Dependencies\n")
    packages = [row.split("|")[1] for row in lines.partition("\n## ")[0].splitlines() if row.startswith("|")]
    explained = set(re.findall(r"[\w.-]+", re.sub(r"\([^)]*\)", "", " ".join(packages))))
    assert {re.split(r"[^\w.-]", need)[0] for need in needed} - explained == set()


def test_the_core_is_light() -> None:
    core = closure("recollect")
    files = [file for name in core - {"recollect"} for file in metadata.files(name) or () if file.suffix != ".pyc"]
    size = sum(Path(str(file.locate())).stat().st_size for file in files if Path(str(file.locate())).exists())
    assert len(core) <= 12
    assert size <= 80_000_000


def test_importing_costs_little() -> None:
    def cpu(code: str) -> float:
        runs = []
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", code], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            runs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(runs)

    assert cpu("import recollect") - cpu("pass") <= 0.060
