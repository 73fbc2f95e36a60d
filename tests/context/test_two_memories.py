"""Two memories on one file, as in two processes: each sees what the other did, as one that is opened now does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from recollect import Memory, Message
from recollect.testing.clock import ManualClock
from tests.contexts import START, opened

SAID = (
    "I live in Oslo.",
    "I live in Paris now.",
    "I don't live in Oslo anymore.",
    "My name is Ada.",
    "My sister Nadia moved to Oslo in May.",
    "I like green tea.",
    "I hate green tea.",
    "I have a dog called Rex.",
    "Rex likes the camera.",
    "The battery of my camera is dead.",
    "Where did I put the camera?",
    "Remind me to buy milk tomorrow.",
    "Please keep answers short.",
)
ASKED = ("Where do I live?", "What about the camera battery?", "Who is Rex?", "tea in Oslo")
TEXTS = ("# Tea\n\nGreen tea comes from Oslo.", "# Camera\n\nThe battery lasts five hours.\n\n## Dog\n\nRex is a dog.")

either, talk = st.sampled_from([0, 1]), st.sampled_from(["spring", "summer"])


class TwoMemories(RuleBasedStateMachine):
    """Says, states, files and erases by one or the other of them."""

    def __init__(self) -> None:
        super().__init__()
        self.folder, self.clock = TemporaryDirectory(), ManualClock(START)
        self.memories = [self.open(), self.open()]
        self.kept: list[tuple[str, Message]] = []
        self.erased = False

    def open(self) -> Memory:
        return opened(Path(self.folder.name), self.clock)

    def teardown(self) -> None:
        for memory in self.memories:
            memory.close()
        self.folder.cleanup()

    @rule(n=either, session=talk, texts=st.lists(st.sampled_from(SAID), min_size=1, max_size=6))
    def say(self, n: int, session: str, texts: list[str]) -> None:
        self.clock.forward(minutes=7)
        said = [Message("assistant" if place % 2 else "user", text) for place, text in enumerate(texts)]
        self.kept += [(session, kept) for kept in self.memories[n].session(session, user="ada").add_many(said)]

    @rule(n=either, place=st.sampled_from(["Rome", "Bergen", None]))
    def state(self, n: int, place: str | None) -> None:
        self.clock.forward(minutes=1)
        self.memories[n].session("spring", user="ada").remember("place", place)

    @rule(n=either, text=st.sampled_from(TEXTS), name=st.sampled_from(["one", "two"]))
    def file(self, n: int, text: str, name: str) -> None:
        self.clock.forward(minutes=1)
        self.memories[n].session("spring", user="ada").documents.add(text, name=name)

    @precondition(lambda self: self.kept)
    @rule(n=either, data=st.data())
    def erase(self, n: int, data: st.DataObject) -> None:
        gone = data.draw(st.sampled_from(self.kept))
        self.memories[n].session(gone[0], user="ada").forget([gone[1].id])
        self.kept.remove(gone)
        self.erased = True

    @rule(n=either, session=talk)
    def erase_all(self, n: int, session: str) -> None:
        self.memories[n].session(session, user="ada").forget()
        self.kept = [one for one in self.kept if one[0] != session]
        self.erased = True

    @rule(n=either, session=talk, question=st.sampled_from(ASKED))
    def ask(self, n: int, session: str, question: str) -> None:
        self.memories[n].session(session, user="ada").context(question, 600)

    @rule(session=talk, question=st.sampled_from(ASKED))
    def compare(self, session: str, question: str) -> None:
        with self.open() as fresh:
            for memory in (*self.memories, fresh):
                memory.drain()
            known = list(self.known(fresh, session, question))
            for memory in self.memories:
                assert list(self.known(memory, session, question)) == known

    def known(self, memory: Memory, session: str, question: str) -> Iterator[object]:
        """All that there is to see. What was erased is nowhere in it, though it may count in a ranking once more."""
        chat = memory.session(session, user="ada")
        context = chat.context(question, 4_000)
        recalled = [line for line in context.receipt.lines if line.section == "episodic"]
        yield [line for line in context.receipt.lines if line not in recalled]
        assert {id for line in recalled for id in line.sources} <= {message.id for _, message in self.kept}
        if not self.erased:
            yield from (context.prompt, recalled, [hit.text for hit in chat.search(question)])
        yield from (chat.facts(), chat.summary(), chat.patterns(), chat.documents.list(), chat.history())


TestTwoMemories = TwoMemories.TestCase
TestTwoMemories.settings = settings(
    max_examples=int(os.environ.get("RECOLLECT_EXAMPLES", "10")),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_a_pin_that_one_sets_or_takes_off_is_seen_by_the_other(tmp_path: Path) -> None:
    with opened(tmp_path, ManualClock(START)) as one, opened(tmp_path, ManualClock(START)) as other:
        chats = [memory.session("trip", user="ada") for memory in (one, other)]
        first, *_ = chats[0].add_turn("The key is under the red pot.", "Noted.")
        for number in range(60):
            chats[0].add_turn(f"What about number {number}?", "That is a number. " * 10)

        def shown() -> list[bool]:
            contexts = [chat.context(budget=1_000) for chat in chats]
            return [any(message.id == first.id for message in context.conversation) for context in contexts]

        assert shown() == [False, False]
        chats[0].tag(first.id, pinned=True)
        assert shown() == [True, True]
        chats[1].tag(first.id, pinned=None)
        assert shown() == [False, False]
