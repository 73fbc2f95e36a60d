"""The suite every adapter passes. Subclass it with pytest and say how to open an agent of your framework:

class TestMine(AdapterSuite):
    shape = "openai"

    def open(self, memory, user, session, budget, script):
        return MyTalk(...)  # a real agent of the framework, with `script` as its model and `lookup` as its tool
"""

from __future__ import annotations

import asyncio
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import pytest

from recollect.flow.validate import validate
from recollect.memory import Memory
from recollect.testing.suite import Suite
from recollect.tokens import count_messages
from recollect.types import Message, ToolCall

BUDGET = 1_500
LARGE = 50_000
TOOL = "lookup"
_numbers = itertools.count(1)


def lookup(number: int) -> str:
    """Looks up the page of that number."""
    return f"page {number}: " + "the quick brown fox jumps over the lazy dog. " * 30


class Script:
    """A scripted model: it notes each request, calls `lookup` as often as it was told to, then says a few words.

    The model of your framework hands each request to `answer`, as Messages, and returns what that says.
    """

    def __init__(self) -> None:
        self.requests: list[list[Message]] = []
        self._rounds: Iterator[int] = iter(())

    def call_tools(self, rounds: int, together: int = 1) -> None:
        """Have the model call the tool in `rounds` rounds, `together` calls in each, before its next words."""
        self._rounds = iter([together] * rounds)

    def answer(self, request: Sequence[Message]) -> Message:
        """What the model says to this request: tool calls, or words."""
        self.requests.append(list(request))
        if together := next(self._rounds, 0):
            return Message("assistant", tuple(_call(next(_numbers)) for _ in range(together)))
        return Message("assistant", f"answer {next(_numbers)}")

    @property
    def last(self) -> str:
        """All the words of the last request."""
        return text(self.requests[-1])


def _call(number: int) -> ToolCall:
    return ToolCall(f"call_{number}", TOOL, json.dumps({"number": number}))


class Talk(ABC):
    """One conversation of one user with an agent that has the adapter under test."""

    @abstractmethod
    def say(self, text: str) -> None:
        """Have the user say this; returns when the agent has answered."""

    @abstractmethod
    async def asay(self, text: str) -> None:
        """The same, awaited."""

    @abstractmethod
    def redeliver(self) -> None:
        """Hand the adapter once more what it got last, like a caller who does not know that it arrived."""


class AdapterSuite(Suite):
    """What every adapter promises, as tests on a real agent with a scripted model."""

    shape: ClassVar[str]
    """The shape of the requests, as `validate` takes it."""

    @abstractmethod
    def open(self, memory: Memory, user: str, session: str, budget: int, script: Script) -> Talk:
        """The agent of that user's session, with `script` as its model and `lookup` as its tool."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        """The file that memory is kept in."""
        return tmp_path / "memory.db"

    @pytest.fixture
    def memory(self, path: Path) -> Iterator[Memory]:
        """An empty memory."""
        with Memory.open(path, embedder=None) as opened:
            yield opened

    @pytest.fixture
    def script(self) -> Script:
        """The model of the test's agent."""
        return Script()

    @pytest.fixture
    def talk(self, memory: Memory, script: Script) -> Talk:
        """A conversation that has not begun."""
        return self.open(memory, "ada", "trip", BUDGET, script)

    def fits(self, memory: Memory, script: Script, budget: int = BUDGET) -> None:
        """Assert that each request was valid for the provider and within the budget."""
        assert script.requests
        for request in script.requests:
            assert validate(request, self.shape) == []
            assert count_messages(request, memory.counter) <= budget

    def test_the_model_gets_what_the_user_said(self, talk: Talk, memory: Memory, script: Script) -> None:
        talk.say("What is on page seven?")
        assert "What is on page seven?" in script.last
        self.fits(memory, script)

    def test_everything_said_is_kept_once_and_in_order(self, talk: Talk, memory: Memory, script: Script) -> None:
        for n in range(3):
            talk.say(f"question {n}")
        assert roles(memory) == ["user", "assistant"] * 3
        assert [m.text for m in by_user(history(memory))] == ["question 0", "question 1", "question 2"]

    def test_the_model_sees_what_was_said_before(self, talk: Talk, script: Script) -> None:
        talk.say("My cat is called Tom.")
        talk.say("Thank you.")
        assert "My cat is called Tom." in script.last

    @pytest.mark.parametrize("together", [1, 3])
    def test_a_call_and_its_result_stay_together(
        self, talk: Talk, memory: Memory, script: Script, together: int
    ) -> None:
        for n in range(6):
            script.call_tools(2, together)
            talk.say(f"question {n}")
        assert len(script.requests) == 18
        self.fits(memory, script)

    def test_a_loop_of_50_calls_stays_within_the_budget(self, talk: Talk, memory: Memory, script: Script) -> None:
        script.call_tools(50)
        talk.say("Read the whole book.")
        assert len(script.requests) == 51
        assert all("Read the whole book." in text(by_user(request)) for request in script.requests)
        self.fits(memory, script)

    def test_a_long_conversation_stays_within_the_budget(self, talk: Talk, memory: Memory, script: Script) -> None:
        for n in range(40):
            talk.say(f"question {n} " + "and what else is there to be said " * 12)
            assert f"question {n} " in script.last
        assert not any(message.text.startswith("question 0 ") for message in script.requests[-1])
        self.fits(memory, script)

    def test_what_the_model_no_longer_sees_is_kept_whole(self, talk: Talk, memory: Memory, script: Script) -> None:
        script.call_tools(20)
        talk.say("Read the whole book.")
        assert roles(memory) == ["user", *["assistant", "tool"] * 20, "assistant"]
        calls = {call.id: call for message in history(memory) for call in message.tool_calls}
        results = [result for message in history(memory) for result in message.tool_results]
        assert [result.call_id for result in results] == list(calls)
        assert [result.text for result in results] == [lookup(call.input["number"]) for call in calls.values()]

    def test_a_restart_restores_the_conversation(self, path: Path, script: Script) -> None:
        with Memory.open(path, embedder=None) as memory:
            before = Script()
            first = self.open(memory, "ada", "trip", LARGE, before)
            before.call_tools(2)
            first.say("My cat is called Tom.")
            said = history(memory)
        with Memory.open(path, embedder=None) as memory:
            self.open(memory, "ada", "trip", LARGE, script).say("Thank you.")
            assert history(memory)[: len(said)] == said
            assert roles(memory) == ["user", *["assistant", "tool"] * 2, "assistant", "user", "assistant"]
            shown = [m for m in script.requests[-1] if m.role != "system"]
            assert "My cat is called Tom." in script.last
            assert [c.id for m in shown for c in m.tool_calls] == [c.id for m in said for c in m.tool_calls]
            self.fits(memory, script, LARGE)

    def test_a_long_conversation_fits_after_a_restart_too(self, path: Path, script: Script) -> None:
        with Memory.open(path, embedder=None) as memory:
            before = Script()
            first = self.open(memory, "ada", "trip", BUDGET, before)
            for n in range(12):
                before.call_tools(1, 2)
                first.say(f"question {n}")
        with Memory.open(path, embedder=None) as memory:
            script.call_tools(3)
            self.open(memory, "ada", "trip", BUDGET, script).say("Thank you.")
            self.fits(memory, script)

    def test_a_user_is_remembered_in_another_session(self, memory: Memory, script: Script) -> None:
        self.open(memory, "ada", "spring", BUDGET, Script()).say("My sister Nadia moved to Oslo in May.")
        self.open(memory, "ada", "autumn", BUDGET, script).say("Where does my sister Nadia live?")
        assert "Oslo" in script.last
        self.fits(memory, script)

    def test_two_users_are_never_mixed(self, memory: Memory, script: Script) -> None:
        other = Script()
        ada, bob = self.open(memory, "ada", "trip", BUDGET, script), self.open(memory, "bob", "trip", BUDGET, other)
        for n in range(3):
            ada.say(f"My secret number is the avocado, {n}.")
            bob.say(f"My secret number is the banana, {n}. What is my secret number?")
        assert not any("avocado" in text(request) for request in other.requests)
        assert not any("banana" in text(request) for request in script.requests)
        assert [m.text for m in history(memory, "bob") if "avocado" in m.text] == []

    def test_many_conversations_at_once_in_one_event_loop(self, memory: Memory) -> None:
        scripts, talks = self._many(memory)

        async def talk_on(n: int) -> None:
            for m in range(3):
                scripts[n].call_tools(1)
                await talks[n].asay(f"question {m} of {n}.")

        async def all_of_them() -> None:
            await asyncio.gather(*(talk_on(n) for n in range(len(talks))))

        asyncio.run(all_of_them())
        self._each_its_own(memory, scripts)

    def test_many_conversations_at_once_in_threads(self, memory: Memory) -> None:
        scripts, talks = self._many(memory)

        def talk_on(n: int) -> None:
            for m in range(3):
                scripts[n].call_tools(1)
                talks[n].say(f"question {m} of {n}.")

        with ThreadPoolExecutor(len(talks)) as pool:
            list(pool.map(talk_on, range(len(talks))))
        self._each_its_own(memory, scripts)

    def _many(self, memory: Memory) -> tuple[list[Script], list[Talk]]:
        scripts = [Script() for _ in range(4)]
        return scripts, [self.open(memory, f"user {n}", "trip", LARGE, s) for n, s in enumerate(scripts)]

    def _each_its_own(self, memory: Memory, scripts: list[Script]) -> None:
        for n, script in enumerate(scripts):
            said = [m.text for m in by_user(history(memory, f"user {n}"))]
            assert said == [f"question {m} of {n}." for m in range(3)]
            assert roles(memory, f"user {n}") == ["user", "assistant", "tool", "assistant"] * 3
            self.fits(memory, script, LARGE)

    def test_what_is_delivered_twice_is_kept_once(self, talk: Talk, memory: Memory, script: Script) -> None:
        script.call_tools(1)
        talk.say("My cat is called Tom.")
        before = history(memory)
        talk.redeliver()
        assert history(memory) == before
        talk.say("Thank you.")
        shown = by_user(script.requests[-1])
        assert sum("My cat is called Tom." in message.text for message in shown) == 1

    def test_the_same_words_said_twice_are_kept_twice(self, talk: Talk, memory: Memory) -> None:
        talk.say("Yes.")
        talk.say("Yes.")
        assert [m.text for m in by_user(history(memory))] == ["Yes.", "Yes."]


def history(memory: Memory, user: str = "ada", session: str = "trip") -> list[Message]:
    """The messages that the log has of a session."""
    return list(memory.session(session, user=user).history())


def roles(memory: Memory, user: str = "ada") -> list[str]:
    """The roles of who spoke, in order; several messages of one role in a row count as one."""
    return [role for role, _ in itertools.groupby(message.role for message in history(memory, user))]


def by_user(request: Sequence[Message]) -> list[Message]:
    """What the user says in a request."""
    return [message for message in request if message.role == "user"]


def text(request: Sequence[Message]) -> str:
    """All the words of a request."""
    return "\n".join(message.text for message in request)
