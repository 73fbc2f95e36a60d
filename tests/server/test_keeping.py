"""What the proxy keeps of the conversations that callers send, each message once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect import Memory, Message, Session
from recollect.server.keeping import keep, keep_answer
from recollect.types import ToolCall, ToolResult

QUESTIONS = st.lists(st.sampled_from("abc"), min_size=2, max_size=6)


def kept_answer(chat: Session, question: Message | None, answer: Message) -> Message:
    kept = keep_answer(chat, question, answer)
    assert kept
    return kept


@given(QUESTIONS, st.data())
def test_a_history_edited_far_back_is_known_up_to_there(questions: list[str], data: st.DataObject) -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        chat, history = memory.session("trip", user="ada"), list[Message]()
        for n, text in enumerate([*questions, "edited"]):
            if text == "edited":
                history = history[: 2 * data.draw(st.integers(1, len(questions) - 1))]
            history.append(Message("user", text))
            answer = Message("assistant", f"Answer {n}")
            history.append(kept_answer(chat, keep(chat, history).follows, answer))
        said = [message.text for message in chat.history() if message.role == "user"]
        assert said == [*questions, "edited"]
        assert len(chat.history()) == 2 * len(said)


def test_a_long_conversation_edited_near_its_beginning_is_known_up_to_there() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        chat, trunk = memory.session("trip", user="ada"), list[Message]()

        def say(history: list[Message], text: str) -> list[Message]:
            asked = [*history, Message("user", text)]
            return [*asked, kept_answer(chat, keep(chat, asked).follows, Message("assistant", f"Answer to {text}"))]

        for n in range(60):
            trunk = say(trunk, f"Question {n}")
        branch = trunk[:4]
        for n in range(60):
            branch = say(branch, f"Other question {n}")
        edited = [*branch[:20], Message("user", "edited")]
        kept = keep(chat, edited)
        assert kept.changed and not kept.again
        assert [message.text for message in chat.history(limit=1_000)] == [
            message.text for message in (*trunk, *branch[4:], edited[-1])
        ]


def test_a_question_asked_anew_after_its_tools_has_its_answer_kept_once() -> None:
    asked = [Message("user", "Hello."), Message("assistant", "Hi!"), Message("user", "Where does Nadia live?")]
    call, result = Message("assistant", (ToolCall("1", "look_up"),)), Message("tool", (ToolResult("1", "Oslo"),))
    with Memory.open(":memory:", embedder=None) as memory:
        chat = memory.session("trip", user="ada")
        called = kept_answer(chat, keep(chat, asked).follows, call)
        keep(chat, [*asked, called, result])
        anew = [keep(chat, asked) for _ in range(2)]
        for kept, text in zip(anew, ("In Oslo.", "Nadia lives in Oslo."), strict=True):
            assert not kept.again and kept.last == chat.history()[2]
            kept_answer(chat, kept.follows, Message("assistant", text))
        assert [message.text for message in chat.history()[3:]] == ["", "Oslo", "In Oslo."]
        assert keep(chat, asked).again


def test_a_system_message_in_what_is_kept_changes_no_conversation() -> None:
    with Memory.open(":memory:", embedder=None) as memory:
        chat, asked = memory.session("trip", user="ada"), [Message("user", "Hello.")]
        answer = kept_answer(chat, keep(chat, asked).follows, Message("assistant", "Hi!"))
        chat.add("system", "Be brief.")
        kept = keep(chat, [*asked, answer, Message("user", "Where does Nadia live?")])
        assert (kept.changed, kept.again) == (False, False)
        assert [message.text for message in chat.history()] == ["Hello.", "Hi!", "Be brief.", "Where does Nadia live?"]
