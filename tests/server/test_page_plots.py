"""The small plots of the page, in a real Chromium."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.server.browser import needs_chromium
from tests.server.running import Running
from tests.server.test_page_use import LINES

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
pytestmark = needs_chromium


def answer(route: Any, **instead: Any) -> None:
    """What the service answers, with other values in it."""
    route.fulfill(json={**route.fetch().json(), **instead})


def test_a_plot_of_what_stays_the_same_is_flat(sample: Running, tab: Any) -> None:
    sizes = iter(range(300 << 20, 400 << 20, 4_096))
    with tab(sample.url) as found:
        found.page.route("**/stats", lambda route: answer(route, recollect_process_bytes=next(sizes)))
        metric = found.open("metrics").locator(".metric").filter(has_text="Memory of the process")
        expect(metric.locator(".axis")).to_contain_text(re.compile(r"[1-9]\d* s ago"))
        points = metric.locator("polyline").get_attribute("points").split()
        assert len({point.split(",")[1] for point in points}) == 1


def test_what_a_plot_says_is_beside_its_lines(sample: Running, tab: Any) -> None:
    sizes = iter(range(348 << 20, 900 << 20, 31 << 20))
    with tab(sample.url, viewport={"width": 390, "height": 800}) as found:
        found.page.route("**/stats", lambda route: answer(route, recollect_process_bytes=next(sizes)))
        metric = found.open("metrics").locator(".metric").filter(has_text="Memory of the process")
        expect(metric.locator(".axis")).to_contain_text(re.compile(r"348 MiB – \d+ MiB"))
        for n in range(3):
            assert metric.locator(".axis span").nth(n).evaluate(LINES) == 1
        found.page.route("**/patterns?*", lambda route: answer(route, hours=[70] * 24))
        page = found.open("patterns")
        says = page.locator(".bars .top").bounding_box()
        assert says["y"] + says["height"] <= page.locator(".bars rect").last.bounding_box()["y"]
