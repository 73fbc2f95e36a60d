"""Search by words in what was made from conversations: blocks of summaries, facts, and tool excerpts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, get_args

from recollect.answers import Artifact, Hit, Recalled
from recollect.errors import ConfigError
from recollect.flow.facts.tell import asked_by, line
from recollect.flow.overlap import shares
from recollect.layers.all import Layers
from recollect.layers.ranking import Asked
from recollect.layers.tools import origin_of
from recollect.store import Filter, Item
from recollect.store.words import query_words, words
from recollect.types import Scope

ARTIFACTS: Final[tuple[Artifact, ...]] = get_args(Artifact)


def search(layers: Layers, kind: Artifact, asked: Asked, k: int) -> Recalled:
    """The `k` best artifacts of a kind that share a word with the question, best first; rare words count more."""
    if asked.where != Filter(since=asked.where.since, before=asked.where.before):
        raise ConfigError(f"where can filter {kind} by time only: give just since and before, or search for turns")
    find = {"summary": _summaries, "facts": _facts, "tools": _excerpts}[kind]
    there = [(hit, text) for hit, text in find(layers, asked, k) if asked.where.passes(Item(kind, kind, at=hit.at))]
    share = shares(query_words(asked.text), {n: set(words(text)) for n, (_, text) in enumerate(there)})
    scored = [replace(hit, score=share[n]) for n, (hit, _) in enumerate(there)]
    best = sorted((hit for hit in scored if hit.score > 0), key=lambda hit: (-hit.score, -hit.at.timestamp()))
    return Recalled(best[:k], best[0].score if best else 0.0)


def _summaries(layers: Layers, asked: Asked, k: int) -> Iterator[tuple[Hit, str]]:
    for item in layers.summary.find(asked.within, asked.text, k, asked.where):
        yield Hit(item.sources, item.text, 0.0, item.at or asked.at, _session(item.scope)), item.text


def _facts(layers: Layers, asked: Asked, _: int) -> Iterator[tuple[Hit, str]]:
    for fact in layers.semantic.facts(asked.within):
        here = asked.within.session in (None, *fact.sessions)
        if here and (fact.valid_to is None or asked.at < fact.valid_to):
            yield Hit(fact.sources, line(fact), 0.0, fact.updated_at, fact.session), asked_by(fact)


def _excerpts(layers: Layers, asked: Asked, _: int) -> Iterator[tuple[Hit, str]]:
    for record in layers.tools.fresh(asked.within, asked.at):
        text = f"[{origin_of(record)}] {record.value['text']}"
        found = f"{record.value['text']} {record.value['question']}"
        yield Hit((), text, 0.0, record.valid_from or asked.at, _session(record.scope)), found


def _session(scope: Scope | None) -> str:
    return scope.session or "" if scope else ""
