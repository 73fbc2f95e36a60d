"""What a store does. Every backend has the same four parts, and passes `recollect.testing.StoreSuite`.

What a method does is said here alone; a backend says what is its own.

Rules that hold for all of them:
- A scope covers what lies inside it: reading with a user's scope finds everything in that user's sessions.
  `exact=True` means the things put at that very scope only. Nothing outside a scope is ever seen or touched.
- A call is atomic: it happens wholly or not at all, and once it returns it is as durable as the store was
  opened for. `with store.transaction():` makes one such call of many.
- Every part is safe to use from many threads; where the backend is shared, from many processes.
- Values of any size and any text come back exactly. Ids are text of 1 to 1,000 characters without NUL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
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
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32] | NDArray[np.int8]
    Positions: TypeAlias = tuple[NDArray[np.int64], NDArray[np.float64]]

Clock: TypeAlias = Callable[[], datetime]
Durability: TypeAlias = Literal["full", "normal"]
Progress: TypeAlias = Callable[[int, int], None]
"""Called with how much is done and how much there is in all."""


class Log(Protocol):
    """The messages, in order, for ever: only erasure takes one away."""

    def append(
        self, scope: Scope, messages: Sequence[Message], *, tokens: Sequence[int] = (), jobs: Sequence[Job] = ()
    ) -> list[Entry]:
        """Keep messages, index their words and enqueue their jobs, all or nothing; returns their entries.

        The scope names a session. Absent ids, `received` and `at` are set. A message whose id the session already
        has is not kept twice: its entry comes back as it is, or Conflict is raised where the content
        differs (`at` and `received` count only where given). Jobs are enqueued when at least one message was new.
        `tokens`, where given, has one count a message.
        """

    def read(
        self, scope: Scope, *, after: int = 0, until: int | None = None, limit: int | None = None, reverse: bool = False
    ) -> list[Entry]:
        """A session's entries with `after < seq <= until`, in order; the last ones first when reversed.

        `until` gives the log as of an earlier moment. The next page is `after=page[-1].seq`, or reversed
        `until=page[-1].seq - 1`.
        """

    def openings(self, sessions: Sequence[Scope], limit: int) -> list[list[Entry]]:
        """The first `limit` entries of each of these sessions of one tenant, all at once."""

    def scan(self, scope: Scope, *, after: int = 0, limit: int = 1_000) -> list[Entry]:
        """Entries of all sessions in the scope with a larger position than `after`, by position."""

    def spoken(self, scope: Scope, *, after: int = 0, limit: int = 1_000) -> list[Spoken]:
        """The text of the entries that `scan` finds, in a fraction of its time: for reading all of a long log."""

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Entry]:
        """The entries with these ids, each once, in the order asked for; unknown ones are left out.

        Of an id that several sessions in the scope have, all come, by position.
        """

    def sessions(self, scope: Scope, *, before: int | None = None, limit: int = 100) -> list[SessionStats]:
        """The sessions in the scope, the one written to last first; the next page is `before=page[-1].position`."""

    def tag(self, scope: Scope, id: str, tags: Mapping[str, Any]) -> Entry:
        """Set tags on the metadata of a message (None removes a key); returns its entry. Content and hash stay.

        The scope names a session. Raises NotFound.
        """

    def erase(self, scope: Scope, ids: Sequence[str] | None = None) -> Erased:
        """Erase messages with all that cites them or, without ids, everything in the scope; returns how much that was.

        What is gone is in no index, no file and no backup made from then on. Sequence numbers of erased
        messages are not used again unless the whole session was erased.
        """

    def would_erase(self, scope: Scope, ids: Sequence[str] | None = None) -> Erasable:
        """What `erase` would remove. Nothing is changed, and nobody has to wait for it."""

    def verify(self, scope: Scope) -> list[Finding]:
        """The first broken entry of each session in the scope; empty when every hash and number holds."""


class Records(Protocol):
    """What was learned, with its past."""

    def put(self, scope: Scope, records: Sequence[Record]) -> list[Record]:
        """Keep records; returns them as kept. One with a known id is left as it is if equal, else Conflict."""

    def supersede(self, scope: Scope, id: str, new: Record | None = None) -> Record | None:
        """Keep a new record in place of an old one, which stays on record as superseded; returns the new one.

        Without a new one the old just ends. Both are at this very scope. Raises NotFound, and Conflict if the old
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
        """Records that are not superseded, by position: those after position `after`, at most `limit`.

        With `as_of` what stood on record at that position; with `valid_at` only what holds at that time.
        """

    def get(self, scope: Scope, ids: Sequence[str]) -> list[Record]:
        """The records with these ids, superseded or not, each once, in the order asked for."""

    def history(self, scope: Scope, kind: str, key: str) -> list[Record]:
        """Every record of that kind and key, superseded ones too, by position."""

    def extent(self, scope: Scope, kind: str) -> tuple[int, int]:
        """How many records of that kind there are at this very scope, superseded ones too, and the last's position."""

    def delete(self, scope: Scope, ids: Sequence[str]) -> int:
        """Delete records for good; returns how many there were."""


class Index(Protocol):
    """What can be found, by words and by meaning. Messages are in it from `Log.append` on, as kind 'message'."""

    def put(self, scope: Scope, items: Sequence[Item]) -> None:
        """Add items, to be found from now on; one with the same scope, kind and id is replaced, vectors included."""

    def embed(self, scope: Scope, kind: str, model: str, vectors: Mapping[str, Vector]) -> int:
        """Keep vectors for the items with these ids at this very scope; returns how many were taken.

        They replace the model's earlier ones. An id that has no item is left out: it was erased meanwhile.
        Vectors are float32 or int8, compared by cosine; one model's all have one length, else ConfigError. Vectors of
        several models live side by side.
        """

    def search(self, scope: Scope, text: str, k: int = 10, *, where: Filter = ANY) -> list[Match]:
        """The k best items that share a word with the text, best first; nothing in the text is syntax."""

    def nearest(self, scope: Scope, vector: Vector, model: str, k: int = 10, *, where: Filter = ANY) -> list[Match]:
        """The k items whose vectors of that model are nearest, best first; the score is the cosine."""

    def nearest_positions(
        self, scope: Scope, vector: Vector, model: str, k: int = 10, *, where: Filter = ANY
    ) -> Positions:
        """What `nearest` finds, as positions and cosines in any order, without looking the items up."""

    def get(self, scope: Scope, kind: str, ids: Sequence[str]) -> list[Item]:
        """The items with these ids, each once, in the order asked for."""

    def missing(
        self, scope: Scope, model: str, *, kinds: Sequence[str] = (), after: int = 0, limit: int = 1_000
    ) -> list[Item]:
        """Items with text after position `after` that have no vector of that model yet, by position."""

    def vectors(
        self, scope: Scope, kind: str, model: str, ids: Sequence[str]
    ) -> list[tuple[Item, NDArray[np.float32]]]:
        """Those of the items with these ids that have a vector of that model, with its direction, by position."""

    def embedded(
        self, scope: Scope, model: str, *, after: int = 0, limit: int = 1_000
    ) -> list[tuple[Item, NDArray[np.float32]]]:
        """Items after position `after` that have a vector of that model, with its direction, by position."""

    def delete(self, scope: Scope, kind: str, ids: Sequence[str]) -> int:
        """Delete items; returns how many there were. Messages leave the index by `Log.erase` alone."""

    def drop(self, scope: Scope, model: str) -> int:
        """Delete the vectors of a model; returns how many there were."""


class Jobs(Protocol):
    """Work that waits its turn, done at least once; with `transaction()` its effects happen exactly once."""

    def enqueue(self, scope: Scope, jobs: Sequence[Job]) -> list[Job]:
        """Add jobs to the queue; returns them as they wait: for one with the key of a waiting job, that job."""

    def claim(self, kinds: Sequence[str] = (), *, worker: str, lease: float = 60.0, limit: int = 1) -> list[Job]:
        """Take up to `limit` jobs that are due, oldest first; they are this worker's until the lease (seconds) ends.

        The one call without a scope: a worker serves the whole store. A job whose lease ended is
        claimed again, or dead once it was claimed `MAX_ATTEMPTS` times.
        """

    def renew(self, job: Job, lease: float = 60.0) -> Job:
        """Count the lease of a job from now; Conflict if the lease was lost."""

    def finish(self, job: Job) -> None:
        """Remove a job that is done; Conflict if the lease was lost. Call it in the transaction of its effects."""

    def fail(self, job: Job, error: str, *, retry: bool = True) -> Job:
        """Have a job wait for its next attempt, or give it up; returns it so. Conflict if the lease was lost."""

    def find(self, scope: Scope, *, state: JobState | None = None, limit: int = 100) -> list[Job]:
        """Jobs in the scope in that state, oldest first."""

    def revive(self, scope: Scope) -> int:
        """Have the dead jobs of the scope wait again, as if new; returns how many there were."""


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
        """What is to be done."""

    def transaction(self, scope: Scope | None = None) -> AbstractContextManager[None]:
        """Make all calls of this thread on this store inside the block one: all happen at its end, or none.

        Reads inside see what the block wrote. An inner block is part of the outer one. With a scope no one else writes
        there from the beginning on: what the block reads of it still holds when it writes.
        """

    def reading(self) -> AbstractContextManager[None]:
        """Make many reads of this thread inside the block cheaper; where the backend can, all see the same moment.

        Nobody else has to wait for it.
        """

    def tenants(self) -> list[str]:
        """The tenants that have anything here, by name."""

    def check_writable(self) -> None:
        """Raises where nothing can be written now, and says why: StoreUnavailable, DiskFull.

        Cheap enough to ask every few seconds, and it writes nothing; only after a write was refused, it waits for its
        turn to write a number.
        """

    def check(self) -> list[Finding]:
        """What is wrong with the engine, the file, the schema, the log and the index; empty when all is well."""

    def reindex(self, progress: Progress | None = None) -> int:
        """Rebuild the keyword index from the log and the items; returns how many items it holds. Vectors stay."""

    def backup(self, path: str | Path) -> None:
        """Write a complete copy to a file that was not there before; the store stays in use meanwhile."""

    def restore(self, path: str | Path) -> None:
        """Replace everything in the store by what that backup holds; refused if the backup is damaged."""

    def close(self) -> None:
        """Close files and connections; every later call raises StoreUnavailable."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...
