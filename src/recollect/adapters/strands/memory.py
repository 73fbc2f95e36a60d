"""A store for the SDK's MemoryManager: what a user said in any session, found for the question that is asked now."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from html import escape
from itertools import groupby
from typing import Any, Final

from strands.memory import AddMessagesContext, ExtractionConfig, MemoryEntry, SearchOptions
from strands.types.content import Message as Wire

from recollect.adapters.strands.budget import as_ours
from recollect.answers import Candidate
from recollect.flow.fence import heading, quoted
from recollect.flow.receipt import Line
from recollect.frozen import freeze_dict
from recollect.session import Session
from recollect.types import Message

BUDGET: Final = 800
NOTES: Final = "notes"
"""The session that holds what the model itself asked to be kept."""


class SessionMemory:
    """Memory of a session's user: `Agent(memory_manager={"stores": [SessionMemory(session)]})`.

    A search finds what `Session.context` would offer for the query in a prompt of `prompt` tokens, beside what its
    conversation shows anyway: an entry for each section, as the SDK asks for a few entries only. All of it takes at
    most `budget` tokens as the SDK writes it into a prompt. With `extraction` the SDK hands the conversation over by
    itself; where a SessionLog keeps it there is no need.
    """

    def __init__(
        self,
        session: Session,
        budget: int = BUDGET,
        *,
        prompt: int | None = None,
        name: str = "recollect",
        writable: bool = True,
        extraction: ExtractionConfig | bool = False,
    ) -> None:
        self.session, self.budget, self.prompt = session, budget, prompt
        self.name, self.writable, self.extraction = name, writable, extraction
        self.description: str | None = "What was said in this and earlier conversations with the user."
        self.max_search_results: int | None = None

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """What memory has for the query, by section, within the budget; sections beyond the most share the last."""
        k = (options or {}).get("max_search_results", self.max_search_results)
        return await asyncio.to_thread(self._search, query, k)

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> str:
        """Keep a note, and return its id; the same words are kept once. It is the model's, so it becomes no fact."""
        scope = self.session.scope
        notes = self.session.memory.session(NOTES, user=scope.user or "", tenant=scope.tenant)
        id = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
        message = Message("assistant", content, id, metadata=freeze_dict(metadata, "metadata"))
        known = self.session.memory.store.log.get
        if not await asyncio.to_thread(known, notes.scope, [id]):
            await asyncio.to_thread(notes.add, message)
        return id

    async def add_messages(self, messages: list[Wire], context: AddMessagesContext | None = None) -> int:
        """Keep messages; returns how many were new."""
        return await asyncio.to_thread(self._add_messages, messages)

    def _search(self, query: str, k: int | None) -> list[MemoryEntry]:
        lines = [line for line in self.session.context(query, self.prompt).offered if line.kept]
        entries = _entries(lines, k)
        while entries and self.session.memory.counter(self._as_written(entries)) > self.budget:
            lines = _fewer(lines)
            entries = _entries(lines, k)
        return entries

    def _as_written(self, entries: list[MemoryEntry]) -> str:
        lines = [f'<entry source="{escape(self.name)}">{escape(entry.content)}</entry>' for entry in entries]
        return "\n".join(["\n\n<memory>", *lines, "</memory>"])

    def _add_messages(self, messages: list[Wire]) -> int:
        read = zip(as_ours(messages), messages, strict=True)
        given = [message.replace(id=wire.get("tracking_id") or "") for message, wire in read]
        ids = [message.id for message in given if message.id]
        known = {entry.message.id for entry in self.session.memory.store.log.get(self.session.scope, ids)}
        return len(self.session.add_many(message for message in given if message.id not in known))


def _entries(lines: list[Line], most: int | None) -> list[MemoryEntry]:
    """An entry for each section of the lines; those beyond the most share the last one."""
    sections = [list(group) for _, group in groupby(lines, key=lambda line: line.section)]
    if most is not None and len(sections) > most:
        sections[most - 1 :] = [[line for group in sections[most - 1 :] for line in group]]
    return [_entry(section) for section in sections]


def _fewer(lines: list[Line]) -> list[Line]:
    """The lines without the last one of the longest section; of two as long, of the later one."""
    counts = Counter(line.section for line in lines)
    place = max(range(len(lines)), key=lambda n: (counts[lines[n].section], n))
    return [*lines[:place], *lines[place + 1 :]]


def _entry(lines: list[Line]) -> MemoryEntry:
    about = {key: value for key, value in lines[0].to_dict().items() if key in ("section", "origin", "at", "score")}
    texts = [
        text
        for section, group in groupby(lines, key=lambda line: line.section)
        for text in (heading(section), *(quoted(Candidate(section, line.text, origin=line.origin)) for line in group))
    ]
    return MemoryEntry("\n".join(texts), metadata=about)
