"""The checkpointer: LangGraph's own conformance suite, and that a step writes only what is new."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.graph import StateGraph

from recollect import Memory
from recollect.adapters.langgraph import RecollectSaver
from recollect.adapters.langgraph.threads import KINDS
from recollect.errors import ConfigError
from recollect.transfer import export_lines, import_lines
from recollect.types import Scope

PASSED = 81
"""The tests of langgraph-checkpoint-conformance 0.0.2; docs/langgraph.md says so."""


class State(TypedDict):
    lines: Annotated[list[str], operator.add]


def joined(state: list[str], writes: Sequence[list[str]]) -> list[str]:
    return [*state, *(line for write in writes for line in write)]


class Deltas(TypedDict):
    lines: Annotated[list[str], DeltaChannel(joined, snapshot_frequency=5)]


def conversation(saver: RecollectSaver, schema: Any = State) -> Any:
    builder = StateGraph(schema)
    builder.add_node("answer", lambda _: {"lines": ["answer " + "x" * 500]})
    builder.set_entry_point("answer")
    return builder.compile(checkpointer=saver)


def thread(name: str = "trip") -> Any:
    return {"configurable": {"thread_id": name}}


@pytest.fixture
def memory(store_url: str) -> Iterator[Memory]:
    with Memory.open(store_url, embedder=None) as memory:
        yield memory


def kept(memory: Memory) -> int:
    """Bytes of all that is kept of checkpoints."""
    scope = Scope("default", "ada")
    return sum(len(str(r.value)) for kind in KINDS for r in memory.store.records.find(scope, kind=kind))


def test_langgraphs_own_conformance_suite_passes(memory: Memory) -> None:
    count = iter(range(100))

    @checkpointer_test(name="recollect")
    async def saver() -> AsyncGenerator[RecollectSaver, None]:
        yield RecollectSaver(memory, user=f"user {next(count)}")

    report = asyncio.run(validate(saver))
    assert [result.failures for result in report.results.values() if result.failures] == []
    assert report.conformance_level() == "FULL"
    assert sum(result.tests_passed for result in report.results.values()) == PASSED


def test_a_step_writes_what_is_new_and_not_the_whole_state(memory: Memory) -> None:
    graph = conversation(RecollectSaver(memory, user="ada"))
    sizes = []
    for n in range(48):
        graph.invoke({"lines": [f"question {n} " + "y" * 500]}, thread())
        if (n + 1) % 8 == 0:
            sizes.append(kept(memory))
    assert len(graph.get_state(thread()).values["lines"]) == 96
    assert sizes[5] - sizes[4] < 1.2 * (sizes[1] - sizes[0])


def test_every_earlier_state_can_still_be_read(memory: Memory) -> None:
    graph = conversation(RecollectSaver(memory, user="ada"))
    for n in range(12):
        graph.invoke({"lines": [f"question {n}"]}, thread())
    lengths = {len(state.values["lines"]) for state in graph.get_state_history(thread()) if state.values.get("lines")}
    assert lengths == set(range(1, 25))


def test_branches_of_a_thread_do_not_touch_each_other(memory: Memory) -> None:
    graph = conversation(RecollectSaver(memory, user="ada"))
    graph.invoke({"lines": ["one"]}, thread())
    before = graph.get_state(thread())
    graph.invoke({"lines": ["left"]}, thread())
    left = graph.get_state(thread())
    graph.invoke({"lines": ["right"]}, before.config)
    assert "right" in graph.get_state(thread()).values["lines"]
    assert graph.get_state(left.config).values == left.values


@pytest.mark.parametrize("schema", [State, Deltas])
def test_pruning_keeps_the_latest_state_whole_and_frees_the_rest(memory: Memory, schema: Any) -> None:
    saver = RecollectSaver(memory, user="ada")
    graph = conversation(saver, schema)
    for n in range(20):
        graph.invoke({"lines": [f"question {n}"]}, thread())
    before, size = graph.get_state(thread()).values, kept(memory)
    saver.prune(["trip"])
    assert graph.get_state(thread()).values == before
    assert kept(memory) < size
    saver.prune(["trip"], strategy="delete")
    assert kept(memory) == 0
    with pytest.raises(ConfigError, match="keep_latest"):
        saver.prune(["trip"], strategy="some")


def test_two_users_with_the_same_thread_are_apart(memory: Memory) -> None:
    ada, bob = (conversation(RecollectSaver(memory, user=user)) for user in ("ada", "bob"))
    ada.invoke({"lines": ["mine"]}, thread())
    assert bob.get_state(thread()).values == {}
    RecollectSaver(memory, user="bob").delete_thread("trip")
    assert ada.get_state(thread()).values["lines"][0] == "mine"


def test_a_thread_moves_to_another_store_with_all_its_steps(memory: Memory) -> None:
    graph = conversation(RecollectSaver(memory, user="ada"))
    for n in range(12):
        graph.invoke({"lines": [f"line {n}"]}, thread())
    with Memory.open(":memory:", embedder=None) as other:
        for _ in range(2):
            import_lines(other, export_lines(memory, Scope("default", "ada")))
        moved = conversation(RecollectSaver(other, user="ada"))
        states, theirs = ([s.values for s in one.get_state_history(thread())] for one in (graph, moved))
        assert states == theirs
        assert len(moved.invoke({"lines": ["more"]}, thread())["lines"]) == 26


def test_forgetting_the_session_erases_its_checkpoints(memory: Memory) -> None:
    graph = conversation(RecollectSaver(memory, user="ada"))
    graph.invoke({"lines": ["secret"]}, thread())
    memory.session("trip", user="ada").forget()
    assert kept(memory) == 0
    assert graph.get_state(thread()).values == {}


def test_a_config_without_a_thread_is_refused_with_the_way_to_give_one(memory: Memory) -> None:
    saver = RecollectSaver(memory, user="ada")
    with pytest.raises(ConfigError, match="thread_id"):
        saver.get_tuple({"configurable": {}})
    with pytest.raises(ConfigError, match=r"put\(\)"):
        saver.put_writes(thread(), [("lines", ["x"])], "task")
