"""Retention: what a store should no longer keep, by policy and layer. `preview` shows it, `apply` erases exactly that.

Messages go in whole turns, together with what was made from them: summaries, patterns, results of web searches. Facts
lose those messages as sources, but stay until a policy of their own lets them go.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from recollect.errors import Conflict
from recollect.flow.retain import MESSAGES, Aged, Policy, expired, idle_sessions
from recollect.flow.turns import turns
from recollect.layers import documents, procedural, semantic, summary, tools
from recollect.layers.embedding import CHUNK
from recollect.store import Entry, Erased, Record, Store, each_session
from recollect.types import Scope, with_zone

__all__ = ["Going", "Plan", "Policy", "apply", "preview"]

KINDS: Final = {
    "facts": semantic.KIND,
    "summaries": summary.KIND,
    "documents": documents.KIND,
    "tools": tools.KIND,
    "patterns": procedural.KIND,
}
SAMPLE: Final = 10
"""How many ids of each layer a preview shows."""
_Turn: TypeAlias = Aged[tuple[Scope, tuple[str, ...]]]
"""A turn, by its session and the ids of its messages."""
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Going:
    """What would be erased from one layer: how much, the time of the oldest, and some of the ids."""

    layer: str
    count: int
    oldest: datetime | None
    sample: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be erased, by layer. `digest` identifies it, so that exactly this can be applied later."""

    scope: Scope
    policies: tuple[Policy, ...]
    now: datetime
    going: tuple[Going, ...]
    digest: str

    def count(self, layer: str) -> int:
        """How much would be erased from a layer."""
        return sum(going.count for going in self.going if going.layer == layer)


@dataclass(slots=True)
class _Found:
    """What is to go: whole sessions, messages by session, and records. The `spared` facts only lose their sources."""

    sessions: set[Scope] = field(default_factory=set)
    messages: dict[Scope, dict[str, datetime]] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    spared: list[Record] = field(default_factory=list)

    def homes(self) -> dict[str, list[Scope]]:
        """The sessions of the messages that go, by message id: several sessions may use the same id."""
        found = defaultdict[str, list[Scope]](list)
        for session, ids in self.messages.items():
            for id in ids:
                found[id].append(session)
        return dict(found)

    def digest(self) -> str:
        """A hash that identifies exactly this."""
        told = hashlib.sha256()
        places = [(repr(scope), id) for scope, ids in self.messages.items() for id in ids]
        places += [(repr(record.scope), f"{record.kind} {record.id}") for record in self.records]
        places += [(repr(session), "") for session in self.sessions]
        for line in sorted(places):
            told.update(repr(line).encode("utf-8", "backslashreplace"))
        return told.hexdigest()


def preview(store: Store, scope: Scope, policies: Sequence[Policy], now: datetime) -> Plan:
    """What would be erased from a scope at the time `now`; nothing is changed."""
    plan = Plan(scope, tuple(policies), with_zone(now), (), "")
    return _filled(plan, _found(store, plan))


def apply(store: Store, plan: Plan) -> Erased:
    """Erase exactly what the plan says; returns how much. If that has changed, raises Conflict and erases nothing."""
    with store.transaction(plan.scope):
        found = _found(store, plan)
        if found.digest() != plan.digest:
            raise Conflict(_differs(plan, _filled(plan, found)))
        erased = [
            store.log.erase(session, None if session in found.sessions else list(ids))
            for session, ids in found.messages.items()
        ]
        for session in found.messages.keys() - found.sessions:
            store.jobs.enqueue(session, [summary.JOB])
        _keep_facts(store, found)
        if records := _delete(store, found.records):
            store.log.erase(plan.scope, [])
    total = Erased(*(sum(getattr(one, name) for one in erased) for name in ("messages", "records", "items", "jobs")))
    return replace(total, records=total.records - len(found.spared) + records)


def _filled(plan: Plan, found: _Found) -> Plan:
    by_layer = {MESSAGES: sorted((at, id) for ids in found.messages.values() for id, at in ids.items())}
    for layer, kind in KINDS.items():
        by_layer[layer] = sorted((_when(record), record.id) for record in found.records if record.kind == kind)
    going = tuple(
        Going(layer, len(things), things[0][0], tuple(id for _, id in things[:SAMPLE]))
        for layer, things in sorted(by_layer.items())
        if things
    )
    return replace(plan, going=going, digest=found.digest())


def _differs(plan: Plan, now: Plan) -> str:
    layers = sorted({going.layer for going in (*plan.going, *now.going)})
    then = {layer: f"{plan.count(layer)} then, " if plan.going else "" for layer in layers}
    counts = ", ".join(f"{layer} {then[layer]}{now.count(layer)} now" for layer in layers) or "nothing now"
    return f"what would be erased has changed since the preview ({counts}): nothing was erased, make a new preview"


def _found(store: Store, plan: Plan) -> _Found:
    found = _Found()
    if about := [policy for policy in plan.policies if policy.layer == MESSAGES]:
        _find_messages(store, plan, about, found)
    homes = found.homes()
    searched = {record.position for record in _searched(store, found)}
    for layer, kind in KINDS.items():
        records = store.records.find(plan.scope.owner, kind=kind)
        inside = [record for record in records if record.scope and plan.scope.covers(record.scope)]
        own = _expired(inside, [policy for policy in plan.policies if policy.layer == layer], plan.now)
        along = [one for one in records if one.position in searched or _goes_along(one, found.sessions, homes)]
        if layer == "facts":
            going = {record.position for record in own}
            found.spared = [record for record in along if record.position not in going]
            along = []
        found.records += {record.position: record for record in (*own, *along)}.values()
    return found


def _find_messages(store: Store, plan: Plan, policies: Sequence[Policy], found: _Found) -> None:
    times: dict[Scope, dict[str, datetime]] = {}
    spoken: dict[Scope, list[_Turn]] = {}
    for session in [one.scope for one in each_session(store.log, plan.scope)]:
        read = store.log.read(session)
        times[session] = {entry.message.id: _at(entry) for entry in read}
        spoken[session] = list(_turns(session, read))
    everything = [turn for said in spoken.values() for turn in said]
    found.sessions = spoken.keys() & idle_sessions(everything, policies, plan.now)
    gone = {turn.key for turn in expired(everything, policies, plan.now)}
    for session, said in spoken.items():
        going = said if session in found.sessions else [turn for turn in said if turn.key in gone]
        if going:
            ids = times[session] if len(going) == len(said) else [id for turn in going for id in turn.key[1]]
            found.messages[session] = {id: times[session][id] for id in ids}


def _turns(session: Scope, read: Sequence[Entry]) -> Iterator[_Turn]:
    """The turns of a session. System messages belong to no turn, unless there is nothing else."""
    by_id = {entry.message.id: entry for entry in read}
    messages = [entry.message for entry in read]
    for turn in turns(messages) or ([tuple(messages)] if messages else []):
        inside = [by_id[message.id] for message in turn]
        key = (session, tuple(message.id for message in turn))
        at = max(map(_at, inside))
        yield Aged(key, session.owner, session, at, (at, max(entry.position for entry in inside)), len(inside))


def _at(entry: Entry) -> datetime:
    return entry.message.at or _LONG_AGO


def _when(record: Record) -> datetime:
    """When something was said, if the record has that, else when it was recorded."""
    told = record.value.get("at") if isinstance(record.value, Mapping) else None
    if isinstance(told, str):
        with suppress(ValueError):
            return with_zone(datetime.fromisoformat(told))
    return record.recorded_at or _LONG_AGO


def _expired(records: Sequence[Record], policies: Sequence[Policy], now: datetime) -> list[Record]:
    if not policies:
        return []
    things = [
        Aged(n, one.scope.owner if one.scope else None, one.scope, at := _when(one), (at, one.position))
        for n, one in enumerate(records)
    ]
    return [records[thing.key] for thing in expired(things, policies, now)]


def _goes_along(record: Record, sessions: Set[Scope], homes: Mapping[str, Sequence[Scope]]) -> bool:
    """Whether a record goes with the messages: it is in a session that goes, or cites one of them."""
    scope = record.scope
    return scope is not None and (
        scope in sessions or any(scope.covers(home) for source in record.sources for home in homes.get(source, ()))
    )


def _searched(store: Store, found: _Found) -> Iterator[Record]:
    """The excerpts that a web search found for messages that go."""
    for session, ids in found.messages.items():
        yield from tools.searched_for(store, session, store.log.get(session, list(ids)))


def _keep_facts(store: Store, found: _Found) -> None:
    """Put back the facts that were erased with their messages, without those messages as sources."""
    homes = found.homes()
    for record in found.spared:
        assert record.scope is not None
        left = [id for id in record.sources if not any(_is_from(record, home) for home in homes.get(id, ()))]
        store.records.put(record.scope, [replace(record, sources=tuple(left))])


def _is_from(fact: Record, home: Scope) -> bool:
    """Whether a fact is from that session or does not name its session; other sessions may use the same message ids."""
    told = fact.value.get("session") if isinstance(fact.value, Mapping) else None
    return fact.scope is not None and fact.scope.covers(home) and told in (None, home.session)


def _delete(store: Store, records: Iterable[Record]) -> int:
    """Delete records with their earlier versions and index items; returns how many records were deleted."""
    together = defaultdict[tuple[Scope, str, str], list[Record]](list)
    for record in records:
        assert record.scope is not None
        together[record.scope, record.kind, record.key].append(record)
        for kind, items in _items(record):
            store.index.delete(record.scope, kind, list(items))
    total = 0
    for (scope, kind, key), going in together.items():
        versions = store.records.history(scope, kind, key)
        ids = [old.id for old in versions if old.scope == scope and old.superseded_at is not None]
        total += store.records.delete(scope, [*(record.id for record in going), *ids])
    return total


def _items(record: Record) -> Iterable[tuple[str, Iterable[Any]]]:
    if record.kind == documents.KIND:
        yield CHUNK, record.value.get("chunks", ())
    elif record.kind in (tools.KIND, summary.KIND):
        yield record.kind, (record.id, record.key)
