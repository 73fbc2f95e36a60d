"""What is kept of a LangGraph thread: records in the session of its name.

A step's values are kept by channel and version. A long list, such as the messages of a conversation, is kept in pages
by their content, so that a step which adds a message writes the end of the list and not the whole.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langgraph.checkpoint.base import writes_sort_key
from langgraph.checkpoint.serde.base import SerializerProtocol

from recollect.recent import Recent
from recollect.store import Record, Store
from recollect.types import Scope

STEP: Final = "checkpoint"
VALUE: Final = "checkpoint value"
PAGE: Final = "checkpoint page"
WRITE: Final = "checkpoint write"
KINDS: Final = (STEP, VALUE, PAGE, WRITE)
PAGE_SIZE: Final = 8
"""Items a page. Larger pages mean more to write at each step, smaller ones more names of pages in it."""
DELTAS: Final = "counters_since_delta_snapshot"


@dataclass(frozen=True, slots=True)
class Step:
    """A checkpoint without its values."""

    namespace: str
    id: str
    parent: str | None
    checkpoint: Mapping[str, Any]
    metadata: Mapping[str, Any]

    @property
    def channels(self) -> dict[str, str]:
        """The ids of its values, by channel; a channel that was empty has none."""
        return {c: _id(VALUE, self.namespace, c, v) for c, v in self.checkpoint["channel_versions"].items()}


@dataclass(frozen=True, slots=True)
class Write:
    """What a task wrote to a channel after a checkpoint; a negative place is one that is written over."""

    task: str
    path: str
    place: int
    channel: str
    value: Any


@dataclass(frozen=True, slots=True)
class Thread:
    """The checkpoints of one thread in a store."""

    store: Store
    scope: Scope
    serde: SerializerProtocol
    newest: Recent[tuple[Scope, str], tuple[int, str]]
    """The position and id of the newest step that was seen of each namespace, so that only later ones are read."""

    @staticmethod
    def names(store: Store, owner: Scope) -> Iterable[str]:
        """The user's threads."""
        found = store.records.find(owner, kind=STEP)
        return dict.fromkeys(record.scope.session for record in found if record.scope and record.scope.session)

    def put(self, step: Step, values: Mapping[str, Any], versions: Mapping[str, Any]) -> None:
        """Keep a step, and its values at the new versions."""
        records = [self._step_record(step)]
        for channel, version in versions.items():
            if channel in values:
                records += self._value_records(_id(VALUE, step.namespace, channel, version), values[channel])
        with self.store.transaction(self.scope):
            self._put(records)

    def put_writes(self, namespace: str, step: str, writes: Iterable[Write]) -> None:
        """Keep writes of a step, each once."""
        records = [self._write_record(namespace, step, write) for write in writes]
        with self.store.transaction(self.scope):
            there = {record.id for record in self.store.records.get(self.scope, [record.id for record in records])}
            self._put([record for record in records if record.value["place"] < 0 or record.id not in there])

    def step(self, namespace: str, id: str | None) -> Step | None:
        """The step of that id, else the latest of the namespace."""
        if id:
            found = self.store.records.get(self.scope, [_id(STEP, namespace, id)])
            return self._step(found[0]) if found else None
        place, before = self.newest.get((self.scope, namespace), (1, ""))
        found = self._later(namespace, place - 1)
        if before not in (record.id for record in found):
            found = self._later(namespace, 0)
        if not found:
            return None
        newest = max(found, key=lambda record: str(record.value["id"]))
        self.newest[self.scope, namespace] = newest.position, newest.id
        return self._step(newest)

    def _later(self, namespace: str, position: int) -> list[Record]:
        return self.store.records.find(self.scope, kind=STEP, key=f"/{namespace}", after=position)

    def steps(self) -> list[Step]:
        """All steps."""
        return [self._step(record) for record in self.store.records.find(self.scope, kind=STEP)]

    def values(self, step: Step) -> dict[str, Any]:
        """The values of a step by channel."""
        records = self.store.records.get(self.scope, list(step.channels.values()))
        kept = {record.id: record.value for record in records}
        pages = self._pages({name for value in kept.values() for name in value.get("pages", ())})
        return {channel: self._value(kept[id], pages) for channel, id in step.channels.items() if id in kept}

    def writes(self, step: Step) -> list[Write]:
        """What was written after a step, in the order in which it is applied."""
        found = self._write_records(step)
        return sorted(map(self._write, found), key=lambda w: writes_sort_key(w.path, w.task, w.place))

    def latest(self) -> set[tuple[str, str]]:
        """The latest step of each namespace, and those that its delta channels are rebuilt from."""
        steps = {(step.namespace, step.id): step for step in self.steps()}
        keep: set[tuple[str, str]] = set()
        for newest in {namespace: max(id for n, id in steps if n == namespace) for namespace, _ in steps}.items():
            at: Step | None = steps[newest]
            missing = set((at.metadata.get(DELTAS) or {}) if at else ())
            while at is not None:
                keep.add((at.namespace, at.id))
                missing -= self.values(at).keys()
                at = steps.get((at.namespace, at.parent or "")) if missing else None
        return keep

    def remove(self, steps: Sequence[Step]) -> None:
        """Delete steps with their writes, and the values that no other step has."""
        if not steps:
            return
        with self.store.transaction(self.scope):
            writes = [write.id for step in steps for write in self._write_records(step)]
            self._delete([*(_id(STEP, step.namespace, step.id) for step in steps), *writes])
            used = {id for step in self.steps() for id in step.channels.values()}
            values = self._of(VALUE)
            self._delete([value.id for value in values if value.id not in used])
            pages = {page for value in values if value.id in used for page in value.value.get("pages", ())}
            self._delete([page.id for page in self._of(PAGE) if page.id not in pages])

    def clear(self) -> None:
        """Delete all that is kept of the thread's checkpoints."""
        with self.store.transaction(self.scope):
            self._delete([record.id for kind in KINDS for record in self._of(kind)])

    def copy_to(self, other: Thread) -> None:
        """Copy everything to another thread."""
        with self.store.transaction():
            for kind in KINDS:
                other._put([_fresh(record) for record in self._of(kind)])

    def _of(self, kind: str) -> list[Record]:
        return self.store.records.find(self.scope, kind=kind)

    def _write_records(self, step: Step) -> list[Record]:
        return self.store.records.find(self.scope, kind=WRITE, key=_id(step.namespace, step.id))

    def _put(self, records: Sequence[Record]) -> None:
        """Put records in the place of those with the same ids."""
        new = {record.id: record for record in records}
        there = {record.id: record for record in self.store.records.get(self.scope, list(new))}
        self._delete([id for id, old in there.items() if old.value != new[id].value])
        self.store.records.put(
            self.scope, [r for id, r in new.items() if id not in there or there[id].value != r.value]
        )

    def _delete(self, ids: Sequence[str]) -> None:
        if ids:
            self.store.records.delete(self.scope, ids)

    def _step_record(self, step: Step) -> Record:
        value = {
            "id": step.id,
            "parent": step.parent,
            "checkpoint": self._dump(step.checkpoint),
            "metadata": self._dump(step.metadata),
        }
        return Record(STEP, f"/{step.namespace}", value, id=_id(STEP, step.namespace, step.id))

    def _step(self, record: Record) -> Step:
        value = record.value
        checkpoint, metadata = self._load(value["checkpoint"]), self._load(value["metadata"])
        return Step(record.key[1:], value["id"], value["parent"], checkpoint, metadata)

    def _value_records(self, id: str, value: Any) -> list[Record]:
        if type(value) is not list or len(value) <= PAGE_SIZE:
            return [Record(VALUE, "/", {"data": self._dump(value)}, id=id)]
        full = len(value) - len(value) % PAGE_SIZE
        pages = [_page(self._dump(value[at : at + PAGE_SIZE])) for at in range(0, full, PAGE_SIZE)]
        names = [page.id for page in pages]
        return [*pages, Record(VALUE, "/", {"data": self._dump(value[full:]), "pages": names}, id=id)]

    def _value(self, kept: Mapping[str, Any], pages: Mapping[str, Sequence[str]]) -> Any:
        rest = self._load(kept["data"])
        if "pages" not in kept:
            return rest
        return [item for name in kept["pages"] for item in self._load(pages[name])] + rest

    def _pages(self, ids: Iterable[str]) -> dict[str, Sequence[str]]:
        wanted = list(ids)
        return {page.id: page.value for page in self.store.records.get(self.scope, wanted)} if wanted else {}

    def _write_record(self, namespace: str, step: str, write: Write) -> Record:
        value = {
            "task": write.task,
            "path": write.path,
            "place": write.place,
            "channel": write.channel,
            "data": self._dump(write.value),
        }
        return Record(WRITE, _id(namespace, step), value, id=_id(WRITE, namespace, step, write.task, write.place))

    def _write(self, record: Record) -> Write:
        value = record.value
        return Write(value["task"], value["path"], value["place"], value["channel"], self._load(value["data"]))

    def _dump(self, value: Any) -> list[str]:
        kind, data = self.serde.dumps_typed(value)
        return [kind, b64encode(data).decode()]

    def _load(self, kept: Sequence[str]) -> Any:
        return self.serde.loads_typed((kept[0], b64decode(kept[1])))


def _id(*names: object) -> str:
    return json.dumps([str(name) for name in names])


def _page(data: Sequence[str]) -> Record:
    return Record(PAGE, "/", data, id=hashlib.sha256("|".join(data).encode()).hexdigest()[:40])


def _fresh(record: Record) -> Record:
    return Record(record.kind, record.key, record.value, id=record.id)
