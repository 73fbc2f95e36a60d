"""What every benchmark does with its figures: print them, keep them as JSON, write them into docs/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs" / "benchmarks.md"


@dataclass(frozen=True)
class Goal:
    """A figure and the bound it must keep."""

    what: str
    value: float
    bound: float
    at_least: bool = False
    form: str = "{:,.2f}"

    @property
    def reached(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    @property
    def row(self) -> tuple[str, str, str, str]:
        bound = ("≥ " if self.at_least else "≤ ") + self.form.format(self.bound)
        return self.what, self.form.format(self.value), bound, "reached" if self.reached else "MISSED"


def arguments(doc: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer runs, sizes and transcripts: a rough look")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.add_argument("--write", action="store_true", help="put the tables into the docs")
    return parser.parse_args()


def table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with aligned columns; the first row is the head. A column without a head is text."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    left = [not head for head in rows[0]]
    lines = [
        " | ".join(cell.ljust(w) if text else cell.rjust(w) for cell, w, text in zip(row, widths, left, strict=True))
        for row in rows
    ]
    lines.insert(1, " | ".join("-" * w if text else "-" * (w - 1) + ":" for w, text in zip(widths, left, strict=True)))
    return "\n".join(f"| {line} |" for line in lines)


def publish(
    name: str, text: str, figures: dict[str, Any], goals: Sequence[Goal], args: argparse.Namespace, page: Path = DOCS
) -> int:
    """Hand the report to whoever asked for it; returns the exit status: 1 where a goal was missed."""
    head = table([("", "measured", "goal", ""), *(goal.row for goal in goals)])
    print(f"{head}\n\n{text}")
    if args.json:
        met = {goal.what: {"value": goal.value, "bound": goal.bound, "reached": goal.reached} for goal in goals}
        args.json.write_text(json.dumps({"goals": met, **figures}, indent=2, ensure_ascii=False) + "\n")
    if args.write:
        write_between(name, f"{head}\n\n{text}", page)
    return int(not all(goal.reached for goal in goals))


def write_between(name: str, text: str, page: Path) -> None:
    start, end = f"<!-- {name}:start -->", f"<!-- {name}:end -->"
    written, found = re.subn(
        f"{start}.*?{end}", lambda _: f"{start}\n{text}\n{end}", page.read_text("utf-8"), flags=re.DOTALL
    )
    if not found:
        raise SystemExit(f"{page.name} has no place for these figures: add the lines {start} and {end}")
    page.write_text(written, "utf-8")
