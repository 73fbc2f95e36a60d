"""The page in use: long texts, the way back, services that fail, keys, screens of every width, paper."""

from __future__ import annotations

import re
from typing import Any

import pytest

from recollect.cli.context import COLOURS
from recollect.memory import Memory
from recollect.server.app import create_app
from recollect.server.auth import add_key
from recollect.server.options import Options
from recollect.store import Job
from recollect.types import Message, Scope
from tests.server.browser import enter, fill, needs_chromium
from tests.server.hostile import named
from tests.server.running import Running, listening, running
from tests.server.test_chat import Scripted, chatting

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
pytestmark = needs_chromium

OVERLAPS = """(names) => {
    const [one, other] = names.map((name) => document.querySelector(name).getBoundingClientRect());
    return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}"""
LINES = """(element) => {
    const words = document.createRange();
    words.selectNodeContents(element);
    return new Set([...words.getClientRects()].map((line) => Math.round(line.bottom))).size;
}"""
LIGHT = """(colour) => {
    const part = (n) => (n / 255 <= 0.04045 ? n / 255 / 12.92 : ((n / 255 + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map(part);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
}"""
CONTRAST = f"""(name) => {{
    const light = {LIGHT};
    const style = getComputedStyle(document.querySelector(name));
    const both = [light(style.borderTopColor), light(getComputedStyle(document.body).backgroundColor)];
    return Math.max(...both) / Math.min(...both);
}}"""


def test_a_proxy_may_have_the_service_in_a_folder_of_its_site(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        service = create_app(Options(), memory)

        async def proxy(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                scope = {**scope, "path": scope["path"].removeprefix("/memory") or "none"}
            await service(scope, receive, send)

        with listening(proxy) as url, tab(f"{url}/memory") as found:
            page = found.open("chat", "today")
            enter(page, "Message", "I live in Oslo.")
            expect(page.locator("#status")).to_have_text("Answered.")
            expect(page.locator(".bubble.user")).to_contain_text("I live in Oslo.")
        assert memory.session("today", user="ada").history()[0].text == "I live in Oslo."


def test_a_long_passage_is_read_on(tab: Any) -> None:
    long = "\n".join(f"Line {n} about the luggage." for n in range(40)) + "\nThe very end of it."
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        chat = memory.session("trip", user="ada")
        chat.add_many([Message("user", long), Message("assistant", "Noted."), Message("user", "And the luggage?")])
        chat.remember("luggage", "a bag, " * 200 + "and a tent")
        memory.session("other", user="ada").add("user", "What about the luggage?")
        memory.drain()
        page = found.open("search")
        enter(page, "Question", "luggage")
        for view, place, end in (
            ("search", ".card", "The very end of it."),
            ("facts", ".card", "and a tent"),
            ("replay", ".asked", "The very end of it."),
        ):
            if view != "search":
                page = found.open(view, at="1")
            whole = page.locator(place).filter(has_text=end)
            expect(page.locator(place).get_by_role("button", name="Read on")).to_be_visible()
            expect(whole).to_have_count(0)
            page.locator(place).get_by_role("button", name="Read on").press("Enter")
            expect(whole).to_be_visible()
            page.keyboard.press("Enter")
            expect(whole).to_have_count(0)


def test_of_many_facts_those_in_sight_are_laid_out(tab: Any) -> None:
    shown = "card => card.querySelector('h3').checkVisibility({ contentVisibilityAuto: true })"
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        chat = memory.session("trip", user="ada")
        for n in range(200):
            chat.remember(f"fact {n:03}", "so")
        cards = found.open("facts").locator(".card")
        expect(cards).to_have_count(200)
        found.page.wait_for_function(shown, arg=cards.first.element_handle())
        assert not cards.last.evaluate(shown)
        cards.last.scroll_into_view_if_needed()
        expect(cards.last.get_by_role("heading")).to_be_in_viewport()


def test_a_fact_is_forgotten_after_a_question(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        ada = memory.user("ada")
        ada.remember("seat", "by the window")
        ada.remember("tea: \u202eblack", "yes & no")
        page = found.open("facts")
        for key, button, left in (("seat", "Keep it", 2), ("seat", "Forget", 1), ("tea", "Forget", 0)):
            page.get_by_role("button", name=f"Forget\u2026 {key}").click()
            page.get_by_role("button", name=button, exact=True).click()
            expect(page.locator(".card")).to_have_count(left)
            assert len(ada.facts()) == left
        expect(page.get_by_text("Nothing is known any more")).to_be_visible()


def test_the_way_back_leads_to_what_was_shown(sample: Running, tab: Any) -> None:
    with tab(sample.url, viewport={"width": 1200, "height": 400}) as found:
        page = found.open("search")
        enter(page, "Question", "peanuts")
        page.get_by_role("button", name="Show message").first.click()
        expect(page.locator(".row.marked")).to_be_visible()
        page.go_back()
        expect(page.locator(".card").filter(has_text="peanuts").first).to_be_visible()
        expect(page.get_by_label("Question")).to_have_value("peanuts")
        page = found.open("replay")
        page.get_by_role("slider").press("ArrowLeft")
        expect(page.locator(".replayed[data-seq='52']")).to_be_visible()
        page.reload()
        expect(page.locator(".replayed[data-seq='52']")).to_be_visible()
        page = found.open("timeline")
        enter(page, "Go to message", "7")
        page.reload()
        expect(page.locator(".row.marked[data-seq='7']")).to_be_visible()
        page = found.open("facts")
        page.locator(".card").last.scroll_into_view_if_needed()
        down = page.evaluate("document.getElementById('view').scrollTop")
        page.locator(".card").last.get_by_role("button", name="Source").click()
        expect(page.locator(".row.marked")).to_be_visible()
        assert page.evaluate("document.activeElement.id") == "view"
        page.go_back()
        expect(page.locator("#view[data-ready=facts] .card").last).to_be_visible()
        assert page.evaluate("document.getElementById('view').scrollTop") == down > 100
        assert "trip" in page.title()


def test_a_later_question_than_the_last_leaves_the_context_in_sight(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("replay")
        page.get_by_role("slider").press("ArrowLeft")
        expect(page.locator(".replayed[data-seq='52'] .budget")).to_be_visible()
        page.route("**/replay?*", lambda _: None)
        later = page.get_by_role("button", name="Later question")
        for _ in range(2):
            with page.expect_response("**/messages?*"):
                later.click()
        page.wait_for_timeout(200)
        page.unroute_all()
        expect(page.locator(".replayed[data-seq='58']")).to_contain_text("What should I still pack")
        expect(page.locator(".replayed[aria-busy]")).to_have_count(0)


def test_the_earlier_messages_of_a_chat_are_on_the_time_line(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("chat")
        page.get_by_role("button", name="Earlier messages").click()
        expect(page.locator(".row.marked[data-seq='9']")).to_be_visible()
        expect(page.locator(".row.marked time")).to_be_visible()
        assert found.open("chat", "mon").get_by_role("button", name="Earlier messages").count() == 0


def test_a_service_that_is_gone_is_told_and_no_question_is_lost(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service:
        fill(memory)
        with tab(service.url, expected="ERR_FAILED") as found:
            page = found.open("chat")
            expect(page.locator(".budget")).to_be_visible()
            page.route(
                re.compile(r"/(chat|messages|contexts|documents|stats|metrics|search)\b"), lambda route: route.abort()
            )
            enter(page, "Message", "Where does my sister live?")
            expect(page.get_by_role("alert")).to_contain_text("can't be reached")
            expect(page.get_by_label("Message")).to_have_value("Where does my sister live?")
            expect(page.locator(".bubble.assistant").last).not_to_have_text("Assistant")
            page.unroute_all()
            page.keyboard.press("Enter")
            expect(page.locator("#status")).to_have_text("Answered.")
            expect(page.locator(".bubble.user").filter(has_text="Where does my sister live?")).to_have_count(1)
            expect(page.get_by_role("alert")).to_have_count(0)
            page.route(re.compile("/facts"), lambda route: route.abort())
            page.get_by_role("tab", name="Facts").click()
            expect(page.get_by_role("alert")).to_contain_text("can't be reached")
            page.unroute_all()
            page.get_by_role("button", name="Try again").click()
            expect(page.locator(".card").first).to_be_visible()
            page.route(re.compile("/messages.*after"), lambda route: route.abort())
            page.get_by_role("tab", name="Time line").click()
            expect(page.locator("#status")).to_contain_text("can't be reached")
            page.unroute_all()
            expect(page.locator(".row-text").last).to_be_visible()
            expect(page.locator("#status")).to_have_text("")
            for view, button in (("replay", "Earlier question"), ("documents", "Find")):
                page = found.open(view)
                if view == "documents":
                    page.get_by_label("Find a passage").fill("bag")
                page.wait_for_load_state("networkidle")
                page.route(re.compile("/(messages|documents)"), lambda route: route.abort())
                page.get_by_role("button", name=button).click()
                expect(page.get_by_role("alert")).to_contain_text("can't be reached")
                page.unroute_all()


def test_an_answer_that_breaks_off_is_told(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("chat", "mon")
        part = 'event: token\ndata: {"text": "In Os"}\n\n'
        page.route("**/chat?*", lambda route: route.fulfill(content_type="text/event-stream", body=part))
        enter(page, "Message", "Where does my sister live?")
        expect(page.get_by_role("alert")).to_contain_text("broke off")
        expect(page.locator(".bubble.assistant").last).to_contain_text("In Os")
        expect(page.locator("#status")).not_to_have_text("Answered.")


def test_metrics_go_on_after_a_failure_and_ask_for_a_key_once(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        _, secret = add_key(memory.store, may=["admin"])
        with running(memory) as service, tab(service.url, expected="401|ERR_FAILED") as found:
            page = found.page
            page.goto(f"{service.url}/#/metrics/ada/trip/")
            enter(page, "Key", secret)
            expect(page.locator(".plot").first).to_be_visible()
            expect(page.locator(".metric").filter(has_text="Time to build a context")).to_contain_text("–")
            page.route("**/stats", lambda route: route.abort())
            expect(page.locator("#status")).to_contain_text("can't be reached")
            expect(page.locator(".plot").first).to_be_visible()
            assert page.get_by_role("alert").count() == 0
            page.unroute_all()
            expect(page.locator("#status")).to_have_text("")
            expect(page.locator(".axis").first).to_have_text(re.compile(r"\d+ s ago.*now"))
            page.route("**/stats", lambda route: route.fulfill(status=401, json={"detail": "That key is not known."}))
            page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
            page.wait_for_timeout(4_500)
            assert page.get_by_role("dialog").count() == 0


def test_another_key_is_asked_for_where_one_may_not_do_it(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        reads, erases = (add_key(memory.store, may=may)[1] for may in (["read"], ["read", "erase"]))
        memory.session("trip", user="ada").add("user", "Hello there")
        with running(memory) as service, tab(service.url, expected="40[13]") as found:
            page = found.page
            page.goto(f"{service.url}/#/forget/ada/trip/")
            enter(page, "Key", reads)
            page.get_by_role("button", name="Preview").click()
            expect(page.get_by_role("dialog")).to_contain_text("This key may not erase.")
            page.keyboard.press("Escape")
            expect(page.get_by_role("alert")).to_contain_text("use a key that may erase")
            page.get_by_role("button", name="Preview").click()
            enter(page, "Key", erases)
            expect(page.get_by_text("This would be erased")).to_be_visible()


def test_a_preview_of_something_else_is_not_there_to_be_forgotten(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("forget")
        page.get_by_role("button", name="Preview").click()
        expect(page.get_by_role("button", name="Forget for good…")).to_be_visible()
        page.get_by_label(f"Everything of {named('ada')}").check()
        expect(page.get_by_role("button", name="Forget for good…")).to_have_count(0)


def test_a_conversation_beyond_the_list_is_not_called_new(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.page
        page.route("**/sessions?*", lambda route: route.fulfill(json={"items": [], "before": 7}))
        page = found.open("chat")
        expect(page.locator("#session option")).to_have_text(
            [f"{named('trip')} · {named('ada')}", "Older ones are opened by name: New…"]
        )
        page.unroute_all()
        page = found.open("chat", "tomorrow")
        expect(page.locator("#session option").first).to_have_text(f"{named('tomorrow')} · {named('ada')} · new")


@pytest.mark.parametrize("width", [320, 375, 768, 1024])
def test_nothing_lies_over_anything(width: int, sample: Running, tab: Any) -> None:
    with tab(sample.url, viewport={"width": width, "height": 700}) as found:
        page = found.open("replay")
        expect(page.locator(".cached-note")).to_be_visible()
        assert not page.evaluate(OVERLAPS, [".cached-note", ".budget"])
        assert page.locator(".budget").bounding_box()["width"] > 0.6 * width
        for view in ("chat", "patterns", "forget"):
            page = found.turn(view)
            chosen = page.get_by_role("tab", selected=True).bounding_box()
            assert chosen["x"] >= 0 and chosen["x"] + chosen["width"] <= width, view


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_edge_of_a_field_can_be_seen(scheme: str, sample: Running, tab: Any) -> None:
    with tab(sample.url, color_scheme=scheme) as found:
        page = found.open("search")
        for name in ("#question", "#session", "#new-session"):
            assert page.evaluate(CONTRAST, name) >= 3


def test_paper_has_all_of_a_view(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("chat")
        expect(page.locator(".budget")).to_be_visible()
        page.emulate_media(media="print")
        cut = "e => e.scrollHeight - e.clientHeight > 1 && getComputedStyle(e).overflowY !== 'visible'"
        for place in ("#view", ".log", ".side"):
            assert not page.locator(place).evaluate(cut), place
        assert page.evaluate("document.documentElement.scrollHeight") > 2_000
        expect(page.get_by_label("Message")).not_to_be_visible()


@pytest.mark.parametrize("width", [360, 1200])
def test_a_time_line_is_as_tall_as_its_rows_and_has_each_script_from_its_own_side(width: int, tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service:
        memory.session("trip", user="ada").add_turn("أختي نادية انتقلت إلى أوسلو", "Noted!")
        with tab(service.url, viewport={"width": width, "height": 720}) as found:
            page = found.open("timeline")
            starts = "found => found.map((text) => getComputedStyle(text).textAlign + getComputedStyle(text).direction)"
            expect(page.locator(".row-text")).to_have_count(2)
            assert page.locator(".row-text").evaluate_all(starts) == ["startrtl", "startltr"]
            assert page.locator(".scroll").bounding_box()["height"] == 2 * 64 + 2
            expect(page.get_by_role("button", name="Go", exact=True)).to_be_visible()


def test_messages_come_while_the_time_line_is_scrolled(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        memory.session("trip", user="ada").add_many([Message("user", f"message {n}") for n in range(1, 2_001)])
        page = found.open("timeline", at="1")
        expect(page.locator(".row.marked")).to_contain_text("message 1")
        page.evaluate(
            "() => { window.going = setInterval(() => { document.querySelector('.scroll').scrollTop += 60 }, 20) }"
        )
        page.wait_for_function(
            "() => Number(document.querySelector('.row-text')?.parentElement.parentElement.dataset.seq) > 300"
        )
        page.evaluate("clearInterval(window.going)")


@pytest.mark.parametrize("width", [375, 1200])
def test_the_words_of_a_job_are_not_broken(width: int, sample: Running, tab: Any) -> None:
    job = {"id": "1", "kind": "summary", "state": "waiting", "attempts": 3, "error": "x" * 300}
    shown = {**job, "scope": {"user": "ada", "session": "a long name " * 12}}
    with tab(sample.url, viewport={"width": width, "height": 700}) as found:
        page = found.page
        page.route("**/jobs?*", lambda route: route.fulfill(json={"items": [shown], "after": None}))
        page = found.open("jobs")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for text in ("summary", "waiting"):
            words = page.get_by_role("cell", name=text, exact=True).get_by_text(text).last
            assert words.evaluate(LINES) == 1, text


def test_only_a_job_that_waits_is_due(sample: Running, tab: Any) -> None:
    jobs = [
        {"id": state, "kind": "summary", "state": state, "attempts": 1, "due": "2024-05-01T10:00:00Z"}
        for state in ("waiting", "running", "dead")
    ]
    with tab(sample.url) as found:
        found.page.route("**/jobs?*", lambda route: route.fulfill(json={"items": jobs, "after": None}))
        due = found.open("jobs").locator("tbody td:nth-child(4)").all_inner_texts()
        assert [bool(text) for text in due] == [True, False, False]


def test_keys_go_through_the_page_from_its_top(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("facts")
        order = []
        for _ in range(4):
            page.keyboard.press("Tab")
            order.append(page.evaluate("document.activeElement.id"))
        assert order == ["session", "new-session", "tab-facts", "view"]
        page.get_by_role("button", name="New…").press("Enter")
        expect(page.locator("#new-name")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("#new-session")).to_be_focused()


def counting(found: Any, model: Scripted) -> Any:
    """The page of a chat in which the first word of an answer has come."""
    page = found.open("chat")
    enter(page, "Message", "Count.")
    model.go_on.release()
    expect(page.locator(".bubble.assistant p")).to_have_text("One")
    return page


def test_an_answer_can_be_stopped(tab: Any) -> None:
    model = Scripted("One ", "two ", "three.", wait=True)
    with Memory.open(":memory:", embedder=None) as memory, chatting(memory, model) as url, tab(url) as found:
        page = counting(found, model)
        expect(page.get_by_role("button", name="Send")).to_have_count(0)
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#status")).to_have_text("Stopped.")
        expect(page.get_by_role("button", name="Send")).to_be_visible()
        assert page.locator(".problem").count() == 0
        model.go_on.release(2)
        assert model.closed.wait(30)
        page.reload()
        expect(page.locator(".bubble.assistant p")).to_have_text("One")


def test_an_answer_goes_on_while_another_view_is_shown(tab: Any) -> None:
    model = Scripted("One ", "two ", "three.", wait=True)
    with Memory.open(":memory:", embedder=None) as memory, chatting(memory, model) as url, tab(url) as found:
        page = counting(found, model)
        page.get_by_role("tab", name="Facts").click()
        expect(page.locator("#view[data-ready=facts]")).to_be_visible()
        model.go_on.release()
        page.get_by_role("tab", name="Chat").click()
        expect(page.locator(".bubble.assistant[aria-busy] p")).to_have_text("One two")
        expect(page.locator(".bubble.user")).to_have_count(1)
        page.get_by_role("tab", name="Facts").click()
        expect(page.locator("#view[data-ready=facts]")).to_be_visible()
        model.go_on.release()
        expect(page.locator("#status")).to_have_text("Answered.")
        page.get_by_role("tab", name="Chat").click()
        expect(page.locator(".bubble.assistant p")).to_have_text("One two three.")
        expect(page.locator(".budget")).to_be_visible()


def test_jobs_beyond_those_shown_are_counted(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        memory.store.jobs.enqueue(Scope("default", "ada"), [Job("of another program") for _ in range(250)])
        page = found.open("jobs")
        expect(page.locator("tbody tr")).to_have_count(200)
        expect(page.locator(".hint")).to_have_text("The oldest 200 are shown; there are 50 others.")


def test_the_parts_of_a_budget_are_told_by_more_than_their_colour(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("chat")
        expect(page.locator(".budget")).to_be_visible()
        parts, named = (page.locator(place).all_text_contents() for place in (".budget > span", ".legend .dot"))
        assert parts == named == [str(number + 1) for number in range(len(parts))]
        assert len(parts) > 3


@pytest.mark.parametrize("width", [360, 1200])
def test_no_number_in_a_budget_is_cut(width: int, sample: Running, tab: Any) -> None:
    with tab(sample.url, viewport={"width": width, "height": 720}) as found:
        parts = found.open("replay").locator(".budget > span")
        expect(parts.first).to_be_visible()
        cut = "all => all.filter((part) => part.innerText.trim() && part.scrollWidth > part.clientWidth).length"
        assert parts.evaluate_all(cut) == 0
        assert parts.evaluate_all("all => all.filter((part) => part.innerText.trim()).length") > 0


def test_fields_and_buttons_in_a_row_are_as_tall(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("search")
        tall = "all => [...new Set(all.map((one) => Math.round(one.getBoundingClientRect().height)))]"
        assert len(page.locator(".bar > input, .bar > select, .bar > button").evaluate_all(tall)) == 1
        assert len(page.locator(".pick > select, .pick > button").evaluate_all(tall)) == 1


def test_a_search_claims_no_more_than_it_knows(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("search", at="airport")
        expect(page.locator(".hint").first).to_have_text(re.compile(r"^\d+ moments?, nearest first$"))


def test_what_is_not_there_yet_says_what_it_takes(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        memory.session("trip", user="ada").add_turn("How do I get to the airport?", "By train.")
        memory.drain()
        page = found.open("patterns")
        expect(page.locator(".hint").filter(has_text="3 conversations")).to_have_count(2)
        assert page.locator(".figure span").all_inner_texts()[:2] == ["conversation", "turn"]
        expect(found.open("jobs").locator("#state option").last).to_have_text("given up")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_numbers_of_a_budget_can_be_read(scheme: str, sample: Running, tab: Any) -> None:
    with tab(sample.url, color_scheme=scheme) as found:
        page = found.open("chat")
        expect(page.locator(".legend .dot").first).to_be_visible()
        sections = [section for section in COLOURS if section != "free"]
        told = f"""() => {sections}.filter((section) => {{
                const dot = document.querySelector('.legend .dot').cloneNode(true);
                dot.className = `dot s-${{section}}`;
                document.querySelector('.legend').append(dot);
                const {{ color, backgroundColor, textShadow }} = getComputedStyle(dot);
                const both = [color, backgroundColor].map({LIGHT});
                return textShadow !== 'none' || Math.max(...both) / Math.min(...both) < 4.5;
            }})"""
        assert page.evaluate(told) == []
