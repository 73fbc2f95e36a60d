"""The time line of a long conversation, in a real Chromium."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.browser import enter, needs_chromium
from tests.server.running import Running

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
pytestmark = needs_chromium

LAST = 1_000_000
PLACE = """() => {
  const box = document.querySelector(".scroll").getBoundingClientRect();
  const row = document.querySelector(".row");
  return Number(row.dataset.seq) - (row.getBoundingClientRect().top - box.top) / 64;
}"""
"""How far down one is, in rows."""
ENDS = """e => {
  const words = document.createRange();
  words.selectNode(e.firstChild);
  return words.getBoundingClientRect().right;
}"""
ROOM = """e => {
  const pen = document.createElement("canvas").getContext("2d");
  const { font, paddingLeft } = getComputedStyle(e);
  pen.font = font;
  return e.clientWidth - 2 * parseFloat(paddingLeft) - pen.measureText(e.placeholder).width;
}"""
"""What a field has beside its placeholder."""


def a_million(route: Any) -> None:
    """The service is asked for pages only, so the page itself can be shown a session of any length."""
    query = dict(pair.split("=") for pair in route.request.url.partition("?")[2].split("&"))
    first = int(query["after"]) + 1 if "after" in query else LAST
    until = min(LAST, first + int(query["limit"]) - 1)
    items = [
        {"seq": n, "tokens": 4, "message": {"role": "user", "id": f"m{n}", "content": f"message {n}"}}
        for n in range(first, until + 1)
    ]
    route.fulfill(
        json={"items": items, "before": first if first > 1 else None, "after": until if until < LAST else None}
    )


def test_a_million_messages_scroll_with_few_rows(service: Running, tab: Any) -> None:
    with tab(service.url) as found:
        found.page.route("**/messages?*", a_million)
        page = found.open("timeline")
        expect(page.locator(f"[data-seq='{LAST}']")).to_contain_text(f"message {LAST}")
        box = page.locator(".scroll")
        box.evaluate("e => { e.scrollTop = 0 }")
        expect(page.locator("[data-seq='1']")).to_contain_text("message 1")
        for seq in (500_000, 123_457, 999_999):
            enter(page, "Go to message", str(seq))
            expect(page.locator(".row.marked")).to_contain_text(f"message {seq}")
        enter(page, "Go to message", "700000")
        expect(page.locator("[data-seq='700000']")).to_be_visible()
        box.focus()
        top = int(page.locator(".row").first.get_attribute("data-seq"))
        page.keyboard.press("PageDown")
        page.wait_for_function(f"() => Number(document.querySelector('.row').dataset.seq) > {top}")
        page.wait_for_function(
            "() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(true))))"
        )
        assert int(page.locator(".row").first.get_attribute("data-seq")) - top <= page.locator(".row").count()
        assert page.locator(".row").count() < 40


def test_keys_and_wheel_go_as_far_near_the_ends_as_elsewhere(service: Running, tab: Any) -> None:
    with tab(service.url) as found:
        found.page.route("**/messages?*", a_million)
        page = found.open("timeline")
        expect(page.locator(f"[data-seq='{LAST}']")).to_be_visible()
        box = page.locator(".scroll")
        box.focus()
        seen = box.evaluate("e => e.clientHeight") / 64
        for keys, place in (
            (["Home"], 1.0),
            (["PageDown"] * 2 + ["ArrowDown"] * 3, 1 + 2 * (seen - 1) + 3),
            (["PageUp", "ArrowUp"], 1 + (seen - 1) + 2),
            (["ArrowDown"] * 5 + ["End"], LAST + 1 - seen),
            (["PageUp"], LAST + 2 - 2 * seen),
        ):
            for key in keys:
                page.keyboard.press(key)
            assert page.evaluate(PLACE) == pytest.approx(place, abs=0.1), keys
        box.hover()
        for by in (-1_280, 320, 320):
            before = page.evaluate(PLACE)
            page.mouse.wheel(0, by)
            page.wait_for_function(f"before => Math.abs(({PLACE})() - before - {by} / 64) < 0.1", arg=before)


def test_a_row_that_is_half_in_sight_is_wholly_so_once_keys_come_to_it(service: Running, tab: Any) -> None:
    with tab(service.url) as found:
        found.page.route("**/messages?*", a_million)
        page = found.open("timeline")
        page.locator(".scroll").focus()
        page.keyboard.press("Home")
        expect(page.locator("[data-seq='1']")).to_contain_text("message 1")
        last = page.locator(".row").count()
        for _ in range(last):
            page.keyboard.press("Tab")
        expect(page.locator(f"[data-seq='{last}'] button")).to_be_focused()
        expect(page.locator(f"[data-seq='{last}']")).to_be_in_viewport(ratio=0.95)
        page.locator(".scroll").evaluate("e => { e.scrollTop = 0 }")
        page.wait_for_function(f"() => Math.abs(({PLACE})() - 1) < 0.1")


@pytest.mark.parametrize("width", [390, 1200])
def test_the_number_of_a_message_has_room(width: int, service: Running, tab: Any) -> None:
    with tab(service.url, viewport={"width": width, "height": 700}) as found:
        found.page.route("**/messages?*", a_million)
        page = found.open("timeline")
        last = page.locator(f"[data-seq='{LAST}']")
        expect(last).to_contain_text(f"message {LAST}")
        assert last.locator(".seq").evaluate(ENDS) < last.locator(".role").bounding_box()["x"]
        assert page.locator("#goto").evaluate(ROOM) > 0
        mark, role = (last.locator(name).bounding_box()["x"] for name in (".row-open", ".role"))
        assert last.locator(".seq").evaluate(ENDS) <= mark <= role - 4, "the mark of the focus is between both"
