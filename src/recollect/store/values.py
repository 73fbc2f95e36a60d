"""The values that stores take and return: frozen, and the same for every backend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from recollect.arguments import check_whole
from recollect.errors import ConfigError
from recollect.frozen import EMPTY, freeze, freeze_dict
from recollect.types import ROLES, Message, Scope, check_id, with_zone

MESSAGE: Final = "message"
"""The kind of the index items that `Log.append` makes for messages."""

JobState: TypeAlias = Literal["waiting", "running", "dead"]


def _set(frozen: object, /, **fields: Any) -> None:
    for name, item in fields.items():
        object.__setattr__(frozen, name, item)


def _ids(values: Any, what: str) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ConfigError(f"{what}: give a tuple of texts, not {values!r}")
    return tuple(check_id(value, what) for value in values)


def aware(when: datetime | None) -> datetime | None:
    """The same moment with a time zone: UTC if it had none."""
    return None if when is None else with_zone(when)


class Entry(NamedTuple):
    """A message as the log keeps it.

    `seq` numbers a session's messages in order, from 1 without gaps. `position` is the entry's place among everything
    the store has taken in: of two entries of one user, the later one has the larger position. `message.metadata`
    includes tags that were set later; `hash` covers the message as it arrived, and all messages before it.
    `taken_off` has the names of tags that were removed from the message.
    """

    scope: Scope
    seq: int
    position: int
    message: Message
    tokens: int
    hash: bytes
    taken_off: frozenset[str] = frozenset()


class Spoken(NamedTuple):
    """Only the text of a message in the log, who said it, and when."""

    position: int
    session: str
    id: str
    role: str
    name: str | None
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class SessionStats:
    """An overview of one session. `first` and `last` are the times (`at`) of its first and last message."""

    scope: Scope
    messages: int
    tokens: int
    first: datetime | None
    last: datetime | None
    position: int


@dataclass(frozen=True, slots=True)
class Record:
    """Something learned, such as a fact, a summary, an artifact or a pattern, and the messages it came from.

    `valid_from` and `valid_to` say when it is true in the world; `recorded_at` and `superseded_at` when the store
    took it in and when it was superseded. `sources` are ids of messages in its scope; erasing one of them erases the
    record. A store sets `id` (if empty), `scope`, `position`, `recorded_at` and the two `superseded` fields.
    """

    kind: str
    key: str
    value: Any
    confidence: float | None = None
    origin: str = ""
    trust: str = ""
    sources: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    id: str = ""
    scope: Scope | None = None
    position: int = 0
    recorded_at: datetime | None = None
    superseded_at: datetime | None = None
    superseded_by: str | None = None

    def __post_init__(self) -> None:
        check_id(self.kind, "a record's kind")
        check_id(self.key, "a record's key")
        if self.id:
            check_id(self.id, "a record's id")
        if self.confidence is not None and not 0 <= self.confidence <= 1:
            raise ConfigError(f"confidence {self.confidence!r} is not between 0 and 1")
        _set(
            self,
            value=freeze(self.value),
            sources=_ids(self.sources, "a source"),
            valid_from=aware(self.valid_from),
            valid_to=aware(self.valid_to),
        )


@dataclass(frozen=True, slots=True)
class Item:
    """Something that a search can find: its text, and the fields that filters use.

    `sources` are the messages (in its scope) whose words are in it; erasing one of them erases the item.
    """

    kind: str
    id: str
    text: str = ""
    at: datetime | None = None
    role: str | None = None
    metadata: Mapping[str, Any] = EMPTY
    sources: tuple[str, ...] = ()
    scope: Scope | None = None
    position: int = 0

    def __post_init__(self) -> None:
        check_id(self.kind, "an item's kind")
        check_id(self.id, "an item's id")
        if self.role not in (None, *ROLES):
            raise ConfigError(f"role {self.role!r} is not one of {', '.join(ROLES)}")
        _set(
            self,
            at=aware(self.at),
            metadata=freeze_dict(self.metadata, "metadata"),
            sources=_ids(self.sources, "a source"),
        )


@dataclass(frozen=True, slots=True)
class Filter:
    """Which items a search may find: of these kinds and roles, with `since <= at < before` and these metadata values.

    `as_of` leaves out everything with a later position; `exact` leaves out everything that was not put at exactly the
    scope that is searched. If nothing is set, everything passes.
    """

    kinds: tuple[str, ...] = ()
    since: datetime | None = None
    before: datetime | None = None
    roles: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = EMPTY
    as_of: int | None = None
    exact: bool = False

    def __post_init__(self) -> None:
        kinds, roles = _ids(self.kinds, "a kind"), _ids(self.roles, "a role")
        if self.as_of is not None:
            check_whole("as_of", self.as_of)
        if unknown := set(roles).difference(ROLES):
            raise ConfigError(f"role {unknown.pop()!r} is not one of {', '.join(ROLES)}")
        metadata = freeze_dict(self.metadata, "metadata")
        for key, value in metadata.items():
            if not (value is None or isinstance(value, (str, bool, int, float))):
                raise ConfigError(f"metadata filter {key!r} must be text, a number, True, False or None")
        _set(
            self,
            kinds=kinds,
            roles=roles,
            since=aware(self.since),
            before=aware(self.before),
            metadata=metadata,
        )

    def passes(self, item: Item) -> bool:
        """Whether the item passes; the scope it was put at is not checked."""
        if self.kinds and item.kind not in self.kinds:
            return False
        if self.as_of is not None and item.position > self.as_of:
            return False
        if self.roles and item.role not in self.roles:
            return False
        if self.since is not None and (item.at is None or item.at < self.since):
            return False
        if self.before is not None and (item.at is None or item.at >= self.before):
            return False
        return all(key in item.metadata and same(item.metadata[key], want) for key, want in self.metadata.items())


ANY: Final = Filter()


def same(one: Any, other: Any) -> bool:
    """Whether two JSON scalars are equal; unlike in Python, True does not equal 1."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


class Match(NamedTuple):
    """An item that was found; the higher the score, the better."""

    scope: Scope
    kind: str
    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Job:
    """Work to be done later. While a job waits, another with the same scope, kind and `key` is not added.

    `delay` is in seconds. With `every`, `Log.append` adds the job only when the number of messages in the session
    reaches a multiple of it. A store sets the fields from `id` on; `attempts` counts the claims so far.
    """

    kind: str
    payload: Mapping[str, Any] = EMPTY
    key: str | None = None
    delay: float = 0.0
    every: int = 1
    id: str = ""
    scope: Scope | None = None
    state: JobState = "waiting"
    attempts: int = 0
    worker: str | None = None
    due: datetime | None = None
    error: str | None = None

    def __post_init__(self) -> None:
        check_id(self.kind, "a job's kind")
        if self.key is not None:
            check_id(self.key, "a job's key")
        if not 0 <= self.delay <= 10**9:
            raise ConfigError(f"delay={self.delay!r}: give a number of seconds from 0 to a billion")
        if self.every < 1:
            raise ConfigError(f"every is {self.every}: it must be at least 1")
        _set(self, payload=freeze_dict(self.payload, "payload"))

    def reached(self, before: int, now: int) -> bool:
        """Whether a session that grew from `before` to `now` messages makes this job due."""
        return now // self.every > before // self.every


@dataclass(frozen=True, slots=True)
class Erased:
    """How much an erasure removed.

    `records` are facts, summaries, documents and the like; `items` are what the index holds beside messages,
    such as parts of documents; `jobs` is background work that waited.
    """

    messages: int = 0
    records: int = 0
    items: int = 0
    jobs: int = 0


class Learned(NamedTuple):
    """A record's position and kind, and whether it `stands`, that is, is not superseded."""

    position: int
    kind: str
    stands: bool


@dataclass(frozen=True, slots=True)
class Erasable:
    """What an erasure would remove: how many messages, which records, how many items and jobs."""

    messages: int = 0
    records: frozenset[Learned] = frozenset()
    items: int = 0
    jobs: int = 0

    def counted(self) -> Erased:
        """How many of each that is."""
        return Erased(self.messages, len(self.records), self.items, self.jobs)


MEND: Final = "mend the store, which erases it"
"""What to do about damage of what was derived from messages."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong with a store: the part, the problem, its place, and what to do about it."""

    part: Literal["engine", "file", "schema", "log", "records", "index", "jobs"]
    problem: str
    scope: Scope | None = None
    seq: int | None = None
    fix: str = ""


class Damaged(NamedTuple):
    """A row that can't be trusted: its number, and what to say about it."""

    number: int
    finding: Finding


def item_of(message: Message, scope: Scope, position: int) -> Item:
    """The index item of a message."""
    return Item(
        MESSAGE, message.id, message.text, message.at, message.role, message.metadata, (message.id,), scope, position
    )


def tagged(message: Message, tags: Mapping[str, Any]) -> Message:
    """The message with tags set in its metadata; a tag of None removes its key."""
    merged = {**message.metadata, **tags}
    return message.replace(metadata={key: value for key, value in merged.items() if tags.get(key, 0) is not None})


def taken_off(tags: Mapping[str, Any]) -> frozenset[str]:
    """The names of the tags that these remove."""
    return frozenset(name for name, value in tags.items() if value is None)
