"""What people know a conversation by, on the page."""

from __future__ import annotations

import re
from typing import Any

import pytest

from recollect.memory import Memory
from tests.server.browser import enter, needs_chromium
from tests.server.hostile import named
from tests.server.running import running

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect
pytestmark = needs_chromium


def test_a_conversation_with_a_long_name_is_known_by_its_title(tab: Any) -> None:
    name = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        memory.session("trip", user="ada").add("user", "Where does my\nsister live?")
        chat = memory.session(name, user="ada")
        chat.tag(chat.add("user", "Hello").id, title="To Oslo")
        page = found.open("search", name)
        expect(page.locator("#session option")).to_have_text(
            [
                f"{named('To Oslo')} · {named('ada')} · 1 message",
                f"{named('trip')} · {named('ada')} · 1 message · {named('Where does my sister live?')}",
            ]
        )
        enter(page, "Question", "Hello")
        expect(page.locator(".line-foot span")).to_contain_text(f"1. {named('To Oslo')}")
        expect(found.turn("forget", name).get_by_label(f"This conversation: {named('To Oslo')}")).to_be_visible()


def test_a_blank_beside_a_name_is_no_part_of_it_and_blanks_are_no_name(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        memory.session("trip", user="ada").add("user", "Hello")
        page = found.open("chat", "other")
        page.get_by_role("button", name="New…").click()
        for typed in ("  ", " trip "):
            enter(page, "Name of the conversation", typed)
        expect(page.locator(".bubble.user")).to_have_text(re.compile("^You .*Hello$"))
        assert page.url.endswith("#/chat/ada/trip/")
