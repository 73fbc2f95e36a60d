"""A real Chromium, and sample conversations to show in it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from recollect.demo import conversation
from recollect.memory import Memory
from recollect.types import Message
from tests.server.running import Running, running

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no `chromium`: install Debian's package")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    playwright.expect.set_options(timeout=60_000)
    with playwright.sync_playwright() as player:
        found = player.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield found
        found.close()


@dataclass
class Tab:
    """A page, and what it did that it must not."""

    page: Any
    url: str
    wrong: list[str] = field(default_factory=list)

    def open(self, view: str, session: str = "trip", user: str = "ada", at: str = "") -> Any:
        """Show a view of a conversation."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.url}/#/{view}/{user}/{session}/{at}")
        self.page.locator(f"#view[data-ready={view}]").wait_for(state="attached")
        return self.page


@pytest.fixture
def tab(browser: Any) -> Iterator[Callable[..., Any]]:
    @contextmanager
    def opened(url: str, expected: str = "^$", **more: Any) -> Iterator[Tab]:
        """A page of that address; afterwards there was no dialog, no error and no request to anywhere else."""
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 720}, "locale": "en-GB", **more})
        context.set_default_timeout(60_000)
        page = context.new_page()
        found = Tab(page, url)

        def dismissed(dialog: Any) -> None:
            found.wrong.append(f"dialog {dialog.message}")
            dialog.dismiss()

        def asked(request: Any) -> None:
            if not request.url.startswith((f"{url}/", "about:", "data:image/")):
                found.wrong.append(f"request {request.url}")

        def told(said: Any) -> None:
            if said.type == "error":
                found.wrong.append(said.text)

        page.on("dialog", dismissed)
        page.on("request", asked)
        page.on("pageerror", lambda error: found.wrong.append(f"error {error}"))
        page.on("console", told)
        yield found
        context.close()
        assert [wrong for wrong in found.wrong if not re.search(expected, wrong)] == []

    yield opened


def fill(memory: Memory) -> None:
    """Sample conversations of one user: a long one with tools, some short ones, a document."""
    trip = memory.session("trip", user="ada")
    trip.add_many(conversation())
    for n, (day, said) in enumerate(
        (
            ("mon", "My name is Ada Berg and I live in Lyon. I love climbing."),
            ("tue", "How do I get to the airport? I prefer trains."),
            ("wed", "How do I get to the airport? I moved to Marseille last week and live in Marseille now."),
            ("thu", "How do I get to the airport?"),
        )
    ):
        session = memory.session(day, user="ada")
        session.add_many([Message("user", said), Message("assistant", f"Noted, number {n}.")])
    trip.documents.add("# Luggage\n\nOne cabin bag of eight kilograms is free.\n", name="airline.md")
    memory.drain()


@pytest.fixture(scope="module")
def sample() -> Iterator[Running]:
    with Memory.open(":memory:", embedder=None) as memory:
        fill(memory)
        with running(memory) as service:
            yield service
