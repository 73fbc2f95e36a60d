"""Export and import of what was put in besides messages, as plain data.

That is documents, facts that cite no message, tool excerpts, and the records and items that adapters keep. What the
layers learned from messages is left out: another store learns it again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from recollect.answers import Excerpt
from recollect.arguments import MAX_WHOLE
from recollect.errors import InvalidTranscript, ModelError, NotFound, StoreError
from recollect.layers import documents, ledger, marks, procedural, semantic, summary, tools
from recollect.layers.all import Layers
from recollect.layers.embedding import KINDS, job_for
from recollect.layers.windows import ALWAYS
from recollect.store import Item, Record
from recollect.store.codec import item_fields, plain_item, plain_record, record_fields
from recollect.types import Scope, with_zone

log = logging.getLogger("recollect")

Plain: TypeAlias = dict[str, Any]

DERIVED: Final = (marks.KIND, summary.KIND, procedural.KIND, ALWAYS, ledger.KIND)
IN_SESSIONS: Final = {documents.KIND: False, semantic.KIND: False, tools.KIND: True}
"""The kinds of records that layers keep, and whether they keep them in sessions. Elsewhere, an adapter keeps them."""
OWN: Final = (*DERIVED, *IN_SESSIONS, *KINDS)
"""The kinds of records and items that the layers keep themselves."""
FIELDS: Final = ("key", "id", "value", "confidence", "origin", "trust", "sources", "valid_from", "valid_to")
NO_MODEL: Final = "none"
"""A name that no model has. Every item lacks a vector of it, so asking for those that do lists all items."""


def exported(layers: Layers, record: Record) -> tuple[str, Plain] | None:
    """A record for an export: its kind, and its content as plain data.

    None if it was learned from messages, belongs to no user, or does not look like what its layer writes; and where it
    was removed since it was read: a document's text is then gone, or a message that the record cites. Of a document of
    which parts are lost, there is the rest.
    """
    if record.scope is None or record.scope.user is None:
        return None
    if not _is_ours(record.kind, record.scope):
        there = not record.sources or record in _now(layers, record)
        return ("record", {"kind": record.kind, **_record(record)}) if there else None
    try:
        match record.kind:
            case documents.KIND:
                document = _document(layers, record)
                there = record in _now(layers, record)
                if there and documents.lacks_parts(record, document["text"]):
                    log.warning("the document %r has lost parts: add it again, then export it again", record.key)
                return ("document", document) if there and document["text"] else None
            case tools.KIND:
                return "excerpt", _excerpt(layers, record)
            case semantic.KIND if not record.sources:
                return "fact", {**_record(record), "value": semantic.portable(record)}
    except (LookupError, TypeError, AttributeError) as error:
        problem = type(error).__name__
        log.warning("%s %s is left out of the export, it can't be read: %s", record.kind, record.id, problem)
    return None


def items(layers: Layers, scope: Scope, kinds: Iterable[str]) -> Iterator[tuple[Scope, Plain]]:
    """The index items of these kinds that adapters keep, not the layers."""
    wanted = tuple(kind for kind in kinds if kind not in OWN)
    found = layers.documents.store.index.missing(scope, NO_MODEL, kinds=wanted, limit=MAX_WHOLE) if wanted else []
    for item in found:
        if item.scope and item.scope.user:
            yield item.scope, {"kind": item.kind, "id": item.id, **plain_item(item)}


def keep(layers: Layers, scope: Scope, kind: str, body: Any) -> bool:
    """Keep a thing that another store exported; returns whether it is new here.

    Raises InvalidTranscript for something that no export holds, Conflict if its name or id belongs to something else,
    and NotFound if it cites messages that are not here.
    """
    try:
        if not isinstance(body, Mapping):
            raise InvalidTranscript(f"expected an object, got a {type(body).__name__}")
        given = {name: part for name, part in body.items() if part is not None or name == "value"}
        return _KEEP[kind](layers, scope, given)
    except KeyError as error:
        raise InvalidTranscript(f"not a {kind} as an export writes it: it has no {error}") from error
    except (StoreError, ModelError):
        raise
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidTranscript(f"not a {kind} as an export writes it: {error}") from error


def _now(layers: Layers, record: Record) -> list[Record]:
    return layers.documents.store.records.get(record.scope or Scope(), [record.id])


def _document(layers: Layers, record: Record) -> Plain:
    given = {"at": record.valid_from, "added": documents.added_at(record)}
    times = {name: at.isoformat() for name, at in given.items() if at}
    return {
        "name": record.key,
        "text": layers.documents.text(record),
        **({"metadata": record.value["metadata"]} if record.value["metadata"] else {}),
        **times,
    }


def _keep_document(layers: Layers, scope: Scope, body: Plain) -> bool:
    _check_names(body, "name", "text", "metadata", "at", "added")
    times = {name: _moment(body[name]) for name in ("at", "added") if name in body}
    return layers.documents.restore(scope, body["text"], body["name"], metadata=body.get("metadata"), **times)


def _excerpt(layers: Layers, record: Record) -> Plain:
    found = layers.tools.store.index.get(record.scope or Scope(), tools.KIND, [record.id])
    since = record.valid_from
    at = next((item.at for item in found if item.scope == record.scope), None) or since
    told = {
        "text": record.value["text"],
        "source": record.value["source"],
        "at": at and at.isoformat(),
        "found": since.isoformat() if since and since != at else None,
        "question": record.value["question"],
    }
    return {name: part for name, part in told.items() if part}


def _keep_excerpt(layers: Layers, scope: Scope, body: Plain) -> bool:
    _check_names(body, "text", "source", "at", "found", "question")
    question, at = body.get("question", ""), _moment(body["at"])
    if scope.session is None or not isinstance(question, str):
        raise InvalidTranscript("an excerpt belongs to a session, and its question must be text")
    excerpt = Excerpt(body["text"], body["source"], _moment(body["found"]) if "found" in body else at)
    return layers.tools.restore(scope, excerpt, at, question)


def _record(record: Record) -> Plain:
    plain = plain_record(record)
    plain.pop("recorded_at", None)
    return {"key": record.key, "id": record.id, **plain}


def _keep_fact(layers: Layers, scope: Scope, body: Plain) -> bool:
    _check_names(body, *FIELDS)
    return layers.semantic.restore(scope.owner, _read_record(layers, scope.owner, {**body, "kind": semantic.KIND}))


def _keep_record(layers: Layers, scope: Scope, body: Plain) -> bool:
    _check_names(body, "kind", *FIELDS)
    record = _read_record(layers, scope, body)
    _check_kind(record.kind, _is_ours(record.kind, scope))
    store = layers.semantic.store
    with store.transaction(scope):
        known = [one for one in store.records.get(scope, [record.id]) if one.scope == scope]
        store.records.put(scope, [record])
    return not known


def _read_record(layers: Layers, scope: Scope, body: Plain) -> Record:
    texts = [body[name] for name in ("kind", "key", "id")] + [body.get(name, "") for name in ("origin", "trust")]
    if not all(isinstance(text, str) for text in texts) or not body["id"]:
        raise InvalidTranscript("its kind, key, id, origin and trust must be text")
    record = Record(**record_fields({**body, "sources": _ids(body)}))
    _check_cited(layers, scope, record.sources)
    return record


def _keep_item(layers: Layers, scope: Scope, body: Plain) -> bool:
    _check_names(body, "kind", "id", "text", "at", "role", "metadata", "sources")
    if not isinstance(body["text"], str):
        raise InvalidTranscript(f"its text must be text, got a {type(body['text']).__name__}")
    item = Item(**item_fields({"at": None, **body, "sources": _ids(body)}))
    _check_kind(item.kind, item.kind in OWN)
    _check_cited(layers, scope, item.sources)
    store = layers.documents.store
    with store.transaction(scope):
        if any(one.scope == scope for one in store.index.get(scope, item.kind, [item.id])):
            return False
        store.index.put(scope, [item])
        if embedder := layers.documents.embedder:
            store.jobs.enqueue(scope.owner, [job_for(embedder.name, item.kind)])
    return True


_KEEP: Final[Mapping[str, Callable[[Layers, Scope, Plain], bool]]] = {
    "document": _keep_document,
    "fact": _keep_fact,
    "excerpt": _keep_excerpt,
    "record": _keep_record,
    "item": _keep_item,
}


def _check_names(body: Plain, *names: str) -> None:
    if unknown := sorted(body.keys() - set(names)):
        raise InvalidTranscript(f"unknown fields: {', '.join(unknown)}; the known ones are {', '.join(names)}")


def _is_ours(kind: str, scope: Scope) -> bool:
    """Whether a layer keeps records of that kind in such a scope."""
    return kind in OWN and IN_SESSIONS.get(kind, scope.session is not None) is (scope.session is not None)


def _check_kind(kind: str, ours: bool) -> None:
    if ours:
        raise InvalidTranscript(f"the kind {kind!r} is reserved for the layers of memory")


def _check_cited(layers: Layers, scope: Scope, ids: tuple[str, ...]) -> None:
    if len({entry.message.id for entry in layers.semantic.store.log.get(scope, ids)}) < len(set(ids)):
        raise NotFound(f"it cites messages that are not here: {list(ids)}")


def _ids(body: Plain) -> tuple[str, ...]:
    ids = body.get("sources", [])
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
        raise InvalidTranscript("its sources must be a list of texts")
    return tuple(ids)


def _moment(told: Any) -> datetime:
    return with_zone(datetime.fromisoformat(told))
