"""A real Chromium, and sample conversations to show in it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
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
    "--process-per-site",
)
WIDE = {"width": 1200, "height": 720}
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
        if self.page.url != "about:blank":
            self.page.goto("about:blank")
        self.page.goto(f"{self.url}/#/{view}/{user}/{session}/{at}")
        return self._shows(view)

    def turn(self, view: str, session: str = "trip", user: str = "ada") -> Any:
        """Show another view of the page that is open."""
        self.page.evaluate("to => { location.hash = to }", f"#/{view}/{user}/{session}/")
        return self._shows(view)

    def _shows(self, view: str) -> Any:
        self.page.locator(f"#view[data-ready={view}]").wait_for(state="attached")
        return self.page


def enter(page: Any, field: str, text: str) -> None:
    """Write a text into the field of that name, and send it off."""
    page.get_by_label(field, exact=True).fill(text)
    page.keyboard.press("Enter")


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[Any]:
    """The window of all pages of a module: one in a window of its own starts three processes for it."""
    found = browser.new_context(locale="en-GB")
    found.set_default_timeout(60_000)
    first = found.new_page()
    first.route("**", lambda route: route.fulfill(body="keeps the process of the pages beside it"))
    first.goto("http://127.0.0.1/")
    yield found
    found.close()


@pytest.fixture
def tab(window: Any) -> Iterator[Callable[..., Any]]:
    @contextmanager
    def opened(
        url: str, expected: str = "^$", viewport: Mapping[str, int] = WIDE, color_scheme: str | None = None
    ) -> Iterator[Tab]:
        """A page of that address; afterwards there was no dialog, no error and no request to anywhere else."""
        page = window.new_page()
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=color_scheme)
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
        page.close()
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
