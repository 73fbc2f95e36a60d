"""ConversationMemory passes the suite that third parties run, and keeps its word under load."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

import pytest

from recollect import BudgetTooSmall
from recollect.conversation import Conversation, ConversationMemory
from recollect.testing import MemorySuite
from recollect.tokens import TokenCounter
from recollect.types import Message


class TestConversationMemory(MemorySuite):
    def new(self, counter: TokenCounter, clock: Callable[[], datetime]) -> Conversation:
        return ConversationMemory(counter, clock)


def test_eight_writers_of_ten_thousand_messages_with_readers_lose_and_tear_nothing() -> None:
    memory, batch, per_writer = ConversationMemory(lambda text: 1), 100, 10_000
    done, torn = threading.Event(), list[int]()

    def write(writer: int) -> None:
        for start in range(0, per_writer, batch):
            memory.add_many([Message("user", f"{writer} {n}") for n in range(start, start + batch)])

    def read() -> None:
        while not done.is_set():
            seen = memory.messages
            torn.append(len(seen) % batch)
            torn.extend(
                seen[i].text.split()[0] != seen[i + batch - 1].text.split()[0] for i in range(0, len(seen), batch)
            )

    with ThreadPoolExecutor(10) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        try:
            list(pool.map(write, range(8)))
        finally:
            done.set()
    assert [reader.result() for reader in readers] == [None, None]
    assert not any(torn)
    assert memory.count == 8 * per_writer
    by_writer: dict[str, list[int]] = {}
    for message in memory.messages:
        writer, n = message.text.split()
        by_writer.setdefault(writer, []).append(int(n))
    assert all(numbers == list(range(per_writer)) for numbers in by_writer.values())


def test_an_empty_memory_says_only_what_helps_of_a_limit_below_zero() -> None:
    with pytest.raises(BudgetTooSmall, match=r"the budget is -5: 5 too many\. Raise the budget$"):
        ConversationMemory().prune(-5)


def test_true_is_not_one_as_in_the_filters_of_a_store() -> None:
    memory = ConversationMemory()
    memory.add("user", "one", metadata={"important": 1, "n": 1})
    true = memory.add("user", "true", metadata={"important": True, "n": True})
    assert memory.important == memory.search(n=True) == (true,)
    assert [message.text for message in memory.where(n=1.0)] == ["one"]
