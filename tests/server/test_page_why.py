"""The page asked why an agent said something, by pointer and by keys; and what it tells meanwhile."""

from __future__ import annotations

import re
from typing import Any

import pytest

from recollect.memory import Memory
from recollect.testing.provider import Provider
from recollect.types import Message, Text, Thinking
from tests.server.browser import enter, fill, needs_chromium
from tests.server.running import Running, running
from tests.server.test_chat import Scripted, chatting

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect
pytestmark = needs_chromium

AT_THE_END = "() => [document.querySelector('.log')].every((e) => e.scrollHeight - e.scrollTop - e.clientHeight < 5)"


@pytest.mark.parametrize("width", [390, 1200])
def test_each_answer_leads_to_the_context_it_was_made_from(width: int, tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service:
        chat = memory.session("trip", user="ada")
        for said in ("I live in Lyon.", "My son is called Theo.", "I play the cello."):
            chat.add_turn(said, "Noted.")
        with tab(service.url, viewport={"width": width, "height": 740}) as found:
            page = found.open("chat")
            buttons = page.get_by_role("button", name="Why this answer?")
            expect(buttons).to_have_count(3)
            expect(buttons.last).to_have_attribute("aria-pressed", "true")
            buttons.nth(1).press("Enter")
            expect(buttons.nth(1)).to_have_attribute("aria-pressed", "true")
            expect(buttons.last).to_have_attribute("aria-pressed", "false")
            expect(page.locator(".side h2")).to_be_in_viewport(ratio=1)
            expect(page.locator(".side")).to_be_focused()
            page.get_by_text("The prompt: 3 messages").click()
            expect(page.locator(".prompt li").last).to_contain_text("Theo")
            page.reload()
            expect(buttons.nth(1)).to_have_attribute("aria-pressed", "true")
            page.get_by_role("tab", name="Time line").click()
            page.locator("[data-seq='4'] button").click()
            page.get_by_role("dialog").get_by_role("button", name="Why this answer?").click()
            expect(page.locator(".replayed[data-seq='3']")).to_be_visible()


def test_a_context_says_whether_it_is_the_very_one_that_was_sent(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        fill(memory)
        page = found.open("chat", "today")
        page.get_by_label("Message").fill("What am I allergic to?")
        enter(page, "Budget", "900")
        expect(page.locator(".side .big")).to_contain_text("of 900 tokens")
        expect(page.locator(".side")).not_to_contain_text("Built again")
        expect(page.locator("#status")).to_have_text("Answered.")
        page.reload()
        expect(page.get_by_label("Context of this question")).to_contain_text(
            "Built again from what was kept until this question, for a budget of 8,000 tokens."
        )


def test_calls_of_tools_are_folded_over_their_results(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("chat")
        call = page.locator(".call").filter(has_text="find_restaurants")
        expect(call.locator("pre")).not_to_be_visible()
        call.locator("summary").press("Enter")
        expect(call.locator("pre")).to_contain_text("Sjøbua")
        expect(page.locator(".log")).not_to_contain_text("[calls")


def test_thoughts_are_folded_while_they_come_and_once_they_are_kept(tab: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said = Message("assistant", (Thinking("She moved in May."), Text("In Oslo.")))
    with Provider("openai", [said]) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        with running(model="openai:test-model") as service, tab(service.url) as found:
            page = found.open("chat")
            enter(page, "Message", "Where does Nadia live?")
            for _ in range(2):
                thoughts = page.locator(".bubble.assistant .call").filter(has_text="Thoughts")
                expect(thoughts.locator("pre")).to_have_text("She moved in May.")
                expect(thoughts.locator("pre")).not_to_be_visible()
                expect(page.locator(".bubble.assistant p")).to_have_text("In Oslo.")
                expect(page.locator("#status")).to_have_text(re.compile(r"Answered\.|^$"))
                page.reload()
            row = found.open("timeline").locator("[data-seq='2'] .row-text")
            expect(row).to_have_text("[thinks] She moved in May. In Oslo.")


def test_an_answer_that_broke_off_and_one_that_is_a_refusal_are_told(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        memory.session("trip", user="ada").add_many(
            [
                Message("user", "Where does Nadia live?"),
                Message("assistant", "In Os", metadata={"partial": True}),
                Message("user", "Open the safe."),
                Message("assistant", extra={"refusal": "I can't help with that."}),
            ]
        )
        answers = found.open("chat").locator(".bubble.assistant")
        expect(answers.first).to_contain_text("It broke off here.")
        expect(answers.last.locator("p")).to_have_text("I can't help with that.")
        rows = found.open("timeline").locator(".row-text")
        expect(rows.nth(1)).to_have_text("In Os [broke off]")
        expect(rows.nth(3)).to_have_text("I can't help with that.")


def test_what_is_looked_at_stays_while_an_answer_comes(tab: Any) -> None:
    model = Scripted("One\n" * 80, "two ", "three.", wait=True)
    with Memory.open(":memory:", embedder=None) as memory, chatting(memory, model) as url, tab(url) as found:
        page = found.open("chat")
        enter(page, "Message", "Count.")
        model.go_on.release()
        expect(page.locator(".bubble.assistant p")).to_contain_text("One")
        page.wait_for_function(AT_THE_END)
        page.get_by_text("The prompt:").click()
        log = page.locator(".log")
        log.evaluate("e => { e.scrollTop = 0 }")
        model.go_on.release(2)
        expect(page.get_by_role("button", name="Send")).to_be_visible()
        expect(page.get_by_role("button", name="Why this answer?")).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".prompt")).to_be_visible()
        assert log.evaluate("e => e.scrollTop") == 0


@pytest.mark.parametrize("width", [390, 1200])
def test_what_went_wrong_is_in_sight(width: int, tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service:
        fill(memory)
        with tab(service.url, expected="404", viewport={"width": width, "height": 740}) as found:
            page = found.open("facts")
            for day in ("mon", "tue", "wed", "thu", "trip"):
                memory.session(day, user="ada").forget()
            page.get_by_role("button", name="Source").first.click()
            expect(page.locator("#status .wrong")).to_contain_text("No message")
            expect(page.locator("#status .wrong")).to_be_in_viewport(ratio=1)


def test_arrow_keys_go_from_message_to_message(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        chat = memory.session("trip", user="ada")
        said = chat.add_many([Message("user", f"message {n}") for n in range(1, 301)])
        chat.forget([said[109].id])
        page = found.open("timeline", at="90")
        page.locator("[data-seq='90'] button").focus()
        for seq in range(91, 121):
            page.keyboard.press("ArrowDown")
            assert page.evaluate("document.activeElement.closest('.row').dataset.seq") == str(seq)
        expect(page.locator("[data-seq='120'] button")).to_be_in_viewport(ratio=1)
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_contain_text("message 119")


def test_another_scope_is_searched_at_once(tab: Any) -> None:
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        fill(memory)
        page = found.open("search", "mon", at="airport")
        expect(page.locator(".card").filter(has_text="airport").first).to_be_visible()
        page.get_by_label("Where").select_option("This conversation")
        expect(page.locator(".card").filter(has_text="airport")).to_have_count(0)
        expect(page.locator("#view")).to_contain_text(re.compile("Nothing found|nearest first"))


def test_keys_reach_the_message_field_past_a_long_conversation(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("chat")
        page.locator("#view").focus()
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name="To the message field")).to_be_in_viewport(ratio=1)
        page.keyboard.press("Enter")
        expect(page.get_by_label("Message")).to_be_focused()


def test_a_question_that_was_answered_is_not_told_as_gone(sample: Running, tab: Any) -> None:
    with tab(sample.url) as found:
        page = found.open("replay")
        diff = page.locator(".diff")
        expect(diff.locator(".added").filter(has_text="What should I still pack")).to_be_visible()
        expect(diff.locator(".removed").filter(has_text="Book it all now")).to_have_count(0)


def test_an_answer_is_set_as_its_model_meant_it(tab: Any) -> None:
    said = "**Two** ways, by `rail`:\n\n> said on *Monday*\n> <b>so</b>\n\n```sh\n# **not** bold\n> go\n```\nDone"
    with Memory.open(":memory:", embedder=None) as memory, running(memory) as service, tab(service.url) as found:
        memory.session("trip", user="ada").add_turn("How?", said)
        answer = found.open("chat").locator(".bubble.assistant")
        expect(answer.locator("b")).to_have_text("Two")
        expect(answer.locator("code")).to_have_text("rail")
        expect(answer.locator("blockquote")).to_have_text("said on *Monday* <b>so</b>")
        expect(answer.locator("pre")).to_have_text("# **not** bold > go")
        expect(answer.locator("p")).to_have_text(["Two ways, by rail:", "Done"])


def test_what_takes_long_is_told_until_it_is_done(sample: Running, tab: Any) -> None:
    held: list[Any] = []
    with tab(sample.url) as found:
        page = found.open("documents")
        page.route(
            "**/documents?*", lambda route: held.append(route) if route.request.method == "PUT" else route.continue_()
        )
        page.get_by_label("Add a file").set_input_files(
            {"name": "notes.md", "mimeType": "text/plain", "buffer": b"# Notes\n\nWords.\n"}
        )
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.get_by_role("button", name="Add", exact=True)).to_be_disabled()
        expect(page.locator("#status")).to_contain_text("notes.md")
        assert page.locator("#status span").evaluate("e => getComputedStyle(e).animationName") == "none"
        while not held:
            page.wait_for_timeout(10)
        held[0].fulfill(json={})
        expect(page.locator("#status")).to_contain_text("is kept.")
        expect(page.get_by_role("button", name="Add", exact=True)).to_be_enabled()
        assert page.locator("#status span").evaluate("e => getComputedStyle(e).animationName") == "leave"
