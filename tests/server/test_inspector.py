"""The page at `/`, in a real Chromium. RECOLLECT_SCREENSHOTS names a folder for pictures of every view."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from recollect.demo import QUESTIONS, keep
from recollect.flow.title import title
from recollect.memory import Memory
from recollect.server.auth import add_key
from recollect.types import Message
from tests.server.browser import WIDE, enter, fill, needs_chromium
from tests.server.hostile import HOSTILE, ODD, named
from tests.server.running import Running, running

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
pytestmark = needs_chromium

SCREENSHOTS = os.environ.get("RECOLLECT_SCREENSHOTS")
VIEWS = {
    "chat": ".bubble",
    "timeline": ".row-text",
    "replay": ".budget",
    "search": ".empty-title",
    "facts": ".card .value",
    "patterns": ".figure",
    "documents": ".card h3",
    "jobs": "table, .empty-title",
    "metrics": ".plot polyline",
    "forget": ".choice",
}
"""Every view, and what shows that it has something to show."""
AXE = "axe-core@4.10.3"
VIOLATIONS = "asked => axe.run({resultTypes: ['violations'], ...asked}).then(found => found.violations)"


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_shows_the_sample(view: str, sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open(view)
        expect(page.locator(VIEWS[view]).first).to_be_visible()
        expect(page.get_by_role("tab", selected=True)).to_have_attribute("data-view", view)
        if view == "chat":
            expect(page.locator(".budget")).to_be_visible()
        if view == "timeline":
            expect(page.locator(".row").last).to_contain_text(re.compile(r"\w{3}"))
        shot(page, view)


def shot(page: Any, name: str) -> None:
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS, f"{name}.png"))


def test_a_turn_shows_the_context_it_was_answered_from(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service:
        fill(memory)
        with tab(service.url) as found:
            page = found.open("chat", "today")
            expect(page.locator(".log .empty-title")).to_have_text("Nothing said here yet")
            for question, answer in (
                ("Where does my sister Nadia live?", "Oslo"),
                ("How old is my son Theo?", "6 years old"),
                ("What am I allergic to?", "peanuts"),
            ):
                enter(page, "Message", question)
                expect(page.locator(".bubble.assistant").last).to_contain_text(answer)
                expect(page.locator("#status")).to_have_text("Answered.")
                expect(page.get_by_role("button", name="Send")).to_be_enabled()
            panel = page.get_by_label("Context as it was sent")
            expect(panel.locator(".line").filter(has_text="peanuts").first).to_contain_text("in: ")
            expect(panel.get_by_role("img", name=re.compile("Budget of .* tokens: .*Question"))).to_be_visible()
            expect(panel.get_by_text("Since the turn before")).to_be_visible()
            expect(panel.locator(".diff .added").first).to_be_visible()
            panel.get_by_text("The prompt:").click()
            expect(panel.locator(".prompt .cached").first).to_be_visible()
            panel.get_by_text("The prompt:").click()
            page.locator(".side").evaluate("e => { e.scrollTop = 0 }")
            page.emulate_media(reduced_motion="reduce")
            shot(page, "turn")
            page.emulate_media(color_scheme="dark")
            shot(page, "turn-dark")
        assert [m.role for m in memory.session("today", user="ada").history()] == ["user", "assistant"] * 3


def test_a_new_conversation_suggests_what_to_ask(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory, questions=QUESTIONS) as service:
        keep(memory)
        with tab(service.url) as found:
            page = found.open("chat", "today")
            expect(page.locator(".suggested button")).to_have_text(list(QUESTIONS))
            shot(page, "suggested")
            page.get_by_role("button", name="Who is my manager?").click()
            expect(page.locator(".bubble.assistant").last).to_contain_text("Farida is your manager (said 2 June 2026)")
            expect(page.locator("#status")).to_have_text("Answered.")
            expect(page.locator(".suggested")).to_have_count(0)


def test_the_slider_goes_through_the_contexts_of_the_past(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("replay")
        slider = page.get_by_role("slider")
        newest = int(slider.input_value())
        asked = page.locator(".asked p")
        words = asked.inner_text()
        slider.press("ArrowLeft")
        expect(asked).not_to_have_text(words)
        assert int(slider.input_value()) < newest
        expect(page.locator(f".replayed[data-seq='{slider.input_value()}'] .budget")).to_be_visible()
        page.get_by_role("button", name="Later question").click()
        expect(page.locator(f".replayed[data-seq='{newest}']")).to_be_visible()
        slider.evaluate("e => { e.value = 1; e.dispatchEvent(new Event('change')) }")
        expect(page.locator(".replayed[data-seq='2'] .budget")).to_be_visible()


def test_a_fact_has_its_history_and_leads_to_its_message(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("facts")
        expect(page.locator(".card h3").filter(has_text="sister Nadia, place")).to_be_visible()
        card = page.locator(".card").filter(has_text="Marseille").first
        card.get_by_role("button", name="History").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.locator(".history")).to_contain_text("Lyon")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        card.get_by_role("button", name="Source").first.click()
        expect(page.locator(".row.marked")).to_contain_text("Marseille")
        assert page.url.endswith("#/timeline/ada/wed/1")


def test_a_dialog_is_left_with_its_view_but_not_the_one_for_a_key(sample: Running, tab: Any) -> None:
    with tab(sample.url, expected="401") as found:
        page = found.open("chat")
        found.turn("facts")
        page.get_by_role("button", name="History").first.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.go_back()
        expect(page.locator("#view[data-ready=chat]")).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.route("**/facts?*", lambda route: route.fulfill(status=401, json={}))
        page.go_forward()
        expect(page.get_by_role("dialog")).to_contain_text("A key is needed")
        page.go_back()
        expect(page.locator("#view[data-ready=chat] .bubble").first).to_be_visible()
        expect(page.get_by_role("dialog")).to_contain_text("A key is needed")


def test_a_pattern_leads_to_the_conversation_that_began_it(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("patterns", "trip")
        card = page.locator(".card").filter(has_text="How do I get to the airport?").first
        card.get_by_role("button", name="First said").click()
        expect(page.locator(".row.marked")).to_contain_text("How do I get to the airport?")
        expect(page.locator("#session")).to_have_value('["ada","tue"]')


def test_a_source_leads_to_the_message_of_its_own_conversation(tab: Any) -> None:
    asked = "How do I get to the airport?"
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service:
        for day, *said in (
            ("mon", "I live in Lyon.", "Hm.", asked),
            ("tue", "Hi.", asked),
            ("wed", "I live in Lyon.", asked),
        ):
            batch = [Message("user", text, id=str(n)) for n, text in enumerate(said)]
            memory.session(day, user="ada").add_many(batch)
        memory.drain()
        with tab(service.url) as found:
            page = found.open("facts", "tue")
            page.get_by_role("button", name="Source 2").click()
            expect(page.locator(".row.marked")).to_contain_text("Lyon")
            assert page.url.endswith("#/timeline/ada/wed/1")
            page = found.open("patterns", "tue")
            page.locator(".card").filter(has_text=asked).get_by_role("button", name="First said").click()
            expect(page.locator(".row.marked")).to_contain_text(asked)
            assert page.url.endswith("#/timeline/ada/mon/3")
            page = found.open("replay", "tue", at="2")
            page.locator("summary").filter(has_text="Conversation: ").click()
            page.locator(".line").filter(has_text="Hi.").get_by_role("button", name="Show message").click()
            expect(page.locator(".row.marked")).to_contain_text("Hi.")
            assert page.url.endswith("#/timeline/ada/tue/1")


def test_a_message_that_is_gone_is_told(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service:
        fill(memory)
        with tab(service.url, expected="404") as found:
            page = found.open("patterns", "trip")
            expect(page.get_by_role("button", name="First said").first).to_be_visible()
            for day in ("mon", "tue", "wed", "thu", "trip"):
                memory.session(day, user="ada").forget()
            page.get_by_role("button", name="First said").first.click()
            expect(page.locator("#status")).to_contain_text("No message")


def test_a_fact_that_is_gone_has_no_history(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        memory.session("trip", user="ada").add("user", "I live in Oslo.")
        page = found.open("facts")
        memory.session("trip", user="ada").forget()
        page.get_by_role("button", name="History").click()
        expect(page.get_by_role("dialog")).to_contain_text("Nothing is known of this any more.")


def test_a_hit_leads_to_its_message(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("search", "mon")
        enter(page, "Question", "peanuts")
        hit = page.locator(".card").filter(has_text="peanuts").first
        expect(hit).to_be_visible()
        expect(page.locator(".card").first).to_contain_text("1. ")
        expect(page.locator(".card").first).not_to_contain_text("score")
        hit.get_by_role("button", name="Show message").click()
        expect(page.locator(".row.marked")).to_be_visible()
        expect(page.locator("#session")).to_have_value('["ada","trip"]')


def test_a_document_is_added_found_and_removed(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        page = found.open("documents")
        expect(page.locator(".empty-title")).to_have_text("No documents yet")
        text = b"# Fees\n\nA second bag costs forty euro at the airport.\n"
        page.get_by_label("Add a file").set_input_files({"name": "fees.md", "mimeType": "text/plain", "buffer": text})
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.locator(".card h3")).to_have_text("fees.md")
        enter(page, "Find a passage", "What does a second bag cost at the airport?")
        expect(page.locator(".card").filter(has_text="forty euro")).to_be_visible()
        page.get_by_role("button", name="Remove…").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        expect(page.locator(".empty-title")).to_have_text("No documents yet")


def test_forgetting_is_previewed_asked_for_and_done(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        fill(memory)
        before = len(memory.session("trip", user="ada").history())
        page = found.open("forget")
        page.get_by_role("button", name="Preview").click()
        expect(page.locator(".figure").first).to_have_text(f"{before}messages")
        shot(page, "forget")
        page.get_by_role("button", name="Forget for good…").click()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert len(memory.session("trip", user="ada").history()) == before
        page.get_by_role("button", name="Forget for good…").click()
        page.get_by_role("dialog").get_by_role("button", name="Forget").click()
        expect(page.get_by_role("heading", name="Forgotten")).to_be_visible()
        assert memory.session("trip", user="ada").history() == ()
        assert memory.session("mon", user="ada").history() != ()


def forget_it(page: Any) -> None:
    """Preview what the page is about to forget, which is one message, and go through with it."""
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("button", name="Forget for good…").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(page.locator("#status")).to_have_text("1 message forgotten.")


def test_what_was_forgotten_is_in_no_context_any_more(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        said = memory.session("trip", user="ada").add("user", "My sister Nadia moved to Oslo.")
        page = found.open("chat", "today")
        enter(page, "Message", "Where does my sister Nadia live?")
        expect(page.locator("#status")).to_have_text("Answered.")
        expect(page.locator(".side")).to_contain_text("moved to Oslo")
        page.evaluate("id => { location.hash = `#/forget/ada/trip/${id}` }", said.id)
        forget_it(page)
        page.evaluate("location.hash = '#/chat/ada/today/'")
        expect(page.locator(".side .big")).to_be_visible()
        expect(page.locator(".side")).not_to_contain_text("moved to Oslo")


@pytest.mark.parametrize("address", ["#/chat/%/trip/", "#/constructor/ada/trip/", "#nonsense"])
def test_an_address_that_leads_nowhere_shows_the_newest_conversation(address: str, sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        found.page.goto(f"{sample.url}/{address}")
        expect(found.page.locator("#view[data-ready=chat]")).to_be_attached()
        expect(found.page.locator(".bubble").first).to_be_visible()


def test_one_message_is_forgotten_from_the_time_line(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        memory.session("trip", user="ada").add_many(
            [Message("user", "one"), Message("user", "two"), Message("user", "three")]
        )
        page = found.open("timeline")
        page.get_by_role("button", name=re.compile("two")).click()
        page.get_by_role("button", name="Forget this message…").click()
        forget_it(page)
        assert [m.text for m in memory.session("trip", user="ada").history()] == ["one", "three"]
        found.open("timeline")
        expect(page.locator("[data-seq='2']")).to_contain_text("erased")


def test_hostile_strings_are_shown_and_never_obeyed(tab: Any) -> None:
    assert len(HOSTILE) >= 150
    strings = [*HOSTILE, *ODD]
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service:
        chat = memory.session("trip", user="ada")
        chat.add_many([Message("user", text) for text in strings])
        for n, text in enumerate(HOSTILE):
            chat.remember(f"{n:03} {text}"[:200], text)
        for text in HOSTILE[:30]:
            chat.documents.add(f"{text} and words to read", name=text[:200])
            memory.session(text[:200], user="ada").add("user", text)
        memory.drain()
        with tab(service.url, viewport={"width": 1280, "height": 64 * len(strings) + 600}) as found:
            page = found.open("timeline")
            expect(page.locator(".row-text")).to_have_count(len(strings))
            assert page.locator(".row-text").evaluate_all("all => all.map(e => e.textContent)") == [
                s[:400] for s in strings
            ]
            page.set_viewport_size(WIDE)
            options = page.locator("#session option").evaluate_all("all => all.map(e => e.textContent)")
            names = [(named(text[:200]), named(title([Message("user", text)]))) for text in HOSTILE[:30]]
            assert all(any(option.startswith(name) for option in options) for name in names)
            found.open("facts")
            shown = page.locator(".card .value").evaluate_all("all => all.map(e => e.textContent)")
            assert set(HOSTILE) <= set(shown)
            found.open("documents")
            names = page.locator(".card h3").evaluate_all("all => all.map(e => e.textContent)")
            assert sorted(names) == sorted({text[:200] for text in HOSTILE[:30]})
            found.open("search")
            enter(page, "Question", "script alert")
            expect(page.locator(".card").first).to_be_visible()
            for view in ("replay", "patterns", "jobs", "forget", "chat"):
                found.turn(view)
            for text in HOSTILE[:6]:
                enter(page, "Message", text)
                expect(page.locator(".bubble.user p").last).to_have_text(text)
                expect(page.get_by_role("button", name="Send")).to_be_enabled()
            assert page.locator(".log img, .log script, .log iframe, .side img, .side iframe").count() == 0


def test_a_name_turns_no_words_beside_it_around(tab: Any) -> None:
    name = "\u2069\u202edrawkcab" + "x" * 900
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        memory.session(name, user="ada").add("assistant", "Hello")
        page = found.open("search", name)
        expect(page.locator("#session option")).to_have_text([f"{named(name)} · {named('ada')} · 1 message"])
        expect(page).to_have_title(f"Search · {named(name)} · Recollect")
        enter(page, "Question", "Hello")
        expect(page.locator(".line-foot span").first).to_contain_text(named(name))
        expect(found.open("forget", name).locator(".choice")).to_contain_text([named(name), named("ada")])
        page.get_by_role("button", name="New…").click()
        page.get_by_label("Name of the conversation").fill(name)
        page.get_by_role("button", name="Start").click()
        expect(page.locator(".bubble.assistant")).to_have_count(1)


def test_the_views_are_reached_by_keys(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("chat")
        page.get_by_role("tab", name="Chat").focus()
        for view in (*list(VIEWS)[1:], "chat"):
            page.keyboard.press("ArrowRight")
            expect(page.locator(f"#view[data-ready={view}]")).to_be_attached()
            assert page.evaluate("document.activeElement.dataset.view") == view
        page.keyboard.press("End")
        expect(page.locator("#view[data-ready=forget]")).to_be_attached()
        assert page.locator("[role=tab][tabindex='0']").count() == 1


def test_a_key_is_asked_for_once_and_kept_for_the_tab(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        _, secret = add_key(memory.store, may=["admin"])
        memory.session("trip", user="ada").add("user", "Hello there")
        with running(memory) as service, tab(service.url, expected="401") as found:
            page = found.page
            page.goto(f"{service.url}/#/chat/ada/trip/")
            page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
            expect(page.get_by_role("alert")).to_contain_text("A key is needed.")
            page.get_by_role("button", name="Try again").click()
            for key, told in (
                ("rk_•••", "This service has keys. recollect keys add makes one."),
                (secret, "That key is not known."),
            ):
                expect(page.get_by_role("dialog")).to_contain_text(told)
                enter(page, "Key", key)
            expect(page.locator(".bubble")).to_contain_text("Hello there")
            page.reload()
            expect(page.locator(".bubble")).to_contain_text("Hello there")
            assert page.evaluate("Object.keys(localStorage).length") == 0


def test_a_narrow_screen_has_one_column_and_nothing_sticks_out(sample: Running, tab: Any) -> None:
    with tab(sample.url, viewport={"width": 360, "height": 740}) as found:
        found.open("chat")
        for view in VIEWS:
            page = found.turn(view)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, view
        page = found.turn("chat")
        expect(page.locator(".budget")).to_be_visible()
        talk, side = page.locator(".talk").bounding_box(), page.locator(".side").bounding_box()
        assert talk["x"] == side["x"] and side["y"] >= talk["y"] + talk["height"]


@pytest.fixture(scope="module")
def axe() -> str:
    folder = Path(platformdirs.user_cache_dir("recollect-tests"), AXE)
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        npm = shutil.which("npm") or pytest.skip("no npm to fetch axe-core with")
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--no-save", "--ignore-scripts", "--prefix", str(folder), AXE]
        if subprocess.run(command, capture_output=True, timeout=300, check=False).returncode:
            pytest.skip("axe-core can't be fetched here")
    return script.read_text("utf-8")


def test_nothing_serious_keeps_anyone_from_using_it(axe: str, sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        for view in VIEWS:
            page = found.open(view)
            page.wait_for_load_state("networkidle")
            page.locator("details").evaluate_all("all => all.forEach(e => { e.open = true })")
            page.evaluate(axe)
            for scheme, rules in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
                page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
                violations = page.evaluate(VIOLATIONS, rules)
                serious = [item for item in violations if item["impact"] in ("serious", "critical")]
                told = [(one["id"], node["target"], node["failureSummary"]) for one in serious for node in one["nodes"]]
                assert told == [], (view, scheme)
