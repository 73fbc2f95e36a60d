"""What people do with the page between two questions: leave it, come back, hurry; in a real Chromium."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from recollect.memory import Memory
from recollect.testing.provider import Provider
from tests.server.browser import enter, needs_chromium
from tests.server.hostile import named
from tests.server.running import Running, running
from tests.server.test_chat import Scripted, chatting

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
pytestmark = needs_chromium

COMPOSED = "e => e.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', keyCode: 229, bubbles: true }))"

SET_IN = """async said => {
    const { h, prose } = await import("/inspector/dom.js");
    const start = performance.now();
    const set = h("div", {}, prose(said));
    return [performance.now() - start, set.querySelectorAll("code").length];
}"""


def test_what_was_written_is_there_on_the_way_back(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("chat", "tue")
        page.get_by_label("Message", exact=True).fill("Half a thought")
        page.get_by_label("Budget", exact=True).fill("3000")
        found.turn("facts", "tue")
        page.go_back()
        expect(page.get_by_label("Message", exact=True)).to_have_value("Half a thought")
        expect(page.get_by_label("Budget", exact=True)).to_have_value("3000")
        expect(found.turn("chat", "mon").get_by_label("Message", exact=True)).to_have_value("")


def test_a_question_that_fails_while_another_view_is_shown_is_not_lost(tab: Any) -> None:
    held: list[Any] = []

    def hold(route: Any) -> None:
        held.append(route)

    with running() as service, tab(service.url, expected="ERR_FAILED") as found:
        page = found.open("chat")
        page.route("**/chat?*", hold)
        enter(page, "Message", "Where does Nadia live?")
        expect(page.get_by_role("button", name="Stop")).to_be_visible()
        found.turn("facts")
        while not held:
            page.wait_for_timeout(10)
        held[0].abort()
        expect(page.locator("#status")).to_contain_text("can't be reached")
        expect(found.turn("chat").get_by_label("Message", exact=True)).to_have_value("Where does Nadia live?")


def test_a_double_click_on_send_does_not_stop_the_answer(tab: Any) -> None:
    model = Scripted("One ", "two.", wait=True)
    with Memory.open(":memory:", embedder=None) as memory, chatting(memory, model) as url, tab(url) as found:
        page = found.open("chat")
        page.get_by_label("Message", exact=True).fill("Count.")
        page.get_by_role("button", name="Send").dblclick()
        model.go_on.release(2)
        expect(page.locator(".bubble.assistant p")).to_have_text("One two.")


def test_a_double_click_on_stop_does_not_send_again(tab: Any) -> None:
    model = Scripted("One ", wait=True)
    with Memory.open(":memory:", embedder=None) as memory, chatting(memory, model) as url, tab(url) as found:
        page = found.open("chat")
        enter(page, "Message", "Count.")
        assert model.asked.wait(30)
        page.get_by_role("button", name="Stop").click()
        page.get_by_role("button", name="Send").hover()
        page.mouse.down(click_count=2)
        page.mouse.up(click_count=2)
        expect(page.get_by_label("Message", exact=True)).to_have_value("Count.")
        page.get_by_role("button", name="Send").click()
        model.go_on.release(2)
        expect(page.locator(".bubble.assistant p")).to_have_text("One")
        assert len(model.seen) == 2


def test_an_answer_that_was_withheld_or_cut_off_is_told(tab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with Provider("openai", ["Once upon a time."], faults=["content_filter", "truncated"]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        with running(model="openai:test-model") as service, tab(service.url) as found:
            page = found.open("chat")
            enter(page, "Message", "Tell me a story.")
            expect(page.locator(".log .problem")).to_contain_text("The model gave no answer.")
            expect(page.locator(".bubble.assistant")).to_have_count(0)
            enter(page, "Message", "Tell me a tale.")
            expect(page.locator("#status")).to_have_text("Answered, but cut off at the model's limit.")


def test_an_error_begins_with_a_capital_and_a_name_as_it_is(tab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with Provider("openai", faults=["not_found"]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        with running(model="openai:test-model") as service, tab(service.url, expected="status of 404") as found:
            page = found.open("chat")
            enter(page, "Message", "Where does Nadia live?")
            told = page.locator(".log .problem p").first
            expect(told).to_have_text(re.compile(r"^openai:test-model"))
            assert told.evaluate("e => getComputedStyle(e, '::first-letter').textTransform") == "none"
            page.goto(f"{service.url}/#/timeline/ada/trip/no-such-id")
            expect(page.locator("#status")).to_have_text(re.compile(r"^[A-Z]"))


def test_the_enter_that_ends_a_composed_word_sends_nothing(service: Running, tab: Any) -> None:
    with tab(service.url) as found:
        page = found.open("chat")
        page.get_by_label("Message", exact=True).fill("日本")
        page.get_by_label("Message", exact=True).evaluate(COMPOSED)
        page.wait_for_timeout(100)
        expect(page.get_by_label("Message", exact=True)).to_have_value("日本")
        expect(page.locator(".bubble")).to_have_count(0)


def test_a_chat_shows_what_was_said_in_another_tab(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        memory.session("trip", user="ada").add_turn("My sister Nadia lives in Oslo.", "Noted.")
        page = found.open("chat")
        expect(page.locator(".bubble")).to_have_count(2)
        page.get_by_label("Message", exact=True).fill("And my")
        page.get_by_label("Message", exact=True).focus()
        memory.session("trip", user="ada").add_turn("My brother Finn lives in Bergen.", "Noted, too.")
        page.evaluate("dispatchEvent(new Event('focus'))")
        expect(page.locator(".bubble")).to_have_count(4)
        expect(page.get_by_label("Message", exact=True)).to_have_value("And my")
        expect(page.get_by_label("Message", exact=True)).to_be_focused()
        enter(page, "Message", "Where does my brother live?")
        expect(page.locator("#status")).to_have_text("Answered.")
        page.locator(".bubble").last.evaluate("e => { e.dataset.same = 'yes' }")
        page.evaluate("dispatchEvent(new Event('focus'))")
        page.wait_for_timeout(300)
        expect(page.locator(".bubble[data-same]")).to_have_count(1)


def test_each_press_goes_to_one_earlier_question(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("replay")
        slider = page.get_by_role("slider")
        expect(page.locator(".replayed[data-seq]")).to_be_visible()
        asked = "user=ada&session=trip&limit=100"
        kept = sample.http.get("/messages", params=asked).json()["items"]
        questions = [entry["seq"] for entry in kept if entry["message"]["role"] == "user"]

        def slowly(route: Any) -> None:
            time.sleep(0.1)
            route.continue_()

        page.route("**/messages?*", slowly)
        slider.focus()
        for _ in range(3):
            page.keyboard.press("ArrowLeft")
        expect(page.locator(f".replayed[data-seq='{questions[-4]}'] .budget")).to_be_visible()
        assert int(slider.input_value()) == questions[-4]


def test_no_jobs_of_one_state_is_not_all_is_done(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        found.page.route("**/jobs?*", lambda route: route.fulfill(json={"items": [], "after": None}))
        page = found.open("jobs")
        expect(page.locator(".empty-title")).to_have_text("All is done")
        page.get_by_label("State").select_option("dead")
        expect(page.locator(".empty-title")).to_have_text("None are given up")


def test_words_that_turn_around_turn_none_beside_them(tab: Any) -> None:
    said = "Nadia lives in \u202eolsO"
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        message = memory.session("trip", user="ada").add("user", said)
        choice = found.open("forget", at=message.id).locator(".choice").first
        expect(choice).to_have_text(f"This message: “{named(said)}”")
        memory.session("\u202epirt", user="ada").add("user", "Nadia lives in Oslo")
        memory.drain()
        page = found.open("chat", "today")
        enter(page, "Message", "Where does Nadia live?")
        expect(page.locator(".side .line-foot").filter(has_text="conversation").first).to_be_visible()
        told = page.locator(".side .line-foot").all_text_contents()
        assert any(named("conversation \u202epirt") in one for one in told)
        assert not any("\u202e" in one for one in told)


def test_facts_are_found_by_their_words(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("facts")
        page.get_by_label("Find a fact").fill("MARS")
        expect(page.locator(".card:visible")).to_have_count(1)
        expect(page.locator("h2:visible")).to_have_count(1)
        page.get_by_label("Find a fact").fill("nothing such")
        expect(page.locator(".card:visible")).to_have_count(0)
        expect(page.get_by_text("No fact has these words")).to_be_visible()
        page.get_by_label("Find a fact").fill("")
        expect(page.locator("h2:visible")).to_have_count(3)


def test_headings_lists_and_tables_of_an_answer_are_set(tab: Any) -> None:
    said = (
        "# The *week*\nTwo plans:\n- **Mon** rain\n  and wind\n  1. in\n* Tue\n\n"
        "| day | t |\n|---|:-:|\n| mon | 6 |\n\n#no heading, 3 - 1"
    )
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        memory.session("trip", user="ada").add_turn("How?", said)
        answer = found.open("chat").locator(".bubble.assistant")
        expect(answer.locator(".heading")).to_have_text("The *week*")
        expect(answer.locator("li")).to_have_text(["•Mon rain and wind", "1.in", "•Tue"])
        expect(answer.locator("li b")).to_have_text("Mon")
        expect(answer.locator("th")).to_have_text(["day", "t"])
        expect(answer.locator("td")).to_have_text(["mon", "6"])
        expect(answer.locator("p").last).to_have_text("#no heading, 3 - 1")
        left = answer.locator("li").evaluate_all("all => all.map(e => e.lastChild.getBoundingClientRect().left)")
        assert left[0] == left[2] < left[1]


def test_what_is_no_table_keeps_its_bars_and_each_row_of_one_is_shown(tab: Any) -> None:
    said = (
        "|x| < |y|\n\n| a | b |\n| :-- | - |\n| - | - |\n| `x \\| y` | 2 |\n\n# One\n### Two\n#### \n"
        + " " * 4_000
        + "- deep"
    )
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        memory.session("trip", user="ada").add_turn("How?", said)
        answer = found.open("chat").locator(".bubble.assistant")
        expect(answer.locator("p").first).to_have_text("|x| < |y|")
        expect(answer.get_by_role("columnheader")).to_have_text(["a", "b"])
        expect(answer.locator("td")).to_have_text(["-", "-", "x | y", "2"])
        expect(answer.get_by_role("heading", level=2)).to_have_text("One")
        expect(answer.get_by_role("heading", level=4)).to_have_text("Two")
        expect(answer.get_by_role("heading")).to_have_count(2)
        assert answer.evaluate("e => e.scrollWidth <= e.parentElement.clientWidth")


def test_an_answer_is_set_in_time_in_proportion_to_its_length(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("chat")
        assert page.evaluate(SET_IN, "`a`" * 65_000)[1] == 65_000
        for said, most in (("**a** ", 60_000), (" ", 240_000)):
            few, many = (min(page.evaluate(SET_IN, f"a{said * n}b")[0] for _ in range(3)) for n in (most // 8, most))
            assert many < 32 * max(few, 60), said


def test_a_long_answer_is_not_set_anew_with_each_of_its_words(tab: Any) -> None:
    model = Scripted(*["- item\n"] * 2_000)
    with Memory.open(":memory:", embedder=None) as memory, chatting(memory, model) as url, tab(url) as found:
        page = found.open("chat")
        page.evaluate("globalThis.times = 0; addEventListener('came', () => { times += 1 }, true)")
        enter(page, "Message", "Count.")
        expect(page.locator("#status")).to_have_text("Answered.")
        expect(page.locator(".bubble.assistant li")).to_have_count(2_000)
        assert 0 < page.evaluate("times") < 1_000


def test_each_message_of_a_chat_has_its_time(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("chat", "mon")
        expect(page.locator(".bubble time")).to_have_text([re.compile(r"\d\d:\d\d")] * 2)
        enter(page, "Message", "Where do I live?")
        expect(page.locator("#status")).to_have_text("Answered.")
        expect(page.locator(".bubble time")).to_have_text([re.compile(r"\d\d:\d\d")] * 4)


def test_a_click_beside_a_dialog_closes_it(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("facts")
        page.get_by_role("button", name="History").first.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.mouse.click(5, 400)
        expect(page.get_by_role("dialog")).to_have_count(0)
