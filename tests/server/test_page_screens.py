"""The page in forced colours, on small screens and in scripts from right to left, in a real Chromium."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.memory import Memory
from tests.server.browser import needs_chromium
from tests.server.running import Running, running
from tests.server.test_page_use import LINES

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
pytestmark = needs_chromium

ENDS = """(element) => {
    const words = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode(), range = document.createRange();
    return [0, words.length - 1].map((place) => {
        range.setStart(words, place);
        range.setEnd(words, place + 1);
        return range.getBoundingClientRect().x;
    });
}"""
"""Where the first character of an element and its last one are."""


def test_in_forced_colours_what_is_chosen_and_what_is_drawn_can_be_seen(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("chat")
        page.emulate_media(forced_colors="active")
        expect(page.locator(".budget")).to_be_visible()
        chosen, other = page.get_by_role("tab").evaluate_all("all => all.map(e => getComputedStyle(e).borderColor)")[:2]
        assert chosen != other == "rgb(255, 255, 255)"
        parts = page.locator(".budget > span").evaluate_all("all => all.map(e => getComputedStyle(e).backgroundColor)")
        assert len({*parts, other}) == len(parts) + 1
        expect(found.open("timeline", at="30").locator(".row.marked")).to_have_css("border-top-style", "solid")


def test_a_table_breaks_no_word_and_goes_the_way_of_its_script(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service:
        trip = memory.session("trip", user="ada")
        trip.add_turn(
            "How?", "| Name | Value | Another column | Remarks |\n|--|--|--|--|\n| a | b | long words here | c |"
        )
        trip.add_turn("How?", "| اسم | قيمة |\n|--|--|\n| a | 1 |")
        with tab(service.url, viewport={"width": 360, "height": 740}) as found:
            latin, arabic = found.open("chat").locator("table").all()
            assert latin.locator("th").first.evaluate(LINES) == 1
            name, value = (cell.bounding_box()["x"] for cell in arabic.locator("th").all())
            assert name > value


def test_a_cell_of_a_table_goes_the_way_of_its_own_script(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service:
        trip = memory.session("trip", user="ada")
        trip.add_turn("How?", "| Arabic |\n|--|\n| مرحبا! |")
        trip.add_turn("How?", "| بالإنجليزية |\n|--|\n| Hello! |")
        with tab(service.url) as found:
            arabic, english = (cell.evaluate(ENDS) for cell in found.open("chat").locator("td").all())
            assert arabic[0] > arabic[1] and english[0] < english[1]


def test_the_hours_of_the_day_can_be_read_on_a_telephone(sample: Running, tab: Any) -> None:
    for width in (360, 1280):
        with tab(sample.url, viewport={"width": width, "height": 740}) as found:
            assert found.open("patterns").locator(".bars text").last.bounding_box()["height"] >= 12


@pytest.mark.parametrize("view", ["timeline", "replay", "facts", "metrics", "forget"])
def test_a_view_ends_where_the_header_does(view: str, sample: Running, tab: Any) -> None:
    with tab(sample.url, viewport={"width": 1280, "height": 800}) as found:
        page = found.open(view)
        ends = [page.locator(name).bounding_box() for name in ("#new-session", "#view > section")]
        assert len({round(box["x"] + box["width"]) for box in ends}) == 1
