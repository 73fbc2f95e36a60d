"""What a store does. Every backend has the same four parts, and passes `recollect.testing.StoreSuite`.

The methods are documented here only. A backend documents just what is special about it.

Rules that hold for all backends:
- A scope covers what lies inside it: reading with a user's scope finds everything in that user's sessions.
  `exact=True` restricts this to what was put at exactly that scope. Nothing outside a scope is ever seen or touched.
- A call is atomic: it happens completely or not at all, and once it returns it is as durable as the `durability` that
  the store was opened with. `with store.transaction():` turns many calls into one such call.
- Every part is safe to use from many threads and, if the backend is shared, from many processes.
- Values of any size and any text come back exactly. Ids are text of 1 to 1,000 characters without NUL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias

from recollect.store.values import (
    ANY,
    Entry,
    Erasable,
    Erased,
    Filter,
    Finding,
    Item,
    Job,
    JobState,
    Match,
    Record,
    SessionStats,
    Spoken,
)
from recollect.types import Message, Scope

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from recollect.store.vectors import Positions, Vector

Clock: TypeAlias = Callable[[], datetime]
Durability: TypeAlias = Literal["full", "normal"]
Progress: TypeAlias = Callable[[int, int], None]
"""Called with how much is done, and the total."""


class Log(Protocol):
    """The messages, in order, kept forever: only erasure removes one."""

    def append(
        self, scope: Scope, messages: Sequence[Message], *, tokens: Sequence[int] = (), jobs: Sequence[Job] = ()
    ) -> list[Entry]:
        """Keep messages, index their words and enqueue `jobs`, all or nothing; returns the messages' entries.

        The scope must name a session. Missing ids, `received` and `at` are filled in. A message whose id the session
        already has is not kept twice: the existing entry is returned, or Conflict is raised if the content differs
        (`at` and `received` are compared only if given). Jobs are enqueued if at least one message was new. `tokens`,
        if given, has one count per message.
        """

    def read(
        self, scope: Scope, *, after: int = 0, until: int | None = None, limit: int | None = None, reverse: bool = False
    ) -> list[Entry]:
        """A session's entries with `after < seq <= until`, in order; the newest first with `reverse`.

        `until` gives the log as it was when that message was the newest. The next page is `after=page[-1].seq`, or
        with `reverse` it is `until=page[-1].seq - 1`.
        """

    def openings(self, sessions: Sequence[Scope], limit: int) -> list[list[Entry]]:
        """The first `limit` entries of each of these sessions, in one call. All sessions belong to one tenant."""

    def scan(self, scope: Scope, *, after: int = 0, limit: int = 1_000) -> list[Entry]:
        """The entries of all sessions in the scope after position `after`, in order of position."""

    def spoken(self, scope: Scope, *, after: int = 0, limit: int = 1_000) -> list[Spoken]:
        """Only the text of the entries that `scan` finds, which is much faster: for reading all of a long log."""

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Entry]:
        """The entries with these ids, each once, in the order of the ids; unknown ids are left out.

        If several sessions in the scope have the same id, all of these entries are returned, in order of position.
        """

    def sessions(self, scope: Scope, *, before: int | None = None, limit: int = 100) -> list[SessionStats]:
        """The sessions in the scope, most recently written to first; the next page is `before=page[-1].position`.

        One whose messages were all erased is not among them. Its numbers go on where it is written to again.
        """

    def tag(self, scope: Scope, id: str, tags: Mapping[str, Any]) -> Entry:
        """Set tags in the metadata of a message (None removes a key); returns its entry. Content and hash don't change.

        The scope must name a session. Raises NotFound if it has no such message.
        """

    def erase(self, scope: Scope, ids: Sequence[str] | None = None) -> Erased:
        """Erase messages and everything that cites them or, without ids, all of the scope; returns how much was erased.

        What was erased is in no index, in no file and in no backup made from then on. That holds for deleted records
        and items too, even if `ids` is empty. Sequence numbers of erased messages are not reused, unless the whole
        session was erased.
        """

    def would_erase(self, scope: Scope, ids: Sequence[str] | None = None) -> Erasable:
        """What `erase` would remove. Changes nothing and blocks nobody."""

    def verify(self, scope: Scope) -> list[Finding]:
        """The first broken entry of each session in the scope; empty if every hash and number is correct."""


class Records(Protocol):
    """What was learned, including what has been superseded."""

    def put(self, scope: Scope, records: Sequence[Record]) -> list[Record]:
        """Keep records; returns them as kept. A record with a known id must equal the kept one, else Conflict."""

    def supersede(self, scope: Scope, id: str, new: Record | None = None) -> Record | None:
        """Replace a record by a new one and keep the old one as superseded; returns the new one.

        Without `new`, the old one just ends. Both are at exactly this scope. Raises NotFound, or Conflict if the old
        one is superseded already.
        """

    def find(
        self,
        scope: Scope,
        *,
        kind: str | None = None,
        key: str | None = None,
        valid_at: datetime | None = None,
        as_of: int | None = None,
        exact: bool = False,
        after: int = 0,
        limit: int | None = None,
    ) -> list[Record]:
        """At most `limit` records that are not superseded, from after position `after`, in order of position.

        With `as_of`, those that were not superseded at that position; with `valid_at`, only those valid at that time.
        """

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        """The records with these ids, superseded or not, each once, in the order of the ids."""

    def history(self, scope: Scope, kind: str, key: str) -> list[Record]:
        """Every record of that kind and key, including superseded ones, in order of position."""

    def extent(self, scope: Scope, kind: str) -> tuple[int, int]:
        """How many records of that kind exactly this scope has, including superseded ones, and the last's position."""

    def delete(self, scope: Scope, ids: Sequence[str]) -> int:
        """Delete records permanently; returns how many there were."""


class Index(Protocol):
    """What can be found, by words and by meaning. `Log.append` adds messages to it, as kind 'message'."""

    def put(self, scope: Scope, items: Sequence[Item]) -> None:
        """Add items; each replaces an item with the same scope, kind and id, and that item's vectors."""

    def embed(self, scope: Scope, kind: str, model: str, vectors: Mapping[str, Vector]) -> int:
        """Keep vectors for the items with these ids at exactly this scope; returns how many were kept.

        They replace the model's earlier ones. An id without an item is skipped, because the item was erased meanwhile.
        Vectors are float32 or int8, and compared by cosine. All vectors of one model must have the same length, else
        ConfigError. An item can have vectors of several models.
        """

    def search(self, scope: Scope, text: str, k: int = 10, *, where: Filter = ANY) -> list[Match]:
        """The k best items that share a word with the text, best first. The text has no query syntax."""

    def nearest(self, scope: Scope, vector: Vector, model: str, k: int = 10, *, where: Filter = ANY) -> list[Match]:
        """The k items whose vectors of that model are nearest, nearest first; the score is the cosine."""

    def nearest_positions(
        self, scope: Scope, vector: Vector, model: str, k: int = 10, *, where: Filter = ANY
    ) -> Positions:
        """As `nearest`, but returns only positions and cosines, in any order, which is faster."""

    def get(self, scope: Scope, kind: str, ids: Sequence[str]) -> list[Item]:
        """The items with these ids, each once, in the order of the ids."""

    def missing(
        self, scope: Scope, model: str, *, kinds: Sequence[str] = (), after: int = 0, limit: int = 1_000
    ) -> list[Item]:
        """Items after position `after` that have text but no vector of that model yet, in order of position."""

    def vectors(
        self, scope: Scope, kind: str, model: str, ids: Sequence[str]
    ) -> list[tuple[Item, NDArray[np.float32]]]:
        """The items with these ids that have a vector of that model, each with it as a unit vector, by position."""

    def embedded(
        self, scope: Scope, model: str, *, after: int = 0, limit: int = 1_000
    ) -> list[tuple[Item, NDArray[np.float32]]]:
        """Items after position `after` that have a vector of that model, each with it as a unit vector, by position."""

    def delete(self, scope: Scope, kind: str, ids: Sequence[str]) -> int:
        """Delete items; returns how many there were. Only `Log.erase` removes messages from the index."""

    def drop(self, scope: Scope, model: str) -> int:
        """Delete the vectors of a model; returns how many there were."""


class Jobs(Protocol):
    """The queue of work to do. A job runs at least once; with `transaction()` its effects happen exactly once."""

    def enqueue(self, scope: Scope, jobs: Sequence[Job]) -> list[Job]:
        """Add jobs to the queue; returns the waiting jobs: one that was waiting already, if it has the same key."""

    def claim(self, kinds: Sequence[str] = (), *, worker: str, lease: float = 60.0, limit: int = 1) -> list[Job]:
        """Take up to `limit` jobs that are due, oldest first. They belong to this worker for `lease` seconds.

        The only call without a scope, because a worker serves the whole store. A job whose lease ended can be claimed
        again; after `MAX_ATTEMPTS` claims it is dead.
        """

    def renew(self, job: Job, lease: float = 60.0) -> Job:
        """Start the lease of a job again from now; returns the job. Conflict if the lease was lost."""

    def finish(self, job: Job) -> None:
        """Remove a job that is done; Conflict if the lease was lost. Call it in the transaction of its effects."""

    def fail(self, job: Job, error: str, *, retry: bool = True) -> Job:
        """Make a job wait for its next attempt, or give it up; returns the job. Conflict if the lease was lost."""

    def find(self, scope: Scope, *, state: JobState | None = None, after: str = "", limit: int = 100) -> list[Job]:
        """The jobs in the scope in that state, or in any, oldest first; the next page is `after=page[-1].id`."""

    def revive(self, scope: Scope) -> int:
        """Make the dead jobs in the scope wait again, as if new; returns how many there were."""


class Store(Protocol):
    """A place where memory is kept; open one with `recollect.store.open(url)`."""

    @property
    def log(self) -> Log:
        """The messages."""

    @property
    def records(self) -> Records:
        """What was learned."""

    @property
    def index(self) -> Index:
        """What can be found."""

    @property
    def jobs(self) -> Jobs:
        """The work to do."""

    def transaction(self, scope: Scope | None = None) -> AbstractContextManager[None]:
        """Make all calls of this thread inside the block one transaction: all take effect at its end, or none does.

        Reads inside the block see what it wrote. An inner block is part of the outer one. With a scope, nobody else
        can write there during the block: what the block reads there is still true when it writes.
        """

    def reading(self) -> AbstractContextManager[None]:
        """Make many reads of this thread inside the block cheaper. If the backend can, all see the same moment.

        Blocks nobody.
        """

    def tenants(self) -> list[str]:
        """The names of the tenants that have anything here, sorted."""

    def check_writable(self) -> None:
        """Raises StoreUnavailable, DiskFull or MigrationError, which say why, if nothing can be written now.

        Cheap enough to call every few seconds. It writes nothing, unless an earlier write was refused: then it waits
        for its turn and tries a small write.
        """

    def check(self) -> list[Finding]:
        """What is wrong with the engine, the file, the schema, the log and the index; empty if nothing is."""

    def mend(self, progress: Progress | None = None) -> int:
        """Erase what is damaged of all that was derived from messages, then `reindex`; returns how much was erased.

        Messages are not touched. What is erased may be made anew: documents can be added, vectors embedded again.
        """

    def reindex(self, progress: Progress | None = None) -> int:
        """Rebuild the keyword index from the log and the items; returns how many items it has. Vectors are kept."""

    def backup(self, path: str | Path) -> None:
        """Write a complete copy to a new file; the store can be used meanwhile."""

    def restore(self, path: str | Path) -> None:
        """Replace everything in the store with that backup; raises, and changes nothing, if the backup is damaged."""

    def close(self) -> None:
        """Close files and connections. Every later call raises StoreUnavailable."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...
