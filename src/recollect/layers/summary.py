"""The rolling summary: what was said before the window, in a few hundred tokens that change only at a cut.

A session's messages are folded into the summary in blocks. A context shows the summary of all whole blocks before the
window, extended by the messages between them and the window, so that nothing is missing and nothing is shown twice. It
depends on the messages alone: what the background has not folded yet is folded when a context needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from typing import Any, Final

from recollect.answers import Candidate
from recollect.flow.days import written
from recollect.flow.summarise import Said, Sentence, fold, pick, render
from recollect.layers.columns import ASSISTANTS, speaker_of
from recollect.layers.marks import Gone, check_there, drop_citing, read_to, retry_when_gone, set_read_to
from recollect.llm.recall import echoes
from recollect.recent import Recent
from recollect.settings import DEFAULTS
from recollect.store import Entry, Filter, Item, Job, Record, Store
from recollect.store.words import COMMON, query_words, words
from recollect.types import Scope

KIND: Final = "summary"
JOB: Final = Job(KIND, key=KIND)
BLOCKS_A_JOB: Final = 50
_COMMON: Final = frozenset(words(" ".join(COMMON)))
SPARE: Final = 20
"""How many more blocks are looked at than asked for, as some may have been made with other settings."""
KEPT: Final = 256
"""How many summaries are remembered as they were last offered."""


@dataclass(slots=True, eq=False)
class Summary:
    """The summaries of sessions, in the messages' own sentences; safe to use from many threads."""

    store: Store
    count: Callable[[str], int]
    every: int = DEFAULTS.summary_every_messages
    max_tokens: int = DEFAULTS.summary_tokens
    _kept: Recent[tuple[object, ...], list[Candidate]] = field(default_factory=lambda: Recent(KEPT))

    def learn(self, job: Job) -> int:
        """Fold the new blocks of a session into its summary, and finish the job; returns how many blocks.

        If there are more blocks, the job is enqueued again.
        """
        return self._fold(job.scope or Scope(), job)

    def catch_up(self, scope: Scope) -> int:
        """Fold all whole blocks of the session that are not yet in its summary; returns how many."""
        folded = 0
        while new := self._fold(scope, None):
            folded += new
        return folded

    def offer(self, scope: Scope, first_seq: int, as_of: int | None = None, before: object = None) -> list[Candidate]:
        """The summary of the session's messages before number `first_seq`; nothing if there are none.

        `before` identifies those messages: while it is the same, the same summary is offered again from memory.
        """
        if first_seq <= 1:
            return []
        end, record = self._known(scope, first_seq - 1, as_of)
        key = (scope, first_seq, record and record.position, before)
        if before is not None and (known := self._kept.get(key)) is not None:
            return list(known)
        entries = self.store.log.read(scope, after=end, until=first_seq - 1)
        found = self._candidates(scope, first_seq, record, entries)
        if before is not None:
            self._kept[key] = found
        return list(found)

    def text(self, scope: Scope) -> str:
        """The summary of all that was said in the session so far."""
        return "\n".join(candidate.text for candidate in self.offer(scope, self._last(scope) + 1))

    def find(self, within: Scope, question: str, k: int, where: Filter) -> list[Item]:
        """The `k` best blocks of a session, or of all a user's, that share a word with a question, best first."""
        found = self.store.index.search(within, question, k + SPARE, where=replace(where, kinds=(KIND,)))
        ours = [match for match in found if match.id.endswith(f" {self.every} {self.max_tokens}")]
        return [item for match in ours[:k] for item in self.store.index.get(match.scope, KIND, [match.id])]

    def sentences(self, scope: Scope, until: int) -> list[Sentence]:
        """The conversation's own sentences in the newest summary that ends at message `until` or before."""
        return _sentences(self._standing(scope, until, None)[1])

    def newest(self, scope: Scope) -> tuple[int, Record | None]:
        """The newest stored summary, and the number of the message that it ends at."""
        return self._standing(scope, self._last(scope), None)

    def forget(self) -> None:
        """Drop what is cached, because messages were erased."""
        self._kept.clear()

    def after(self, scope: Scope, seq: int) -> list[Record]:
        """The summaries that end at message `seq` of a session or later; they go with it when it is erased.

        Those that quote it go anyway. The others must go too: they could not be made again from what is left.
        """
        kept = self.store.records.find(scope, kind=KIND, exact=True)
        return [record for record in kept if int(record.key.split()[0]) >= seq]

    def _last(self, scope: Scope) -> int:
        """The number of the session's newest message; 0 where there is none."""
        newest = self.store.log.read(scope, limit=1, reverse=True)
        return newest[0].seq if newest else 0

    def _candidates(self, scope: Scope, first_seq: int, record: Record | None, entries: list[Entry]) -> list[Candidate]:
        lead = str(record.value.get("text", "")) if record else ""
        if lead and self.count(lead) <= self.max_tokens:
            found = self._folded([], entries, lambda text: self.count(f"{lead}\n{text}"))
        else:
            lead, found = "", self._folded(_sentences(record), entries, self.count)
        told = "\n".join(filter(None, (lead, render(found))))
        cited = record.sources if record and lead else ()
        sources = tuple(dict.fromkeys((*cited, *(sentence.id for sentence in found))))
        origin = f"summary of messages 1\u2013{first_seq - 1}"
        sessions = (scope.session or "",) * len(sources)
        return [Candidate(KIND, told, 1.0, origin, sources, sessions=sessions)] if told else []

    def _folded(self, before: list[Sentence], entries: Sequence[Entry], count: Callable[[str], int]) -> list[Sentence]:
        """Fold entries into the sentences `before`, block by block: how many are folded at once makes no difference."""
        blocks: dict[int, list[Said]] = {}
        for entry in entries:
            blocks.setdefault((entry.seq - 1) // self.every, []).append(_said(entry))
        for said in blocks.values():
            before = fold(before, said, self.max_tokens, count, telling)
        return before if count(render(before)) <= self.max_tokens else pick(before, self.max_tokens, count, telling)

    def _known(self, scope: Scope, until: int, as_of: int | None) -> tuple[int, Record | None]:
        """The stored summary to continue from, and the message it ends at.

        For an earlier moment, that is a model's wording if there was one then. Otherwise today's sentences are right,
        as they depend on the messages alone.
        """
        end, record = self._standing(scope, until, as_of)
        if as_of is None or (record and "text" in record.value):
            return end, record
        end, record = self._standing(scope, until, None)
        return end, record and replace(record, value={"rolling": record.value["rolling"]})

    def _standing(self, scope: Scope, until: int, as_of: int | None) -> tuple[int, Record | None]:
        """The newest summary that ends at message `until` or before, and the message it ends at."""
        end = max(0, until) // self.every * self.every
        known = None
        while end > 0:
            if found := self._ending_at(scope, self._key(end), as_of):
                return end, found[-1]
            known = read_to(self.store, scope, self._mark) if known is None else known
            end = min(end - self.every, known)
        return 0, None

    def _fold(self, scope: Scope, job: Job | None) -> int:
        """Fold blocks, starting over if messages are erased or others fold them meanwhile; returns how many."""
        return retry_when_gone(partial(self._fold_once, scope, job), partial(drop_citing, self.store, scope, KIND))

    def _fold_once(self, scope: Scope, job: Job | None) -> int:
        whole = self._last(scope) // self.every * self.every
        end, record = self._standing(scope, whole, None)
        until = min(whole, end + BLOCKS_A_JOB * self.every)
        made, rolling, newest = [], _sentences(record), record.position if record else 0
        for start in range(end, until, self.every):
            entries = self.store.log.read(scope, after=start, until=start + self.every)
            newest = max([newest, *(entry.position for entry in entries[-1:])])
            rolling = self._folded(rolling, entries, self.count)
            made.append((self._record(start + self.every, rolling), self._item(start + self.every, entries)))
        with self.store.transaction(scope):
            if made and self._standing(scope, until, None)[0] > end:
                raise Gone(frozenset())  # someone else was faster, and may have folded what is left after an erasure
            if made:
                self._put(scope, made, newest)
                set_read_to(self.store, scope, self._mark, until)
            if job and until < whole:
                self.store.jobs.enqueue(scope, [JOB])
            if job:
                self.store.jobs.finish(job)
        return len(made)

    def _put(self, scope: Scope, made: Sequence[tuple[Record, Item]], newest: int) -> None:
        records = [record for record, _ in made]
        before = self.store.records.get(scope, [record.id for record in records])
        replaced = [record for record in before if record.superseded_at]
        if outlived := [record.id for record in replaced if not self._ending_at(scope, record.key)]:
            self.store.records.delete(scope, outlived)  # a model's wording had replaced them, and was erased
        self.store.records.put(scope, records)
        self.store.index.put(scope, [item for _, item in made])
        check_there(self.store, scope, (id for pair in made for part in pair for id in part.sources), newest)

    def _ending_at(self, scope: Scope, key: str, as_of: int | None = None) -> list[Record]:
        return self.store.records.find(scope, kind=KIND, key=key, as_of=as_of, exact=True)

    def _record(self, seq: int, rolling: Sequence[Sentence]) -> Record:
        value = {"rolling": [list(astuple(sentence)) for sentence in rolling]}
        sources = tuple(dict.fromkeys(sentence.id for sentence in rolling))
        return Record(
            KIND, self._key(seq), value, origin="conversation", sources=sources, id=f"{KIND} {self._key(seq)}"
        )

    def _item(self, seq: int, entries: Sequence[Entry]) -> Item:
        """The index item by which a block is found: it has the block's own sentences."""
        block = self._folded([], entries, self.count)
        sources = tuple(dict.fromkeys(sentence.id for sentence in block))
        at = entries[-1].message.at if entries else None
        return Item(KIND, self._key(seq), render(block), at=at, sources=sources)

    def _key(self, seq: int) -> str:
        return f"{seq:09d} {self.every} {self.max_tokens}"

    @property
    def _mark(self) -> str:
        return f"{KIND} {self.every} {self.max_tokens}"


def telling(text: str) -> list[str]:
    """The words of a text, each once, without the most common ones."""
    return [word for word in query_words(text) if word not in _COMMON]


def wording(record: Record) -> str:
    """The text of a summary: a model's wording, or else the conversation's own sentences."""
    return str(record.value.get("text") or render(_sentences(record)))


def _sentences(record: Record | None) -> list[Sentence]:
    told: Sequence[Sequence[Any]] = record.value["rolling"] if record else ()
    return [Sentence(*fields) for fields in told]


def _said(entry: Entry) -> Said:
    """A message as it is summarised. What a named person says in the role of the assistant counts as a user's words.

    An answer that only quotes memory has no text here: it was said elsewhere.
    """
    message, speaker = entry.message, speaker_of(entry.message)
    person = message.role == "assistant" and message.name is not None and speaker.lower() not in ASSISTANTS
    day = written(message.at) if message.at else ""
    text = "" if message.role == "assistant" and echoes(message.text) else message.text
    return Said(message.id, entry.seq, "user" if person else message.role, speaker, text, day)
