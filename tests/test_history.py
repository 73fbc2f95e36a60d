"""A framework's own history beside a session."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from recollect import (
    BudgetTooSmall,
    ConfigError,
    Image,
    Memory,
    Message,
    Session,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    validate,
)
from recollect.errors import ContextOverflow
from recollect.flow.fence import block, with_memory
from recollect.history import Asking, Histories, History, Sent
from tests.wrong import wrong


def test_a_mistake_is_told_when_an_adapter_is_made() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        with pytest.raises(ConfigError, match=r"memory='memory\.db': give a Memory"):
            Histories(wrong("memory.db"), "ada")
        with pytest.raises(ConfigError, match="user must be text that is not empty, got ''"):
            Histories(memory, "")
        with pytest.raises(ConfigError, match="budget is '8k'; it must be a whole number of tokens above 0"):
            Histories(memory, "ada", budget=wrong("8k"))


@pytest.mark.parametrize("question", ["Which volcano erupted near Reykjavik?", "Where does my sister live?"])
def test_with_a_changed_history_only_what_is_to_the_point_is_recalled(question: str) -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        memory.session("old", user="ada").add_turn("My sister Nadia moved to Oslo.", "Noted.")
        memory.drain()
        history = History(memory.session("trip", user="ada"), 2_000)
        history.prompt([Message("user", "Hello there."), Message("assistant", "Hi!")])
        *_, asked = history.prompt(
            [Message("user", "Hello, edited."), Message("assistant", "Hi!"), Message("user", question)]
        )
        assert asked.message.text.endswith(question)
        assert ("Nadia moved to Oslo" in asked.message.text) == ("sister" in question)


@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("results", [[], [ToolResult("c1", "page 1")]])
def test_a_call_that_a_killed_run_left_without_its_result_is_not_sent(changed: bool, results: list[ToolResult]) -> None:
    calls = Message("assistant", (Text("I look."), ToolCall("c1", "lookup", "{}"), ToolCall("c2", "lookup", "{}")))
    given = [Message("user", "Look."), calls, *(Message("tool", (one,)) for one in results), Message("user", "And?")]
    with Memory.open(":memory:", embedder=None) as memory:
        history = History(memory.session("trip", user="ada"), 2_000, whole=True)
        if changed:
            history.prompt([Message("user", "Hello."), Message("assistant", "Hi!"), Message("user", "Look.")])
        sent = [line.message for line in history.prompt(given)]
        assert validate(sent, "openai") == []
        assert [message.role for message in sent] == [message.role for message in given]
        assert calls.content in [message.content for message in memory.session("trip", user="ada").history()]


def test_results_of_several_steps_in_one_message_are_within_the_budget() -> None:
    ids = "abcdef"
    late = Message("tool", tuple(ToolResult(id, f"rain in {id}") for id in ids))
    calls = [Message("assistant", (ToolCall(id, "look"),)) for id in ids]
    given = [Message("user", "Look."), *calls, late, Message("user", "And?")]
    shown = set()
    with Memory.open(":memory:", embedder=None) as memory:
        for budget in range(187, 267):
            history = History(memory.session(f"trip {budget}", user="ada"), budget, whole=True)
            history.prompt([Message("user", "Hello."), Message("assistant", "Hi!"), Message("user", "Look.")])
            sent = history.prompt(given)
            assert validate([line.message for line in sent], "anthropic") == []
            assert history.counted(sent, ()) <= budget
            shown.add(len(sent))
    assert shown == {1 + 2 * len(ids) + 1}


def test_what_is_put_in_front_of_what_is_known_is_kept_once() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        chat = memory.session("trip", user="ada")
        chat.add_turn("To Oslo?", "Yes.")
        known = [Message(message.role, message.text) for message in chat.history()]
        given = [Message("user", "Hello."), Message("assistant", "Hi!"), *known]
        for question in ("When?", "Where?", "Why?"):
            given.append(Message("user", question))
            sent = History(chat, 2_000).prompt(given)
            assert [line.message.text for line in sent] == [message.text for message in given]
            given.append(chat.add("assistant", f"{question} That is how."))
        assert len(chat.history()) == len(given)


def test_a_system_message_is_no_answer_to_a_question_that_failed() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        chat = memory.session("trip", user="ada")
        chat.add_turn("To Oslo?", "Yes.")
        given = [Message("user", "To Oslo?"), Message("assistant", "Yes."), Message("user", "When?")]
        history = History(chat, 2_000)
        history.prompt(given)
        chat.add("system", "Be brief.")
        asking = Asking(history, given, (), list)
        asking.first()
        asking.keep(Message("assistant", "At nine."))
        assert said(chat)[-1] == ("assistant", "At nine.")


def test_an_answer_whose_question_is_erased_meanwhile_is_not_kept() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        chat = memory.session("trip", user="ada")
        asking = Asking(History(chat, 2_000), [Message("user", "Where do I live?")], (), list)
        asking.first()
        chat.forget()
        asking.keep(Message("assistant", "In Oslo."))
        assert said(chat) == []


def test_a_question_that_is_erased_meanwhile_is_not_kept_when_it_is_asked_again_with_less() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        chat = memory.session("trip", user="ada")
        for n in range(40):
            chat.add_turn(f"question {n} " + "word " * 20, "answer " + "word " * 20)
        question = Message("user", "Where do I live?")
        asking = Asking(History(chat, 4_000), [question], (), list)
        first = asking.first()
        chat.forget([chat.history(1)[0].id])
        second = asking.after(ContextOverflow("too long", limit=3_000))
        asking.keep(Message("assistant", "In Oslo."))
        assert len(said(chat)) == 80
        assert [lines[-1].message.text for lines in (first, second)] == ["Where do I live?"] * 2


def test_a_question_of_which_nothing_is_kept_is_answered_all_the_same() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        chat = memory.session("trip", user="ada")
        asking = Asking(History(chat, 2_000), [Message("system", "Greet the user.")], (), list)
        asking.first()
        asking.keep(Message("assistant", "Hello!"))
        assert said(chat) == [("assistant", "Hello!")]


def test_a_system_message_that_was_kept_amid_a_conversation_changes_no_history() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        chat = memory.session("trip", user="ada")
        chat.add_turn("To Oslo?", "Yes.")
        chat.add("system", "Be brief.")
        sent = History(chat, 2_000).prompt([*map(_as_given, chat.history()[:2]), Message("user", "When?")])
        assert [line.message.text for line in sent] == ["To Oslo?", "Yes.", "Be brief.", "When?"]
        given = [Message("system", "Be kind."), *map(_as_given, chat.history()[:2]), Message("user", "When?")]
        sent = History(chat, 2_000).prompt(given)
        assert [line.message.text for line in sent] == ["Be kind.", "To Oslo?", "Yes.", "When?"]
        assert [line.place for line in sent] == [0, 1, 2, 3]


def _as_given(message: Message) -> Message:
    return Message(message.role, message.text)


@pytest.mark.parametrize("content", ["Where does my sister live?", (Text("Where does my sister live?"),)])
def test_what_was_sent_with_memory_is_known_when_it_is_handed_back(content: str | tuple[Text, ...]) -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        memory.session("old", user="ada").add_turn("My sister Nadia moved to Oslo.", "Noted.")
        chat = memory.session("trip", user="ada")
        (asked,) = History(chat, 2_000).prompt([Message("user", content)])
        assert "Nadia moved to Oslo" in asked.message.text
        again = with_memory(asked.message.replace(id=""), block({}))
        given = [Message("user", block({})), again, Message("assistant", "In Oslo."), Message("user", "Thanks!")]
        sent = History(chat, 2_000).prompt(given)
        assert said(chat) == [
            ("user", "Where does my sister live?"),
            ("assistant", "In Oslo."),
            ("user", "Thanks!"),
        ]
        assert [(line.place, line.changed) for line in sent] == [(1, True), (2, False), (3, False)]
        assert sent[0].message.text == "Where does my sister live?"


class Refusal(Exception):
    """An error of a model's client."""

    status_code = 400


def test_files_that_were_left_out_stay_out_when_the_context_overflows() -> None:
    picture = Image(url="https://example.org/broken.png")
    long = [Message("user", "Tell me all."), Message("assistant", "word " * 8_000)]
    given = [*long, Message("user", (Text("Whose cat?"), picture)), Message("assistant", "Mine."), Message("user", "?")]
    asked = list[list[Message]]()

    def model(sent: Sequence[Sent]) -> str:
        asked.append([line.message for line in sent])
        if any(picture in message.parts for message in asked[-1]):
            raise Refusal("Failed to download image.")
        if len(asked) < 4:
            raise Refusal("prompt is too long")
        return "Fine."

    with Memory.open(":memory:", embedder=None) as memory:
        history = History(memory.session("trip", user="ada"), 10_000)
        assert Asking(history, given, (), list).ask(model) == "Fine."
    assert [message.text for message in asked[-1]][-3:] == ["Whose cat?\n[image cut]", "Mine.", "?"]
    assert len(asked) == 4


@pytest.mark.parametrize("blank", ["", " ", (), (Text("\n"),)])
def test_blank_words_that_the_model_refuses_are_no_obstacle(blank: str | tuple[Text, ...]) -> None:
    def model(sent: Sequence[Sent]) -> list[str]:
        if not all(line.message.text.strip() for line in sent):
            raise Refusal("text content blocks must be non-empty")
        return [line.message.text for line in sent]

    with Memory.open(":memory:", embedder=None) as memory:
        history = History(memory.session("trip", user="ada"), 1_000)
        given = [Message("user", blank), Message("user", "Are you there?")]
        for _ in range(2):
            assert Asking(history, given, (), list).ask(model) == ["(empty)", "Are you there?"]
        assert said(history.session) == [("user", Message("user", blank).text), ("user", "Are you there?")]


def test_blank_words_beside_a_picture_are_no_obstacle() -> None:
    def model(sent: Sequence[Sent]) -> list[str]:
        if any(isinstance(part, Text) and not part.text.strip() for line in sent for part in line.message.parts):
            raise Refusal("text content blocks must be non-empty")
        return [line.message.text for line in sent]

    with Memory.open(":memory:", embedder=None) as memory:
        history = History(memory.session("trip", user="ada"), 4_000)
        given = [Message("user", (Text(" "), Image(url="https://example.org/cat.png")))]
        assert Asking(history, given, (), list).ask(model) == ["(empty)"]
        given.append(Message("user", "Are you there?"))
        assert Asking(history, given, (), list).ask(model) == ["(empty)\n[image cut]", "Are you there?"]


def test_what_is_refused_with_and_without_earlier_thoughts_is_told_as_it_was_at_first() -> None:
    def model(sent: Sequence[Sent]) -> str:
        thought = any(isinstance(part, Thinking) for line in sent for part in line.message.parts)
        raise Refusal("temperature is wrong" if thought else "the thoughts must be passed back")

    with Memory.open(":memory:", embedder=None) as memory:
        history = History(memory.session("trip", user="ada"), 1_000)
        answer = Message("assistant", (Thinking("Hm."), Text("Hi!")))
        given = [Message("user", "Hello."), answer, Message("user", "Are you there?")]
        with pytest.raises(Refusal, match="temperature"):
            Asking(history, given, (), list).ask(model)


@pytest.mark.parametrize("cause", [None, OSError("400 Bad Request")])
def test_where_nothing_smaller_is_valid_the_overflow_is_told_and_keeps_its_cause(cause: Exception | None) -> None:
    def model(sent: Sequence[Sent]) -> str:
        raise Refusal("prompt is too long: 600 tokens > 50 maximum") from cause

    with Memory.open(":memory:", embedder=None) as memory:
        history = History(memory.session("trip", user="ada"), 1_000)
        given = [Message("system", "word " * 500), Message("user", "Are you there?")]
        with pytest.raises(Refusal, match="too long") as told:
            Asking(history, given, (), list).ask(model)
    assert isinstance(told.value.__cause__, type(cause) if cause else BudgetTooSmall)


def test_of_two_who_ask_at_once_each_has_its_answer_kept() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        chat = memory.session("trip", user="ada")
        history = History(chat, 2_000, whole=True)
        given = [Message("user", "Hello."), Message("assistant", "Hi!"), Message("user", "To Oslo?")]
        one, two, late = (Asking(history, given, (), list) for _ in range(3))
        one.first()
        two.first()
        two.keep(Message("assistant", "By train."))
        late.first()
        one.keep(Message("assistant", "By boat."))
        late.keep(Message("assistant", "On foot."))
        assert [text for _, text in said(chat)][3:] == ["By train.", "By boat."]


def test_of_a_long_session_only_the_newest_messages_are_read_and_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.history.KNOWN", 4)
    with Memory.open(":memory:", embedder=None) as memory:
        chat = memory.session("trip", user="ada")
        for n in range(10):
            chat.add_turn(f"Is it {n}?", "No.")
        history = History(chat, 2_000)
        sent = history.prompt([Message("user", "Is it 10?")])
        assert [entry.seq for entry in history._log] == [17, 18, 19, 20, 21]
        assert [line.message.text for line in sent[-3:]] == ["Is it 9?", "No.", "Is it 10?"]


def said(chat: Session) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in chat.history()]
