"""Semantic memory: facts from what a user said, each with its source. The newest holds; older ones stay on record."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any, Final

from recollect.answers import FACT_TYPES, Candidate, Fact, FactOrigin, FactType
from recollect.arguments import meant as similar
from recollect.errors import ConfigError, InvalidTranscript, NotFound
from recollect.flow.facts import Found, Statement, known
from recollect.flow.facts.known import Knowing, opposite
from recollect.flow.facts.people import ABOUT, CALLED, is_someone
from recollect.flow.facts.phrases import slug
from recollect.flow.facts.tell import HOLDS_SEVERAL, Told
from recollect.layers.heard import is_note, said_in
from recollect.layers.marks import check_there, read_to, retry_when_gone, set_read_to
from recollect.layers.stated import Stated
from recollect.recent import Recent
from recollect.settings import DEFAULTS
from recollect.store import Entry, Job, Record, Store
from recollect.store.codec import EPOCH
from recollect.types import Message, Scope, check_id, with_zone

KIND: Final = "fact"
LAYER: Final = "facts"
JOB: Final = Job("facts", key="facts")
WAIT_SECONDS: Final = 10.0
"""How long turns that don't fill a batch wait for more."""
LATER: Final = Job("facts", key="facts later", delay=WAIT_SECONDS)
PAGE: Final = 500
MOST_WAITING: Final = 10_000
KEPT_USERS: Final = 512
MOST: Final = 12
NEAR_MISSES: Final = 10
BIRTHDAY: Final = "birthday"
ORIGINS: Final[dict[FactOrigin, str]] = {"user": "user", "note": "a model's note", "import": "another memory"}
"""Whose words a fact is in, as a receipt puts it."""
STATED: Final = ("user", "import")
"""The origins of facts that were not learned from a message: set by hand, or taken from another memory."""
SAID: Final = frozenset(
    {"type", "value", "at", "order", "session", "speaker", "ended", "then", "imported", "says", "apart"}
)
"""The fields that hold what a fact says; the others say where in a message it was found."""
PLACE: Final = ("at", "order", "position", "n", "session")
"""The fields that say when and where something was said."""


@dataclass(slots=True, eq=False)
class Semantic:
    """Facts about users. They are learned in batches of `every` turns, and at most `most` are offered in a section.

    `hits` counts the offers that were served from memory, `misses` those for which facts had to be read.
    """

    store: Store
    every: int = DEFAULTS.facts_every_turns
    most: int = MOST
    hits: int = 0
    misses: int = 0
    _users: Recent[Scope, Stated] = field(default_factory=lambda: Recent(KEPT_USERS))
    _erasures: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def catch_up(self, scope: Scope) -> int:
        """Learn from what is new in a session, or in all of a user's sessions; returns how many statements."""
        if scope.session is not None:
            return self._learn(scope, None, 1)
        waiting = self.store.jobs.find(scope, limit=MOST_WAITING)
        sessions = {job.scope for job in waiting if job.kind == JOB.kind and job.scope}
        return sum(self._learn(session, None, 1) for session in sessions)

    def learn(self, job: Job) -> int:
        """Learn from a session that has a full batch of new turns, or has waited; returns how many statements."""
        return self._learn(job.scope or Scope(), job, 0 if job.key == LATER.key else self.every)

    def facts(self, user: Scope, as_of: datetime | None = None) -> list[Fact]:
        """What is known about a user, oldest first; with `as_of`, what was known and still held at that time."""
        kept = self._stated(user.owner)
        if as_of is None:
            return list(kept.known.standing)
        then = with_zone(as_of)
        found = known(one for one in kept.statements if one.order[0] <= then)
        return [fact for fact in found.standing if not fact.valid_to or then < fact.valid_to]

    def days(self, user: Scope, question: str, until: int | None = None) -> dict[str, str]:
        """The known birthdays by name ("my birthday", "my sister's birthday"), where the question is about one."""
        if BIRTHDAY not in question.lower():
            return {}
        standing = self._stated(user.owner).known_at(until).standing
        found = {fact.key: fact.value for fact in standing if fact.key.split(":")[-1] == BIRTHDAY}
        named = {f"my {key.removesuffix(f':{BIRTHDAY}')}'s {BIRTHDAY}": day for key, day in found.items() if ":" in key}
        own = {f"my {BIRTHDAY}": found[BIRTHDAY]} if BIRTHDAY in found else {}
        return {name: " ".join(day.split()[:2]) for name, day in (named | own).items()}

    def history(self, user: Scope, key: str) -> list[Fact]:
        """Everything ever known about a user under a key, oldest first; `valid_to` says until when it held."""
        return self._stated(user.owner).known.of(key)

    def remember(
        self, user: Scope, type: FactType, key: str, value: str | None, at: datetime, session: str = ""
    ) -> Fact | None:
        """Set a fact by hand, and return it; the value None ends what is known under the key.

        For a key that holds several values, such as likes or sister, None ends them all. The fact counts as the newest
        even if a clock that is ahead of this one dated what is known.
        """
        check_id(key, "key")
        if type not in FACT_TYPES:
            raise ConfigError(f"type {type!r} is not one of {', '.join(FACT_TYPES)}")
        if value is not None and not (isinstance(value, str) and value.strip()):
            raise ConfigError(f"a fact's value must be text that is not empty, got {value!r}; None ends the fact")
        if key.startswith(f"{CALLED}:"):
            raise ConfigError(f"key {key!r} only gives a name: say who that is, as in 'sister:nadia:place'")
        keys = [key]
        if key in HOLDS_SEVERAL and value is not None:
            keys = [f"{key}:{slug(value.encode('utf-8', 'replace').decode())}"]  # no half of a surrogate pair
        elif key in HOLDS_SEVERAL:
            keys += [fact.key for fact in self.facts(user) if fact.key.startswith(f"{key}:")]
        said, ended = with_zone(at), value is None
        body = {
            "type": type,
            "value": value or "",
            "at": said.isoformat(),
            "order": max([said, *self._times_of(user, keys)]).isoformat(),
            "session": session,
            "ended": ended,
        }
        self.store.records.put(user.owner, [Record(KIND, key, body, 1.0, "user", "user") for key in keys])
        return next((fact for fact in self.facts(user) if fact.key == keys[0]), None)

    def under(self, user: Scope, key: str) -> list[Fact]:
        """Everything ever known under a key, oldest first; for a person or pet, also what was known about them."""
        return _under(self._stated(user.owner), key)

    def erase(self, user: Scope, key: str) -> list[Fact]:
        """Erase what `under` returns for good, and return it. What it had ended stays ended. Raises NotFound."""
        stated = self._anew(user := user.owner)
        told, loose = _telling(stated, user, key)
        with self.store.transaction(user):
            if (now := self._still(stated, user)) is not stated:
                told, loose = _telling(stated := now, user, key)
            said, apart = self.store.records.get(user, list(told)), self.store.records.get(user, loose)
            self.store.records.delete(user, [*told, *loose])
            ends = [_end(one, fact) for one in said for fact in told[one.id]]
            self.store.records.put(user, [*ends, *(_set_apart(one) for one in apart)])
            self.store.log.erase(user, [])
        self.forget(user)
        return _under(stated, key)

    def restore(self, user: Scope, fact: Record) -> bool:
        """Keep a fact of another store; returns whether it is new here. Raises InvalidTranscript if it is malformed."""
        _check(fact)
        with self.store.transaction(user.owner):
            if new := not self.store.records.get(user.owner, [fact.id]):
                self.store.records.put(user.owner, [fact])
        return new

    def _times_of(self, user: Scope, keys: Sequence[str]) -> list[datetime]:
        """The times at which something was said about one of these keys or its opposite (likes, dislikes)."""
        about = {*keys, *map(opposite, keys)}
        return [one.order[0] for one in self._stated(user.owner).statements if one.key in about]

    def offer(self, user: Scope, question: str, at: datetime, until: int | None = None) -> list[Candidate]:
        """A line for each fact that holds at a time, best first: shared words count most, then confidence and recency.

        Facts that are past their day, or beyond `most` in a section, are marked as left out. `until` is a position of
        the store: what was said after it counts as not said yet.
        """
        at, user = with_zone(at), user.owner
        kept, fresh = self._kept(user)
        with self._lock:
            self.hits, self.misses = self.hits + (not fresh), self.misses + fresh
        return list(_candidates(kept.told(question, at, until, self.most), kept.known_at(until).rests))

    def before(self, scope: Scope) -> Stated:
        """What `spared` needs to know, read before its transaction: where much was stated, that takes a second."""
        return Stated() if scope.session is None else self._anew(scope.owner)

    def spared(
        self, scope: Scope, ids: Sequence[str] | None, before: Stated | None = None
    ) -> tuple[list[Record], list[Record]]:
        """The facts to put back after erasing messages, and those that must go too although they cite none of them.

        Put back are those from other sessions, which may use the same ids. With a whole session go those whose messages
        retention has erased. A transaction passes what it read `before`; if more was stated since, all is read again.
        """
        if scope.session is None:
            return [], []
        stated = self._stated(scope.owner) if before is None else self._still(before, scope.owner)
        statements = stated.statements
        cited = {id for one in statements if one.session != scope.session for id in one.sources}
        named = cited if ids is None else cited.intersection(ids)
        erased = {entry.message.id for entry in self.store.log.get(scope, sorted(named))}
        spared = [one.id for one in statements if one.session != scope.session and erased.intersection(one.sources)]
        left = [one.id for one in statements if one.session == scope.session and not one.sources and ids is None]
        found = {record.id: record for record in self.store.records.get(scope.owner, [*spared, *left])}
        return (
            [found[id] for id in spared if id in found and found[id].scope == scope.owner],
            [found[id] for id in left if id in found and found[id].origin not in STATED],
        )

    def forget(self, scope: Scope) -> None:
        """Drop what is cached of a scope, because messages in it were erased."""
        with self._lock:
            self._erasures += 1
            for user in [user for user in self._users if user.covers(scope) or scope.covers(user)]:
                del self._users[user]

    def _learn(self, scope: Scope, job: Job | None, least: int) -> int:
        total, more = 0, True
        while more:
            new, more = retry_when_gone(partial(self._learn_page, scope, job, least))
            total, least = total + new, 0
        return total

    def _learn_page(self, scope: Scope, job: Job | None, least: int) -> tuple[int, bool]:
        """Learn from the next messages; returns how many statements, and whether there are more messages."""
        mark = read_to(self.store, scope, LAYER)
        entries = self.store.log.read(scope, after=mark, limit=PAGE)
        more = len(entries) == PAGE
        enough = bool(entries) and (more or sum(entry.message.role == "user" for entry in entries) >= least)
        records = [record for entry in entries for record in _records(self.store, entry)] if enough else []
        with self.store.transaction(scope):
            new = enough and read_to(self.store, scope, LAYER) == mark
            if new:
                self.store.records.put(scope.owner, records)
                set_read_to(self.store, scope, LAYER, entries[-1].seq)
                check_there(
                    self.store, scope, (id for record in records for id in record.sources), entries[-1].position
                )
            if job and not more:
                if entries and not enough:
                    self.store.jobs.enqueue(scope, [LATER])
                self.store.jobs.finish(job)
        return len(records) if new else 0, more

    def _stated(self, user: Scope) -> Stated:
        """What a user stated, up to date with the store."""
        return self._kept(user)[0]

    def _kept(self, user: Scope) -> tuple[Stated, bool]:
        """What is cached of a user, brought up to date with the store, and whether facts had to be read for that."""
        with self._lock:
            kept = self._users.get(user)
            if kept is not None:
                self._users.move_to_end(user)
        if kept is None:
            return self._read(user), True
        with kept.lock:
            if self._holds_all(kept, user):
                return kept, False
            self._take(kept, user)
            if self._holds_all(kept, user):
                return kept, True
        return self._read(user), True  # some were erased by another process, or a backup was restored

    def _read(self, user: Scope) -> Stated:
        erasures = self._erasures
        kept = self._anew(user)
        with self._lock:
            if erasures == self._erasures:  # else it may hold what was erased meanwhile
                self._users[user] = kept
        return kept

    def _anew(self, user: Scope) -> Stated:
        """What a user stated, read without waiting for whoever brings the cached ones up to date."""
        stated = Stated()
        self._take(stated, user)
        return stated

    def _still(self, before: Stated, user: Scope) -> Stated:
        """What a user stated, for a transaction: what was read before it, if that is still all."""
        return before if self._holds_all(before, user) else self._anew(user)

    def _holds_all(self, kept: Stated, user: Scope) -> bool:
        """Whether what is cached is everything that the store has about a user."""
        return (len(kept.statements), kept.position) == self.store.records.extent(user, KIND)

    def _take(self, kept: Stated, user: Scope) -> None:
        """Take in the facts that are new in the store."""
        new = self.store.records.find(user, kind=KIND, exact=True, after=kept.position)
        if new:
            kept.take([(_statement(record), record.recorded_at) for record in new])
            kept.position = new[-1].position


def _records(store: Store, entry: Entry) -> Iterable[Record]:
    message = entry.message
    if message.role == "user" and message.at is not None:
        for n, (found, beside) in enumerate(said_in(store, entry, message.at)):
            yield record_of(entry, found, n, beside=beside)


def record_of(entry: Entry, found: Found, n: int, origin: str = "rules", beside: Iterable[str] = ()) -> Record:
    """The record of the n-th fact found in a message; it also cites the messages `beside`."""
    message, session = entry.message, entry.scope.session or ""
    at = message.at or EPOCH
    body = {
        "type": found.type,
        "value": found.value,
        "at": at.isoformat(),
        "order": min(at, message.received or at).isoformat(),
        "position": entry.position,
        "n": n,
        "session": session,
        "start": found.span[0],
        "end": found.span[1],
        "ended": found.ended,
    }
    more = {"then": found.then, "speaker": _name(message), "apart": found.apart}
    body |= {name: part for name, part in more.items() if part}
    sources, trust = (message.id, *beside), "note" if is_note(message) else "user"
    fields = (KIND, found.key, body, found.confidence, origin, trust, sources, found.valid_from, found.valid_to)
    return Record(*fields, id=sha256(repr(fields).encode("utf-8", "backslashreplace")).hexdigest()[:32])


def _name(message: Message) -> str:
    return " ".join((message.name or "").casefold().split())


def _keys(key: str, renamed: Mapping[str, str]) -> dict[str, None]:
    """The key; for a person or pet, also the keys of what is known about them, under every name they had."""
    keys = dict[str, None]()
    while key and key not in keys:
        about = [f"{key}:{about}" for about in sorted(ABOUT)] if is_someone(key) else []
        keys |= dict.fromkeys((key, *about))
        key = renamed.get(key, "")
    return keys


def _under(stated: Stated, key: str) -> list[Fact]:
    return [fact for one in _keys(key, stated.known.renamed) for fact in stated.known.of(one)]


def _telling(stated: Stated, user: Scope, key: str) -> tuple[dict[str, list[Fact]], list[str]]:
    """The ids of the statements that say what is known under a key, each with the facts it ended; NotFound if none.

    Also those of the statements that would then be about someone else.
    """
    keys = _keys(key, stated.known.renamed)
    names = {fact.value.casefold() for fact in _under(stated, key) if is_someone(fact.key)}
    own = stated.voices.own(stated.statements)
    told = Knowing().telling(own, keys, tuple(f"{CALLED}:{name}:" for name in names))
    if not told:
        hint = similar(key, {one.key for one in own}, "list the facts to see their keys")
        raise NotFound(f"nothing was ever known about {user.user} under {key!r}: {hint}; nothing was erased")
    others = {one.id for one in stated.statements if one.key in keys}.difference(one.id for one in own)
    told |= {id: [] for id in others}  # they would count once the messages of all others there are erased
    return told, _would_mean_another(own, told)


def _would_mean_another(statements: Sequence[Statement], but: Collection[str]) -> list[str]:
    """The ids of statements about "my sister" that would be about another sister without some of the statements."""
    left = [one for one in statements if one.id not in but]
    was, now = Knowing().about(statements), Knowing().about(left)
    return [one.id for one in left if was.get(one.id) == one.key != now.get(one.id)]


def _set_apart(said: Record) -> Record:
    return replace(said, value={**said.value, "apart": True}, id="")


def _end(said: Record, fact: Fact) -> Record:
    """A record that ends a fact like an erased statement did. It cites the same messages and does not say why."""
    place = {name: said.value[name] for name in PLACE if name in said.value}
    body = {**place, "type": fact.type, "value": "", "ended": True}
    return replace(said, key=fact.key, value=body, valid_to=None, id="")


def portable(fact: Record) -> dict[str, Any]:
    """A fact as an export holds it: what it says, without its place in a message or a store."""
    return {name: part for name, part in fact.value.items() if name in SAID}


def _check(fact: Record) -> None:
    body = fact.value
    said = (body["value"], body["session"], body.get("then", ""), body.get("speaker", ""))
    texts = all(isinstance(text, str) for text in said) and _are_pairs(body.get("says", ()))
    times = all(datetime.fromisoformat(body[name]).tzinfo for name in ("at", "order"))
    known = body["type"] in FACT_TYPES and body.keys() <= SAID
    known = known and isinstance(body["ended"], bool) and isinstance(body.get("apart", False), bool)
    if not (texts and times and known and (body["ended"] or body["value"].strip())):
        raise InvalidTranscript(f"{fact.key} is not a fact that a user can have stated")


def _are_pairs(says: object) -> bool:
    pairs = says if isinstance(says, list | tuple) else [None]
    return all(isinstance(pair, list | tuple) and [type(text) for text in pair] == [str, str] for pair in pairs)


def _statement(record: Record) -> Statement:
    body = record.value
    at = datetime.fromisoformat(body["at"])
    position = body.get("position", record.position)
    return Statement(
        record.id,
        (datetime.fromisoformat(body["order"]), position, body.get("n", 0)),
        body["type"],
        record.key,
        body["value"],
        record.confidence or 0.0,
        at,
        body["session"],
        record.sources,
        (body.get("start", 0), body.get("end", 0)),
        record.valid_from,
        record.valid_to,
        body["ended"],
        body.get("then", ""),
        next((one for one in ORIGINS if one == record.trust), "user"),
        body.get("speaker", ""),
        tuple((key, value) for key, value in body.get("says", ())),
        body.get("apart", False),
    )


def _candidates(told: Iterable[Told], rests: Mapping[str, tuple[str, ...]]) -> Iterable[Candidate]:
    """The facts as candidates; of those left out, only the first few, for the receipt."""
    left_out = 0
    for one in told:
        left_out += bool(one.out)
        if left_out <= NEAR_MISSES or not one.out:
            fact = one.fact
            yield Candidate(
                one.section,
                one.line,
                one.score,
                ORIGINS[fact.origin],
                fact.sources,
                fact.updated_at,
                one.out,
                fact.sessions,
                rests.get(fact.key, ()),
            )
