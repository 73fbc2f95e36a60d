"""LangGraph's checkpoints in a memory: each thread is a session of the user, each step keeps only what is new."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from recollect.adapters.langgraph.threads import Step, Thread, Write
from recollect.aio import on_thread
from recollect.arguments import check_given
from recollect.errors import ConfigError
from recollect.memory import Memory
from recollect.recent import Recent
from recollect.types import Scope

MOST_SEEN: Final = 10_000
"""How many threads' newest steps are remembered."""


class RecollectSaver(BaseCheckpointSaver[str]):
    """A checkpointer for one user's threads; `memory.session(thread_id, user=user).forget()` erases a thread's, too.

    What a step did not change is not written again, and of a long list only its end is.
    """

    def __init__(
        self, memory: Memory, *, user: str, tenant: str = "default", serde: SerializerProtocol | None = None
    ) -> None:
        super().__init__(serde=serde)
        check_given(memory=(memory, isinstance(memory, Memory), "a Memory"))
        self.memory = memory
        self.owner = Scope(tenant, user)
        self._newest: Recent[tuple[Scope, str], tuple[int, str]] = Recent(MOST_SEEN)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint; of its values those with new versions."""
        thread, namespace = self._thread(config), _namespace(config)
        rest = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        step = Step(
            namespace,
            checkpoint["id"],
            get_checkpoint_id(config),
            rest,
            dict(get_checkpoint_metadata(config, metadata)),
        )
        thread.put(step, checkpoint["channel_values"], new_versions)
        return _config(thread, namespace, checkpoint["id"])

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task wrote after a checkpoint; a write that is there already stays as it is."""
        id = get_checkpoint_id(config)
        if not id:
            raise ConfigError("writes belong to a checkpoint: pass the config that put() returned")
        kept = [
            Write(task_id, task_path, WRITES_IDX_MAP.get(channel, place), channel, value)
            for place, (channel, value) in enumerate(writes)
        ]
        self._thread(config).put_writes(_namespace(config), id, kept)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that the config names, else the latest of its thread; None where there is none."""
        thread = self._thread(config)
        step = thread.step(_namespace(config), get_checkpoint_id(config))
        return None if step is None else _tuple(thread, step)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """The checkpoints of a thread, or of all the user's threads, newest first."""
        wanted = filter or {}
        found = [(t, s) for t in self._threads(config) for s in t.steps() if _asked_for(s, config, before, wanted)]
        found.sort(key=lambda pair: pair[1].id, reverse=True)
        for thread, step in found if limit is None else found[: max(0, limit)]:
            yield _tuple(thread, step)

    def delete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints of a thread; what was said in the session of that name stays."""
        self._named(thread_id).clear()

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs made."""
        for thread in self._threads(None):
            thread.remove([step for step in thread.steps() if step.metadata.get("run_id") in run_ids])

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints of a thread to another."""
        self._named(source_thread_id).copy_to(self._named(target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all (`delete`) or all but the latest (`keep_latest`) checkpoints of each namespace.

        Of a thread with delta channels, the checkpoints that the latest is rebuilt from stay as well.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ConfigError(f"strategy is {strategy!r}; use 'keep_latest' or 'delete'")
        for thread in map(self._named, thread_ids):
            keep = thread.latest() if strategy == "keep_latest" else set()
            thread.remove([step for step in thread.steps() if (step.namespace, step.id) not in keep])

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """`list`, awaited."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        for item in await asyncio.to_thread(tuple, found):
            yield item

    aput = on_thread(put)
    aput_writes = on_thread(put_writes)
    aget_tuple = on_thread(get_tuple)
    adelete_thread = on_thread(delete_thread)
    adelete_for_runs = on_thread(delete_for_runs)
    acopy_thread = on_thread(copy_thread)
    aprune = on_thread(prune)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """A version after the current one that no other branch of the thread has."""
        number = int(str(current).partition(".")[0]) if current is not None else 0
        return f"{number + 1:032}.{secrets.token_hex(8)}"

    def _named(self, thread_id: str) -> Thread:
        scope = Scope(self.owner.tenant, self.owner.user, str(thread_id))
        return Thread(self.memory.store, scope, self.serde, self._newest)

    def _thread(self, config: RunnableConfig) -> Thread:
        thread_id = config.get("configurable", {}).get("thread_id")
        if thread_id is None:
            raise ConfigError("the run has no thread: pass config={'configurable': {'thread_id': 'a name'}}")
        return self._named(thread_id)

    def _threads(self, config: RunnableConfig | None) -> Sequence[Thread]:
        if config is not None:
            return (self._thread(config),)
        return [self._named(name) for name in Thread.names(self.memory.store, self.owner)]


def _namespace(config: RunnableConfig) -> str:
    return str(config.get("configurable", {}).get("checkpoint_ns", ""))


def _config(thread: Thread, namespace: str, id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread.scope.session, "checkpoint_ns": namespace, "checkpoint_id": id}}


def _tuple(thread: Thread, step: Step) -> CheckpointTuple:
    return CheckpointTuple(
        _config(thread, step.namespace, step.id),
        cast("Checkpoint", {**step.checkpoint, "channel_values": thread.values(step)}),
        cast("CheckpointMetadata", dict(step.metadata)),
        _config(thread, step.namespace, step.parent) if step.parent else None,
        [(write.task, write.channel, write.value) for write in thread.writes(step)],
    )


def _asked_for(
    step: Step, config: RunnableConfig | None, before: RunnableConfig | None, wanted: Mapping[str, Any]
) -> bool:
    given = config.get("configurable", {}) if config else {}
    until = get_checkpoint_id(before) if before else None
    return (
        given.get("checkpoint_ns", step.namespace) == step.namespace
        and (given.get("checkpoint_id") or step.id) == step.id
        and (until is None or step.id < until)
        and all(step.metadata.get(name) == value for name, value in wanted.items())
    )
