"""Text the estimator was not fitted on: article 1 of the Declaration of Human Rights, Python's code and docstrings,
made-up data."""

from __future__ import annotations

import ast
import base64
import json
import random
import sysconfig
from pathlib import Path

ARTICLE_1: dict[str, str] = json.loads((Path(__file__).parent / "article_1.json").read_text("utf-8"))


def _docstrings(folder: Path) -> str:
    trees = [ast.parse(path.read_text("utf-8")) for path in sorted(folder.glob("*.py"))]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    return "\n\n".join(filter(None, map(ast.get_docstring, nodes)))


def texts() -> dict[str, str]:
    """A text of each kind by name."""
    rng = random.Random(99)
    stdlib = Path(sysconfig.get_path("stdlib"))
    rows = [{"id": rng.randrange(10**8), "at": rng.random(), "ok": True, "tags": ["a1", "b-2"]} for _ in range(40)]
    made = {
        "English, longer": _docstrings(stdlib / "unittest"),
        "Python": "\n".join(path.read_text("utf-8") for path in sorted((stdlib / "asyncio").glob("*.py"))[:6]),
        "JSON": json.dumps(rows),
        "JSON, indented": json.dumps(rows, indent=2),
        "CSV": "\n".join(f"{rng.random():.6f},{rng.randrange(10**7)},{rng.choice('abc')}" for _ in range(100)),
        "base64": base64.b64encode(rng.randbytes(1500)).decode(),
        "hexadecimal": rng.randbytes(800).hex(),
        "emoji": "".join(chr(rng.randrange(0x1F600, 0x1F640)) for _ in range(200)),
        "log": "\n".join(
            f"2026-05-{n:02}T10:00:0{n % 10}Z ERROR pool-{n} timed out (0x{n * 977:08x})" for n in range(28)
        ),
    }
    return ARTICLE_1 | made
