"""The adapters' suite itself: a plain loop around a session passes it, and loops with a fault do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Memory, Message, ToolResult, fit
from recollect.testing import AdapterSuite, Script, Talk, lookup
from recollect.testing.adapters import BUDGET


class Loop(Talk):
    """The loop of an agent as one writes it by hand."""

    def __init__(self, memory: Memory, user: str, session: str, budget: int, script: Script) -> None:
        self.session = memory.session(session, user=user)
        self.budget, self.script = budget, script
        self.delivered: list[Message] = []

    def say(self, text: str) -> None:
        self.add(Message("user", text))
        while (answer := self.script.answer(self.request(text))).tool_calls:
            self.add(answer)
            for call in answer.tool_calls:
                self.add(Message("tool", (ToolResult(call.id, lookup(**call.input)),)))
        self.add(answer)

    async def asay(self, text: str) -> None:
        self.say(text)

    def request(self, question: str) -> tuple[Message, ...]:
        hits = self.session.recall(question, budget=self.budget // 5)
        memory = [Message("system", "\n".join(hit.text for hit in hits))] if hits else []
        return fit([*memory, *self.history()], self.budget).messages

    def history(self) -> tuple[Message, ...]:
        return self.session.history()

    def add(self, message: Message) -> None:
        self.delivered.append(self.session.add(message))

    def redeliver(self) -> None:
        self.session.add_many(self.delivered[-4:])


class TestLoop(AdapterSuite):
    shape = "openai"

    def open(self, memory: Memory, user: str, session: str, budget: int, script: Script) -> Talk:
        return Loop(memory, user, session, budget, script)


class Careless(Loop):
    """Forgets the budget."""

    def request(self, question: str) -> tuple[Message, ...]:
        return self.history()


class Torn(Loop):
    """Takes the last few messages, whatever they are."""

    def history(self) -> tuple[Message, ...]:
        return self.session.history()[-3:]


class Mixed(Loop):
    """Remembers whatever anybody said."""

    def history(self) -> tuple[Message, ...]:
        entries = self.session.memory.store.log.scan(type(self.session.scope)())
        return tuple(entry.message for entry in entries)


class Forgetful(Loop):
    """Starts anew after a restart."""

    def __init__(self, memory: Memory, user: str, session: str, budget: int, script: Script) -> None:
        super().__init__(memory, user, session, budget, script)
        self.start = len(self.session.history())

    def history(self) -> tuple[Message, ...]:
        return self.session.history()[self.start :]


class Twice(Loop):
    """Keeps again what it has."""

    def redeliver(self) -> None:
        self.session.add_many([message.replace(id="") for message in self.delivered[-4:]])


@pytest.mark.parametrize(
    ("faulty", "test"),
    [
        (Careless, "test_a_long_conversation_stays_within_the_budget"),
        (Torn, "test_a_loop_of_50_calls_stays_within_the_budget"),
        (Mixed, "test_two_users_are_never_mixed"),
        (Twice, "test_what_is_delivered_twice_is_kept_once"),
    ],
)
def test_the_suite_sees_a_fault(faulty: type[Loop], test: str, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=None) as memory:
        script = Script()
        given = {"memory": memory, "script": script, "talk": faulty(memory, "ada", "trip", BUDGET, script)}
        suite = type("Faulty", (TestLoop,), {"open": lambda self, *a: faulty(*a)})()
        method = getattr(suite, test)
        with pytest.raises(AssertionError):
            method(**{name: given[name] for name in method.__annotations__ if name in given})


def test_the_suite_sees_that_a_restart_forgot(tmp_path: Path) -> None:
    suite = type("Faulty", (TestLoop,), {"open": lambda self, *a: Forgetful(*a)})()
    with pytest.raises(AssertionError):
        suite.test_a_restart_restores_the_conversation(tmp_path / "memory.db", Script())
