"""The suite every conversation memory passes. Subclass it with pytest and say how to make yours:

class TestMine(MemorySuite):
    def new(self, counter, clock):
        return MyMemory(counter=counter, clock=clock)
"""

from __future__ import annotations

import asyncio
import threading
from abc import abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from recollect.conversation import Conversation
from recollect.errors import BudgetTooSmall, ConfigError, InvalidTranscript
from recollect.testing.clock import ManualClock
from recollect.testing.suite import Suite
from recollect.tokens import TokenCounter
from recollect.types import Message, Text, ToolCall, ToolResult

START = datetime(2026, 1, 1, tzinfo=UTC)


def _words(text: str) -> int:
    return len(text.split())


def _turns(n: int) -> list[Message]:
    return [m for i in range(n) for m in (Message("user", f"question {i}"), Message("assistant", f"answer {i}"))]


def _tool_turn(name: str, result: str) -> list[Message]:
    return [
        Message("user", f"please {name}"),
        Message("assistant", (Text("on it"), ToolCall(f"a-{name}", name), ToolCall(f"b-{name}", name))),
        Message("tool", (ToolResult(f"a-{name}", result),)),
        Message("tool", (ToolResult(f"b-{name}", result),)),
        Message("assistant", f"done {name}"),
    ]


class MemorySuite(Suite):
    """The behaviour of `recollect.conversation.Conversation`, as tests."""

    @abstractmethod
    def new(self, counter: TokenCounter, clock: Callable[[], datetime]) -> Conversation:
        """An empty memory that counts text with `counter` and tells the time by `clock`."""

    @pytest.fixture
    def clock(self) -> ManualClock:
        """A clock that the test sets."""
        return ManualClock(START)

    @pytest.fixture
    def memory(self, clock: ManualClock) -> Conversation:
        """An empty memory that counts a word as a token."""
        return self.new(_words, clock)

    def test_an_empty_memory_has_nothing(self, memory: Conversation) -> None:
        assert memory.messages == memory.recent(5) == memory.by_role("user") == memory.important == ()
        assert memory.count == memory.tokens == 0

    def test_messages_come_back_in_the_order_they_came(self, memory: Conversation) -> None:
        for n in range(20):
            memory.add("user", f"{n}")
        assert [m.text for m in memory.messages] == [f"{n}" for n in range(20)]

    def test_a_message_gets_an_id_and_times_on_arrival(self, memory: Conversation, clock: ManualClock) -> None:
        added = memory.add("user", "hello")
        assert added.id
        assert added.at == added.received == clock.now
        assert memory.messages == (added,)

    def test_ids_differ(self, memory: Conversation) -> None:
        assert len({memory.add("user", "same").id for _ in range(100)}) == 100

    def test_event_time_and_arrival_time_are_separate(self, memory: Conversation, clock: ManualClock) -> None:
        event = START - timedelta(days=30)
        added = memory.add(Message("user", "imported", at=event))
        assert (added.at, added.received) == (event, clock.now)

    def test_order_is_arrival_not_the_clock(self, memory: Conversation, clock: ManualClock) -> None:
        memory.add("user", "first")
        clock.forward(days=-3650)
        memory.add("user", "second")
        assert [m.text for m in memory.messages] == ["first", "second"]

    def test_an_own_id_is_kept(self, memory: Conversation) -> None:
        assert memory.add(Message("user", "x", id="mine")).id == "mine"

    def test_the_same_message_twice_is_kept_once(self, memory: Conversation) -> None:
        first = memory.add(Message("user", "x", id="mine"))
        assert memory.add(Message("user", "x", id="mine")) == first
        assert memory.count == 1

    def test_another_message_with_a_used_id_is_refused(self, memory: Conversation) -> None:
        memory.add(Message("user", "x", id="mine"))
        with pytest.raises(InvalidTranscript, match="mine"):
            memory.add(Message("user", "y", id="mine"))
        assert memory.count == 1

    def test_a_batch_with_a_clash_leaves_nothing_behind(self, memory: Conversation) -> None:
        batch = [Message("user", "fine"), Message("user", "x", id="i"), Message("user", "y", id="i")]
        with pytest.raises(InvalidTranscript):
            memory.add_many(batch)
        assert memory.count == memory.tokens == 0

    def test_a_wrong_role_is_refused(self, memory: Conversation) -> None:
        wrong: Any = "robot"
        with pytest.raises(InvalidTranscript, match="robot"):
            memory.add(wrong, "x")
        assert memory.count == 0

    def test_a_message_and_content_together_are_refused(self, memory: Conversation) -> None:
        with pytest.raises(ConfigError):
            memory.add(Message("user", "x"), "y")

    def test_add_many_returns_what_was_kept(self, memory: Conversation) -> None:
        assert memory.add_many(_turns(3)) == memory.messages

    def test_adding_nothing_changes_nothing(self, memory: Conversation) -> None:
        assert memory.add_many([]) == ()
        assert memory.count == 0

    def test_parts_come_back_as_they_were(self, memory: Conversation) -> None:
        memory.add_many(_tool_turn("look", "found"))
        calls = memory.messages[1].tool_calls
        assert [c.id for c in calls] == ["a-look", "b-look"]
        assert memory.messages[2].tool_results[0].text == "found"

    @pytest.mark.parametrize("text", ["", " ", "\x00", "ليلى", "e\u0301", "🏳️‍🌈", "\ud800", "x" * 1_000_000])
    def test_any_text_comes_back_exactly(self, memory: Conversation, text: str) -> None:
        memory.add("user", text)
        assert memory.messages[0].text == text

    def test_what_is_handed_out_can_not_change_what_is_kept(self, memory: Conversation) -> None:
        tags: dict[str, Any] = {"list": [1], "dict": {"deep": "yes"}}
        message = memory.add("user", "x", metadata=tags)
        handed_out: Any = message.metadata
        tags["list"].append(2)
        with pytest.raises(TypeError):
            handed_out["list"] = 3
        with pytest.raises(TypeError):
            memory.messages[0].metadata["dict"]["deep"] = "no"
        assert memory.messages[0].metadata == {"list": [1], "dict": {"deep": "yes"}}

    def test_recent_gives_the_last_ones_in_order(self, memory: Conversation) -> None:
        memory.add_many(_turns(5))
        assert [m.text for m in memory.recent(3)] == ["answer 3", "question 4", "answer 4"]

    def test_recent_of_more_than_there_are_gives_all(self, memory: Conversation) -> None:
        memory.add_many(_turns(2))
        assert memory.recent(99) == memory.messages
        assert memory.recent(0) == ()

    def test_a_negative_recent_is_refused(self, memory: Conversation) -> None:
        with pytest.raises(ConfigError, match="-1"):
            memory.recent(-1)

    def test_by_role(self, memory: Conversation) -> None:
        memory.add("system", "be brief")
        memory.add_many(_turns(2))
        assert [m.text for m in memory.by_role("assistant")] == ["answer 0", "answer 1"]
        assert memory.by_role("tool") == ()

    def test_search_ignores_case(self, memory: Conversation) -> None:
        memory.add("user", "Straße in OSLO")
        assert memory.search("oslo") == memory.search("STRASSE") == memory.messages
        assert memory.search("bergen") == ()

    def test_search_finds_tool_results(self, memory: Conversation) -> None:
        memory.add_many(_tool_turn("look", "needle"))
        assert [m.role for m in memory.search("needle")] == ["tool", "tool"]

    def test_search_by_role_and_time(self, memory: Conversation, clock: ManualClock) -> None:
        memory.add("user", "tea one")
        clock.forward(hours=1)
        middle = memory.add("assistant", "tea two")
        clock.forward(hours=1)
        memory.add("assistant", "tea three")
        until = START + timedelta(hours=2)
        assert memory.search("tea", role="assistant", until=until) == (middle,)
        assert memory.search(since=START + timedelta(hours=1), until=until) == (middle,)

    def test_where_matches_all_metadata(self, memory: Conversation) -> None:
        both = memory.add("user", "x", metadata={"topic": "food", "n": 1})
        memory.add("user", "y", metadata={"topic": "food", "n": 2})
        assert memory.where(topic="food", n=1) == (both,)
        assert len(memory.where(topic="food")) == 2

    def test_important(self, memory: Conversation) -> None:
        memory.add("user", "x")
        kept = memory.add("user", "y", metadata={"important": True})
        assert memory.important == (kept,)

    def test_tags_can_be_set_later_and_taken_off(self, memory: Conversation) -> None:
        added = memory.add("user", "x", metadata={"a": 1})
        tagged = memory.tag(added.id, important=True, topic="t")
        assert tagged.metadata == {"a": 1, "important": True, "topic": "t"}
        assert len(memory.important) == 1
        assert memory.tag(added.id, important=None).metadata == {"a": 1, "topic": "t"}
        assert len(memory.important) == 0

    def test_tags_leave_other_metadata_as_it_was(self, memory: Conversation) -> None:
        added = memory.add("user", "x", metadata={"reply_to": None, "a": 1})
        assert memory.tag(added.id, a=None, b=2).metadata == {"reply_to": None, "b": 2}

    def test_tagging_what_is_not_there_is_an_error(self, memory: Conversation) -> None:
        with pytest.raises(InvalidTranscript, match="nowhere"):
            memory.tag("nowhere", important=True)

    def test_tokens_grow_with_what_is_added(self, memory: Conversation) -> None:
        memory.add("user", "one two three")
        before = memory.tokens
        memory.add("user", "one two three")
        assert memory.tokens == 2 * before > 6

    def test_prune_keeps_system_messages_and_the_newest(self, memory: Conversation) -> None:
        memory.add("system", "be brief")
        memory.add_many(_turns(50))
        memory.add("system", "be kind")
        memory.prune(60)
        texts = [m.text for m in memory.messages]
        assert texts[0] == "be brief"
        assert texts[-3:] == ["question 49", "answer 49", "be kind"]
        assert memory.tokens <= 60
        assert 3 < memory.count < 30

    def test_prune_keeps_as_much_as_fits(self, memory: Conversation) -> None:
        memory.add_many(_turns(10))
        per_turn = memory.tokens // 10
        memory.prune(4 * per_turn + 1)
        assert [m.text for m in memory.by_role("user")] == [f"question {n}" for n in range(6, 10)]

    def test_prune_with_room_does_nothing(self, memory: Conversation) -> None:
        memory.add_many(_turns(3))
        before = memory.messages
        receipt = memory.prune(10_000)
        assert memory.messages == before
        assert receipt.entries == ()
        assert memory.stats().pruned == ()

    def test_prune_of_an_empty_memory_does_nothing(self, memory: Conversation) -> None:
        assert memory.prune(0).entries == ()

    @pytest.mark.parametrize("limit", [0, -1, -1_000_000])
    def test_a_limit_of_zero_or_less_is_an_error_and_loses_nothing(self, memory: Conversation, limit: int) -> None:
        memory.add_many(_turns(3))
        before, tokens = memory.messages, memory.tokens
        with pytest.raises(BudgetTooSmall) as caught:
            memory.prune(limit)
        assert caught.value.allowed == limit < caught.value.needed <= tokens
        assert (memory.messages, memory.tokens) == (before, tokens)

    def test_a_limit_below_the_system_messages_says_by_how_much(self, memory: Conversation) -> None:
        memory.add("system", "word " * 100)
        memory.add_many(_turns(1))
        before = memory.messages
        with pytest.raises(BudgetTooSmall, match="too many") as caught:
            memory.prune(50)
        assert caught.value.needed > 100
        assert memory.messages == before
        memory.prune(caught.value.needed)
        assert memory.tokens <= caught.value.needed

    def test_prune_keeps_calls_and_results_together(self, memory: Conversation) -> None:
        for n in range(10):
            memory.add_many(_tool_turn(f"job{n}", "result of it"))
        memory.prune(memory.tokens // 3)
        calls = {c.id for m in memory.messages for c in m.tool_calls}
        results = {r.call_id for m in memory.messages for r in m.tool_results}
        assert calls == results
        assert 0 < len(calls) < 20

    def test_prune_keeps_pinned_turns(self, memory: Conversation) -> None:
        kept = memory.add("user", "my name is Ada", metadata={"pinned": True})
        memory.add_many(_turns(30))
        memory.prune(memory.tokens // 2)
        assert memory.messages[0] == kept

    def test_a_pin_can_be_set_and_taken_off_later(self, memory: Conversation) -> None:
        added = memory.add_many(_turns(30))
        memory.tag(added[0].id, pinned=True)
        memory.prune(memory.tokens * 2 // 3)
        assert memory.messages[0].id == added[0].id
        memory.tag(added[0].id, pinned=None)
        memory.prune(memory.tokens // 2)
        assert memory.messages[0].id != added[0].id

    def test_prune_keeps_the_last_two_messages(self, memory: Conversation) -> None:
        memory.add_many(_turns(10))
        last = memory.recent(2)
        with pytest.raises(BudgetTooSmall) as caught:
            memory.prune(1)
        memory.prune(caught.value.needed)
        assert memory.messages == last

    def test_the_receipt_lists_what_went(self, memory: Conversation) -> None:
        added = memory.add_many(_turns(10))
        before = memory.tokens
        receipt = memory.prune(before // 2)
        assert [e.id for e in receipt.entries] == [m.id for m in added if m not in memory.messages]
        assert before - sum(e.tokens - e.shown for e in receipt.entries) == receipt.tokens == memory.tokens

    def test_pruning_again_and_going_on_works(self, memory: Conversation) -> None:
        for n in range(20):
            memory.add_many(_tool_turn(f"job{n}", "some words here"))
            memory.prune(150)
        assert memory.tokens <= 150
        assert memory.recent(1)[0].text == "done job19"

    def test_pruned_messages_are_gone(self, memory: Conversation) -> None:
        first = memory.add("user", "forget me")
        memory.add_many(_turns(20))
        memory.prune(memory.tokens // 2)
        assert memory.search("forget me") == ()
        with pytest.raises(InvalidTranscript):
            memory.tag(first.id, important=True)

    def test_stats_tell_what_was_pruned_and_when(self, memory: Conversation, clock: ManualClock) -> None:
        memory.add("system", "be brief")
        memory.add_many(_turns(10))
        before = memory.tokens
        clock.forward(hours=5)
        receipt = memory.prune(before // 2)
        stats = memory.stats()
        assert (stats.messages, stats.tokens) == (memory.count, memory.tokens)
        assert stats.roles["system"] == 1
        (pruned,) = stats.pruned
        assert (pruned.at, pruned.messages) == (clock.now, len(receipt.entries))
        assert pruned.tokens == before - memory.tokens

    def test_clear_forgets_everything_and_goes_on(self, memory: Conversation) -> None:
        memory.add_many(_turns(3))
        memory.clear()
        assert (memory.messages, memory.count, memory.tokens) == ((), 0, 0)
        memory.add("user", "again")
        assert memory.count == 1

    def test_threads_lose_nothing_and_tear_no_batch(self, memory: Conversation) -> None:
        writers, batches, size, torn = 8, 50, 4, list[str]()
        done = threading.Event()

        def write(writer: int) -> None:
            for batch in range(batches):
                memory.add_many([Message("user", f"{writer} {batch} {n}") for n in range(size)])

        def read() -> None:
            while not done.is_set():
                seen = [m.text.rsplit(" ", 1)[0] for m in memory.messages]
                torn.extend(seen[i] for i in range(0, len(seen), size) if len(set(seen[i : i + size])) != 1)

        with ThreadPoolExecutor(writers + 1) as pool:
            reader = pool.submit(read)
            try:
                list(pool.map(write, range(writers)))
            finally:
                done.set()
        reader.result()
        assert torn == []
        assert memory.count == writers * batches * size
        for writer in range(writers):
            mine = [m.text for m in memory.messages if m.text.startswith(f"{writer} ")]
            assert mine == [f"{writer} {b} {n}" for b in range(batches) for n in range(size)]

    def test_tasks_lose_nothing(self, memory: Conversation) -> None:
        async def write(task: int) -> None:
            for n in range(50):
                await asyncio.to_thread(memory.add, "user", f"{task} {n}")

        async def all_of_them() -> None:
            await asyncio.gather(*(write(task) for task in range(8)))

        asyncio.run(all_of_them())
        assert sorted(m.text for m in memory.messages) == sorted(f"{t} {n}" for t in range(8) for n in range(50))
