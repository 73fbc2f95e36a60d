"""Every Python block in README and docs runs, top to bottom, one file one namespace, and prints what is shown below."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.util._once import Once
from typer.main import get_command

from recollect import Message, ToolCall, llm
from recollect.cli.app import app
from recollect.telemetry import COUNTERS, GAUGES, SERIES
from recollect.testing import Provider
from tests.server.running import running

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```(?:\n+```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
NODE = shutil.which("node")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
DAY, LONGEST_DAY = re.compile(r"\d{1,2} [A-Z][a-z]+ 20\d\d"), "30 September 2026"
VARYING = re.compile(rf"{DAY.pattern}|\d+\.\d+|\s+")
"""Days of today, scores by the embedder that is here, and the blanks that line them up."""


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_examples_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", Once())  # a page may set one, for itself alone
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    text = page.read_text("utf-8")
    namespace: dict[str, Any] = {"__name__": page.stem}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile("\n" * line + block[1], str(page), "exec"), namespace)
        if block[2]:
            assert lines(printed.getvalue()) == lines(block[2])


@pytest.mark.skipif(NODE is None, reason="no `node` here: install Debian's package nodejs")
def test_the_javascript_of_the_service_runs() -> None:
    (block,) = re.findall(r"^```js\n(.*?)^```", (ROOT / "docs" / "service.md").read_text("utf-8"), re.M | re.S)
    with running() as service:
        script = block.replace("http://127.0.0.1:8642", service.url)
        node = [str(NODE), "--input-type=module", "--eval", script]
        ran = subprocess.run(node, capture_output=True, text=True, timeout=60, check=False)
    assert "Oslo" in ran.stdout, ran.stderr


def test_the_loop_of_the_first_page_goes_on_after_a_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its model, `recall:`, calls none."""
    monkeypatch.chdir(tmp_path)
    opened, asked, loop = BLOCK.finditer((ROOT / "docs" / "start.md").read_text("utf-8"))
    namespace: dict[str, Any] = {"__name__": "start", "print": lambda *_: None}
    exec(opened[1] + asked[1] + loop[1].replace("memory.close()", ""), namespace)
    with namespace["memory"], Provider("openai", [Message("assistant", (ToolCall("a", "rain"),)), "No."]) as provider:
        namespace["model"] = llm.open("openai:any", url=provider.url)
        assert namespace["answer"](namespace["friday"], "Does it rain?") == "No."
    assert [message.role for message in provider.requests[-1].messages][-3:] == ["user", "assistant", "tool"]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text("utf-8"))
    assert [t for t in targets if not (page.parent / t).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_a_link_to_a_heading_finds_it(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)]+)\)", page.read_text("utf-8"))
    assert [link for link in links if link[1] not in anchors(page.parent / link[0] if link[0] else page)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_what_is_installed_is_this_project(page: Path) -> None:
    """`recollect` on PyPI is another project: a page names the checkout."""
    assert re.findall(r"(?:pip|uv|pipx) [^`\n]*\brecollect\b[^`\n]*", page.read_text("utf-8")) == []


def test_the_pages_for_a_browser_are_made() -> None:
    """Strictly: a link that leads nowhere, or a name of the reference that is not there, fails."""
    made = subprocess.run([ROOT / "scripts" / "docs"], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    reference = (ROOT / "build/site/docs/reference.html").read_text("utf-8")
    assert "add_turn(" in re.sub(r"<[^>]+>", "", reference)
    assert {f'id="recollect.aio.Async{name}"' for name in ("Session.add_turn", "User.facts", "Memory.drain")} <= {
        *re.findall(r'id="recollect\.aio\.[\w.]+"', reference)
    }
    for page in PAGES[1:]:
        assert f"docs/{page.stem}.html" in (ROOT / "build/site/index.html").read_text("utf-8"), "not in zensical.toml"


def test_every_option_of_a_command_is_told() -> None:
    """In the page of the command line, or in that of what the command serves."""
    told = "".join((ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in ("cli", "service", "mcp", "import"))
    options = {name for command in commands(get_command(app)) for one in command.params for name in one.opts}
    assert {name for name in options if name.startswith("--") and name not in told} - {"--help"} == set()


def test_every_metric_is_told() -> None:
    told = (ROOT / "docs" / "telemetry.md").read_text("utf-8")
    assert {name for name in COUNTERS | SERIES | GAUGES if name not in told} == set()


def lines(printed: str) -> list[str]:
    """What is the same on every day and with every embedder; of a line that is cut, its beginning."""
    cut = [(line, line.rpartition("\u2026")[0]) for line in printed.strip().splitlines()]
    whole = [DAY.sub(LONGEST_DAY, begun)[: len(begun) - 12] or line for line, begun in cut]
    return [VARYING.sub(" ", line).strip() for line in whole]


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to the headings of a page."""
    found = HEADING.findall(page.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def commands(group: Any) -> Iterator[Any]:
    for command in getattr(group, "commands", {}).values():
        yield from commands(command) if hasattr(command, "commands") else [command]
