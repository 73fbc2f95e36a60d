"""LangGraph's long-term store in a memory: namespaces, keys, filters, search by words and meaning, times to live."""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final, TypeAlias

import numpy as np
from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    ensure_embeddings,
    get_text_at_path,
)
from numpy.typing import NDArray

from recollect.arguments import MAX_WHOLE, check_given
from recollect.errors import ConfigError
from recollect.frozen import FrozenDict, freeze, thaw
from recollect.memory import Memory
from recollect.store import Filter, Match, Record
from recollect.store import Item as Indexed
from recollect.store.codec import id_of
from recollect.types import Scope

KIND: Final = "langgraph item"
REFRESH_AFTER: Final = 0.1
"""Reading an item gives it its whole time to live again, once this share of it is gone."""
OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
Path: TypeAlias = tuple[str, ...]


class RecollectStore(BaseStore):
    """A store of one user, or of the whole tenant where none is named; a user's is erased with the user.

    Items are found by their words at once, and by meaning where the memory or `index` has an embedder. `index` names
    the fields to search by; without it, all. `ttl` has the default time to live, in minutes.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: Memory,
        *,
        user: str | None = None,
        tenant: str = "default",
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        check_given(memory=(memory, isinstance(memory, Memory), "a Memory"))
        self.memory = memory
        self.scope = Scope(tenant, user)
        self.ttl_config = ttl
        self._fields = (index or {}).get("fields") or ["$"]
        self._meaning = _meaning(index, memory)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results of the operations: reads first, as things were before; then puts, the last of a key wins."""
        asked = list(ops)
        results = [None if isinstance(op, PutOp) else self._read(op) for op in asked]
        self._write({_key(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)})
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch`, awaited."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Delete items whose time is over; returns how many. Reading leaves them out in any case."""
        now = self.memory.clock()
        with self.memory.store.transaction(self.scope):
            over = [record for record in self._records(expired=True) if record.valid_to and record.valid_to <= now]
            for record in over:
                self._remove(record)
        return len(over)

    def _read(self, op: Op) -> Result:
        if isinstance(op, (SearchOp, ListNamespacesOp)) and min(op.limit, op.offset) < 0:
            raise ConfigError(f"limit is {op.limit} and offset {op.offset}; neither can be negative")
        if isinstance(op, GetOp):
            return self._get(op)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise ConfigError(f"a {type(op).__name__} is no operation of a store; use get, search, list_namespaces or put")

    def _get(self, op: GetOp) -> Item | None:
        found = self._records(_key(op.namespace, op.key))
        self._refresh(found if op.refresh_ttl else ())
        return Item(**_shown(found[0])) if found else None

    def _search(self, op: SearchOp) -> list[SearchItem]:
        fitting = {record.key: record for record in self._records() if _fits(record, op)}
        found = self._ranked(op, fitting) if op.query else ((record, None) for record in _newest_first(fitting))
        page = list(islice(found, op.offset, op.offset + op.limit))
        self._refresh([record for record, _ in page] if op.refresh_ttl else ())
        return [SearchItem(**_shown(record), score=score) for record, score in page]

    def _ranked(self, op: SearchOp, among: Mapping[str, Record]) -> Iterator[tuple[Record, float]]:
        """Those that match the query, best first, by the mean of how well they do in words and in meaning."""
        where = Filter(kinds=(KIND,), exact=True, metadata=_under(op.namespace_prefix))
        index, query = self.memory.store.index, op.query or ""
        words = _best(index.search(self.scope, query, MAX_WHOLE, where=where))
        top = max(words.values(), default=1.0)
        channels = [{key: score / top for key, score in words.items()}]
        if self._meaning:
            vector = self._meaning.query(query)
            channels.append(_best(index.nearest(self.scope, vector, self._meaning.name, MAX_WHOLE, where=where)))
        keys = among.keys() & {key for channel in channels for key in channel}
        scores = {key: sum(channel.get(key, 0.0) for channel in channels) / len(channels) for key in keys}
        for key in sorted(scores, key=lambda key: (-scores[key], key)):
            yield among[key], scores[key]

    def _namespaces(self, op: ListNamespacesOp) -> list[Path]:
        found = {_path(record)[0] for record in self._records()}
        kept = {path for path in found if all(_matches(condition, path) for condition in op.match_conditions or ())}
        shown = sorted(kept if op.max_depth is None else {path[: op.max_depth] for path in kept})
        return shown[op.offset : op.offset + op.limit]

    def _write(self, puts: Mapping[str, PutOp]) -> None:
        if not puts:
            return
        texts = {key: self._texts(op) for key, op in puts.items()}
        every = [text for found in texts.values() for text in found]
        vectors = dict(zip(every, self._meaning.passages(every), strict=True)) if self._meaning and every else {}
        with self.memory.store.transaction(self.scope):
            for key, op in puts.items():
                old = self._records(key, expired=True)
                for record in old:
                    self._remove(record)
                if op.value is not None:
                    self._keep(key, op, old, texts[key], vectors)

    def _keep(
        self,
        key: str,
        op: PutOp,
        old: Sequence[Record],
        texts: Sequence[str],
        vectors: Mapping[str, NDArray[np.float32]],
    ) -> None:
        now = self.memory.clock()
        created = old[0].value["created"] if old else now.isoformat()
        value = {"value": op.value, "created": created, "updated": now.isoformat(), "ttl": op.ttl, "texts": len(texts)}
        store, items = self.memory.store, _indexed(key, op.namespace, texts, now)
        store.records.put(self.scope, [Record(KIND, key, value, valid_to=_end(now, op.ttl), id=id_of(KIND, key))])
        store.index.put(self.scope, items)
        if self._meaning and items:
            store.index.embed(self.scope, KIND, self._meaning.name, {item.id: vectors[item.text] for item in items})

    def _remove(self, record: Record) -> None:
        self.memory.store.records.delete(self.scope, [record.id])
        self.memory.store.index.delete(self.scope, KIND, _ids(record.key, record.value["texts"]))

    def _refresh(self, records: Iterable[Record]) -> None:
        now, store = self.memory.clock(), self.memory.store
        for record in records:
            end = _end(now, record.value["ttl"])
            if end and record.valid_to and end - record.valid_to >= (end - now) * REFRESH_AFTER:
                with store.transaction():
                    if store.records.delete(self.scope, [record.id]):
                        store.records.put(
                            self.scope, [Record(KIND, record.key, record.value, valid_to=end, id=record.id)]
                        )

    def _records(self, key: str | None = None, expired: bool = False) -> list[Record]:
        now = None if expired else self.memory.clock()
        return self.memory.store.records.find(self.scope, kind=KIND, key=key, valid_at=now, exact=True)

    def _texts(self, op: PutOp) -> list[str]:
        if op.value is None or op.index is False:
            return []
        freeze(op.value, f"the value of {op.key!r}")
        fields = self._fields if op.index is None else op.index
        return list(dict.fromkeys(text for field in fields for text in get_text_at_path(op.value, field) if text))


@dataclass(frozen=True, slots=True)
class _Meaning:
    name: str
    query: Callable[[str], NDArray[np.float32]]
    passages: Callable[[Sequence[str]], NDArray[np.float32]]


def _meaning(index: IndexConfig | None, memory: Memory) -> _Meaning | None:
    """The embedder that `index` names, else the memory's own."""
    if index and index.get("embed"):
        given = ensure_embeddings(index["embed"])
        return _Meaning(
            f"langgraph:{index['dims']}",
            lambda text: np.asarray(given.embed_query(text), np.float32),
            lambda texts: np.asarray(given.embed_documents(list(texts)), np.float32),
        )
    if own := memory.embedder:
        return _Meaning(own.name, lambda text: own.embed([text], kind="query")[0], own.embed)
    return None


def _key(namespace: Path, key: str) -> str:
    return json.dumps([*namespace, key], ensure_ascii=False)


def _path(record: Record) -> tuple[Path, str]:
    *namespace, key = json.loads(record.key)
    return tuple(namespace), key


def _ids(key: str, texts: int) -> list[str]:
    return [f"{place}{key}" for place in range(texts)]


def _indexed(key: str, namespace: Path, texts: Sequence[str], now: datetime) -> list[Indexed]:
    prefixes: dict[str, str] = {}
    for depth in range(1, len(namespace) + 1):
        prefixes |= _under(namespace[:depth])
    ids = _ids(key, len(texts))
    return [Indexed(KIND, id, text, at=now, metadata=FrozenDict(prefixes)) for id, text in zip(ids, texts, strict=True)]


def _under(prefix: Path) -> FrozenDict:
    """What the metadata of everything under that namespace say."""
    return FrozenDict({f"under {len(prefix)}": ".".join(prefix)} if prefix else {})


def _best(matches: Iterable[Match]) -> dict[str, float]:
    """The best score of each key's texts."""
    best: dict[str, float] = {}
    for match in matches:
        key = match.id.lstrip("0123456789")
        best[key] = max(best.get(key, 0.0), match.score)
    return best


def _shown(record: Record) -> dict[str, Any]:
    namespace, key = _path(record)
    kept = record.value
    return {
        "namespace": namespace,
        "key": key,
        "value": thaw(kept["value"]),
        "created_at": datetime.fromisoformat(kept["created"]),
        "updated_at": datetime.fromisoformat(kept["updated"]),
    }


def _newest_first(records: Mapping[str, Record]) -> list[Record]:
    return sorted(records.values(), key=lambda record: str(record.value["updated"]), reverse=True)


def _fits(record: Record, op: SearchOp) -> bool:
    namespace, _ = _path(record)
    value = record.value["value"]
    return namespace[: len(op.namespace_prefix)] == tuple(op.namespace_prefix) and all(
        _equals(value.get(name), wanted) for name, wanted in (op.filter or {}).items()
    )


def _equals(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping) and any(str(name).startswith("$") for name in wanted):
        return all(_compares(value, name, bound) for name, bound in wanted.items())
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and all(_equals(value.get(name), inner) for name, inner in wanted.items())
    return bool(value == (list(wanted) if isinstance(wanted, tuple) else wanted))


def _compares(value: Any, name: str, bound: Any) -> bool:
    if name not in OPERATORS:
        raise ConfigError(f"{name} is no operator of a filter; use one of {', '.join(OPERATORS)}")
    try:
        return OPERATORS[name](value, bound)
    except TypeError:
        return False


def _matches(condition: MatchCondition, path: Path) -> bool:
    wanted = condition.path
    part = path[: len(wanted)] if condition.match_type == "prefix" else path[len(path) - len(wanted) :]
    return len(part) == len(wanted) and all(want in ("*", have) for have, want in zip(part, wanted, strict=True))


def _end(now: datetime, minutes: float | None) -> datetime | None:
    return None if minutes is None else now + timedelta(minutes=minutes)
