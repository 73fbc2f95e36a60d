"""Documents: cut into chunks, found by words and by meaning, quoted with their headings, and never made into facts."""

from __future__ import annotations

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

from recollect.answers import UNDER, Candidate, Document, Passage
from recollect.arguments import MAX_QUESTION, check_question
from recollect.embed import Embedder, Reranker
from recollect.embed.nearness import Nearness
from recollect.embed.scripts import reads
from recollect.errors import ConfigError, Conflict, ModelError, NotFound
from recollect.flow.chunk import Chunk, chunks
from recollect.flow.overlap import dwelling, shares
from recollect.frozen import freeze_dict
from recollect.layers import files
from recollect.layers.embedding import CHUNK, job_for
from recollect.recent import Recent
from recollect.settings import DEFAULTS, Settings
from recollect.store import Filter, Item, Record, Store
from recollect.store.checks import check_count
from recollect.store.words import query_words, words
from recollect.types import Scope, check_id, with_zone

log = logging.getLogger("recollect")

Passages: TypeAlias = list[Passage]
Offered: TypeAlias = list[Candidate]
Listed: TypeAlias = list[Document]

KIND: Final = "document"
MATCHED: Final = 96
"""How many chunks a search by words finds at most: so many that it hardly matters which come last."""
LOOKED_AT: Final = 24
"""How many of them are looked at more closely, those that dwell most on the words, and how many found by meaning."""
NEAR_MISSES: Final = 10
WORDS: Final = 0.25
"""What a chunk that holds all words of the question gains in nearness; others gain in proportion."""
KEYWORDS: Final = 0.3
"""What the best match by keywords gains in the final order; others gain in proportion."""
KEPT: Final = 4_096
"""For how many chunks the words are remembered, and for how many users that they have documents."""
KEPT_USERS: Final = 64
"""For how many users it is remembered which texts they have."""


@dataclass(slots=True, eq=False)
class Documents:
    """A user's documents. Without an embedder they are found by words alone; a re-ranker orders the best ones again."""

    store: Store
    count: Callable[[str], int]
    embedder: Embedder | None = None
    reranker: Reranker | None = None
    settings: Settings = DEFAULTS
    nearness: Nearness | None = field(init=False, default=None)
    _words: Recent[str, Counter[str]] = field(init=False, default_factory=lambda: Recent(KEPT))
    _owners: Recent[Scope, None] = field(init=False, default_factory=lambda: Recent(KEPT))
    _texts: Recent[Scope, tuple[tuple[int, int], dict[str, tuple[str, ...]]]] = field(
        init=False, default_factory=lambda: Recent(KEPT_USERS)
    )

    def __post_init__(self) -> None:
        self.nearness = Nearness(self.embedder) if self.embedder else None

    def add(
        self,
        scope: Scope,
        source: Path | str,
        *,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | None = None,
    ) -> Document:
        """Add a file (by its path) or a text, and return its document. It replaces a different one of the same name.

        Files can be Markdown, plain text, HTML or PDF. A file's name is its path as given; a text without a name gets
        one from its content. A text that the user already has under another name is not kept twice. Chunks that a
        damaged store has lost are there again once their document is added again.
        """
        scope = _owner(scope)
        text = files.read(source) if isinstance(source, Path) else _text(source, name)
        named = name or (source.as_posix() if isinstance(source, Path) else f"text {_digest(text)[:8]}")
        new, parts = self._cut(text, named, metadata, at)
        with self.store.transaction(scope):
            old = self._current(scope, new.key)
            if old is None and (same := self._same(scope, new)):
                return _document(same)
            if old is not None and (_said(old), old.valid_from) == (_said(new), new.valid_from):
                here = {item.id for item in self.store.index.get(scope, CHUNK, old.value["chunks"])}
                self._index(scope, [_item(old, id, part) for id, part in parts.items() if id not in here])
                return _document(old)
            return _document(self._put(scope, old, new, parts))

    def restore(
        self,
        scope: Scope,
        text: str,
        name: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | None = None,
        added: datetime | None = None,
    ) -> bool:
        """Keep a document that was added to another store at time `added`; returns whether it is new here.

        Raises Conflict if a document with another text has its name.
        """
        scope = _owner(scope)
        new, parts = self._cut(_text(text, name), name, metadata, at)
        if added:
            new = replace(new, value={**new.value, "at": with_zone(added).isoformat()})
        with self.store.transaction(scope):
            if (old := self._current(scope, new.key)) is None:
                self._put(scope, None, new, parts)
            elif old.value["hash"] != new.value["hash"]:
                raise Conflict(f"document {name!r} is here with another text and stays; remove it to import this one")
        return old is None

    def text(self, document: Record) -> str:
        """The text of a document as it was given, put together from its chunks.

        Old records don't say where each chunk starts; there, equal words at the borders tell how far chunks overlap.
        """
        ids = list(document.value["chunks"])
        items = self.store.index.get(document.scope or Scope(), CHUNK, ids)
        said = {item.id: item.text.removeprefix(_lead(item.metadata["headings"])) for item in items}
        places, whole = document.value.get("starts"), ""
        for n, id in enumerate(ids):
            part = said.get(id, "")
            whole += part[max(0, len(whole) - places[n]) if places else _overlap(whole, part) :]
        return whole

    def list(self, scope: Scope) -> Listed:
        """The user's documents by name."""
        records = self.store.records.find(_owner(scope), kind=KIND, exact=True)
        return [_document(record) for record in sorted(records, key=lambda record: record.key)]

    def remove(self, scope: Scope, name: str) -> Document:
        """Remove a document with all its versions for good, and return it. Raises NotFound."""
        scope, name = _owner(scope), check_id(name, "name")
        with self.store.transaction(scope):
            versions = self.store.records.history(scope, KIND, name)
            current = self._current(scope, name)
            if current is None:
                there_are = ", ".join(document.name for document in self.list(scope))
                raise NotFound(f"there is no document {name!r}; the documents are: {there_are or 'none'}")
            self.store.index.delete(scope, CHUNK, list(current.value["chunks"]))
            self.store.records.delete(scope, [record.id for record in versions])
            self.store.log.erase(scope, [])
        return _document(current)

    def forget(self) -> None:
        """Drop what is cached, because documents were erased."""
        self._words.clear()
        self._owners.clear()
        self._texts.clear()

    def search(self, scope: Scope, question: str, k: int | None = None) -> Passages:
        """The `k` best passages (or `documents_search_k`) that are near enough to the question, best first."""
        check_question(question)
        check_count("k", k)
        near, _ = self._parted(_owner(scope), question, None)
        return near[: self.settings.documents_search_k if k is None else k]

    def offer(self, scope: Scope, question: str, *, as_of: int | None = None) -> Offered:
        """The best passages to quote, best first, and then the next ones with the rule that left them out.

        With `as_of`, only what was there at that position of the store; documents changed since are listed as left out.
        """
        near, far = self._parted(_owner(scope), question, as_of)
        settings, most = self.settings, self.settings.documents_top_k
        best = near[: settings.documents_search_k]
        over = [_candidate(one, f"more than {most}") for one in best[most:]]
        missed = over + [_candidate(one, f"below {settings.documents_threshold}") for one in far]
        changed = [] if as_of is None else self._changed(_owner(scope), as_of)
        return [*map(_candidate, best[:most]), *missed[:NEAR_MISSES], *changed[:NEAR_MISSES]]

    def _parted(self, scope: Scope, question: str, as_of: int | None) -> tuple[Passages, Passages]:
        """The passages that are near enough to the question, in the re-ranker's order, and the others."""
        ranked, least = self._ranked(scope, question, as_of), self.settings.documents_threshold
        near = [one for one in ranked if one.score >= least]
        return self._reranked(question, near), [one for one in ranked if one.score < least]

    def _changed(self, scope: Scope, as_of: int) -> Offered:
        """The documents whose text at that position of the store is gone, because they were changed since."""
        stood = self.store.records.find(scope, kind=KIND, as_of=as_of, exact=True)
        return [
            Candidate("documents", old.key, 0.0, f"document {old.key}", at=old.valid_from, out="changed since")
            for old in stood
            if old.superseded_at and not self._is_there(scope, old, as_of)
        ]

    def _is_there(self, scope: Scope, old: Record, as_of: int) -> bool:
        ids = set(old.value["chunks"])
        return sum(item.position <= as_of for item in self.store.index.get(scope, CHUNK, list(ids))) == len(ids)

    def _cut(
        self, text: str, name: str, metadata: Mapping[str, Any] | None, at: datetime | None
    ) -> tuple[Record, dict[str, Chunk]]:
        """Cut a document into chunks; returns its record, and the chunks by their ids."""
        if not text.strip():
            raise ConfigError(f"{name} is empty: there is nothing to keep")
        named, settings = check_id(name, "name"), self.settings
        found = chunks(text, self.count, settings.chunk_tokens, settings.chunk_overlap)
        ids = [_chunk_id(named, part) for part in found]
        value = {
            "hash": _digest(text),
            "metadata": freeze_dict(metadata, "metadata"),
            "tokens": self.count(text),
            "chunks": ids,
            "starts": [part.start for part in found],
        }
        new = Record(KIND, named, value, origin=named, trust=KIND, valid_from=at)
        return new, dict(zip(ids, found, strict=True))

    def _put(self, scope: Scope, old: Record | None, new: Record, parts: Mapping[str, Chunk]) -> Record:
        """Keep a document in place of an old one, if there is one. Call it inside a transaction."""
        had = set(old.value["chunks"]) if old else set[str]()
        stays = had if old and old.valid_from == new.valid_from else ()
        items = [_item(new, id, part) for id, part in parts.items() if id not in stays]
        if old:
            kept = self.store.records.supersede(scope, old.id, new)
        else:
            kept = self.store.records.put(scope, [replace(new, id=f"{KIND} {_digest(new.key)}")])[0]
        self._index(scope, items)
        self.store.index.delete(scope, CHUNK, sorted(had.difference(parts)))
        return kept or new

    def _index(self, scope: Scope, items: Sequence[Item]) -> None:
        self.store.index.put(scope, items)
        if items and self.embedder:
            self.store.jobs.enqueue(scope, [job_for(self.embedder.name)])

    def _current(self, scope: Scope, name: str) -> Record | None:
        found = self.store.records.find(scope, kind=KIND, key=name, exact=True)
        return found[-1] if found else None

    def _same(self, scope: Scope, new: Record) -> Record | None:
        text = new.value["hash"]
        found = self.store.records.get(scope, self._by_text(scope).get(text, ()))
        standing = (record for record in found if record.superseded_at is None and record.value["hash"] == text)
        return min(standing, key=lambda record: record.position, default=None)

    def _by_text(self, scope: Scope) -> dict[str, tuple[str, ...]]:
        """The ids of the user's documents by the hashes of their texts. Only what is new in the store is read."""
        (had, last), ids = self._texts.get(scope, ((0, 0), {}))
        extent = self.store.records.extent(scope, KIND)
        new = self.store.records.find(scope, kind=KIND, exact=True, after=last)
        last = new[-1].position if new else last
        if (had + len(new), last) != extent:  # some were removed or replaced, or a backup was restored
            ids, new = {}, self.store.records.find(scope, kind=KIND, exact=True)
        for record in new:
            text = record.value["hash"]
            ids[text] = (*ids.get(text, ()), record.id)
        self._texts[scope] = extent, ids
        return ids

    def _ranked(self, scope: Scope, question: str, as_of: int | None) -> Passages:
        """The chunks that share words or meaning with the question, best first.

        The score is the nearness; for chunks that are near enough, keywords add to it.
        """
        asked, where = question[:MAX_QUESTION], Filter(kinds=(CHUNK,), as_of=as_of, exact=True)
        if not asked.strip() or not self._are_there(scope):
            return []
        wanted, by_meaning = query_words(asked), self._near(scope, asked, where)
        by_words = [match.id for match in self.store.index.search(scope, asked, MATCHED, where=where)]
        looked_at = dict.fromkeys([*by_meaning, *self._best(scope, wanted, by_words)])
        items = self.store.index.get(scope, CHUNK, list(looked_at))
        held = {item.id: self._words_of(item) for item in items}
        near, keywords = self._nearest(shares(wanted, held), items, by_meaning), dwelling(wanted, held)
        best, least = max(keywords.values(), default=0.0) or 1.0, self.settings.documents_threshold
        gain = {id: KEYWORDS * keywords[id] / best for id, found in near.items() if found >= least}
        score = {id: found + gain.get(id, 0.0) for id, found in near.items()}
        order = sorted(items, key=lambda item: (-score[item.id], item.id))
        distinct = {item.text: _passage(item, score[item.id]) for item in reversed(order)}
        return list(distinct.values())[::-1]

    def _are_there(self, scope: Scope) -> bool:
        """Whether the user has, or once had, documents. That is remembered, so that it costs no query each time."""
        if scope in self._owners:
            return True
        if found := self.store.records.find(scope, kind=KIND, exact=True, limit=1):
            self._owners[scope] = None
        return bool(found)

    def _nearest(
        self, share: Mapping[str, float], items: Sequence[Item], by_meaning: Mapping[str, float]
    ) -> dict[str, float]:
        """How near each chunk is: by meaning and a little by the question's words; without a vector, by words alone.

        A text in a script that the model can't read counts as without a vector. If the search by meaning found as many
        chunks as it may, all others count as near as the last of them.
        """
        if len(by_meaning) == LOOKED_AT:
            by_meaning = dict.fromkeys(share, min(by_meaning.values())) | dict(by_meaning)
        read = {item.id for item in items if self.embedder and reads(self.embedder.name, item.text)} & by_meaning.keys()
        return {id: min(1.0, by_meaning[id] + WORDS * said) if id in read else said for id, said in share.items()}

    def _best(self, scope: Scope, wanted: Sequence[str], ids: Sequence[str]) -> Sequence[str]:
        """Those of the chunks that dwell most on the wanted words."""
        held = {id: found for id in ids if (found := self._words.get(id)) is not None}
        new = self.store.index.get(scope, CHUNK, [id for id in ids if id not in held])
        dwelt = dwelling(wanted, held | {item.id: self._words_of(item) for item in new})
        return sorted(dwelt, key=lambda id: (-dwelt[id], id))[:LOOKED_AT]

    def _words_of(self, item: Item) -> Counter[str]:
        """How often a chunk says each word, remembered under its id: that changes with its text."""
        found = self._words.get(item.id)
        if found is None:
            found = self._words[item.id] = Counter(words(item.text))
        return found

    def _near(self, scope: Scope, asked: str, where: Filter) -> dict[str, float]:
        if self.embedder is None or self.nearness is None or not reads(self.embedder.name, asked):
            return {}
        try:
            vector = self.embedder.embed([asked], kind="query")[0]
            matches = self.store.index.nearest(scope, vector, self.embedder.name, LOOKED_AT, where=where)
            return {match.id: self.nearness.of(match.score) for match in matches}
        except ModelError as error:
            log.warning("documents are searched by words alone this time: %s", error)
            return {}

    def _reranked(self, question: str, near: Passages) -> Passages:
        """The same passages, with the best few in the re-ranker's order."""
        most = self.settings.documents_rerank_n
        first, rest = near[:most], near[most:]
        if self.reranker is None or len(first) < 2:
            return near
        try:
            scores = self.reranker.score(question[:MAX_QUESTION], [passage.text for passage in first])
        except ModelError as error:
            log.warning("documents are not re-ranked this time: %s", error)
            return near
        order = sorted(range(len(first)), key=lambda n: (-float(scores[n]), n))
        return [first[n] for n in order] + rest


def _owner(scope: Scope) -> Scope:
    if scope.user is None:
        raise ConfigError("documents belong to a user: give a scope that names one")
    return scope.owner


def _text(source: str, name: str | None) -> str:
    """The text itself; raises ConfigError if it looks like the name of a file."""
    if not isinstance(source, str):
        raise ConfigError(f"a document is a Path or text, got {type(source).__name__}")
    if name is None and source.lower().endswith(files.ENDINGS) and len(source.split()) == 1:
        raise ConfigError(
            f"{source!r} looks like a file name: give Path({source!r}) to read the file, or name=… to keep it as text"
        )
    return source


def lacks_parts(document: Record, text: str) -> bool:
    """Whether this is not all of a document's text: parts that were damaged may have been erased."""
    return bool(_digest(text) != document.value["hash"])


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _lead(headings: Sequence[str]) -> str:
    """The line in front of a chunk's words in the index: with it, the chunk is found by its headings too."""
    return UNDER.join(headings) + "\n" if headings else ""


def _chunk_id(name: str, part: Chunk) -> str:
    """An id made from name, headings and words, so that an unchanged chunk keeps its id and its vector."""
    return _digest("\0".join((name, *part.headings, part.text)))


def _item(document: Record, id: str, part: Chunk) -> Item:
    metadata = freeze_dict({"document": document.key, "headings": list(part.headings)}, "metadata")
    return Item(CHUNK, id, _lead(part.headings) + part.text, at=document.valid_from, metadata=metadata)


def _passage(item: Item, score: float) -> Passage:
    headings = tuple(item.metadata["headings"])
    text = item.text.removeprefix(_lead(headings)).strip()
    return Passage(item.metadata["document"], headings, text, score, item.id, item.at)


def added_at(document: Record) -> datetime | None:
    """When a document was added: here, or in the store that it was imported from."""
    told = document.value.get("at")
    return datetime.fromisoformat(told) if told else document.recorded_at


def _said(document: Record) -> dict[str, Any]:
    return {name: part for name, part in document.value.items() if name != "at"}


def _overlap(whole: str, part: str) -> int:
    """How many characters at the start of `part` repeat the end of `whole`."""
    return next(n for n in range(min(len(whole), len(part)), -1, -1) if whole.endswith(part[:n]))


def _document(record: Record) -> Document:
    value = record.value
    at = record.valid_from or added_at(record)
    return Document(record.key, len(value["chunks"]), value["tokens"], at, value["hash"], value["metadata"])


def _candidate(passage: Passage, out: str = "") -> Candidate:
    return Candidate("documents", passage.text, passage.score, passage.origin, (passage.id,), passage.at, out)
