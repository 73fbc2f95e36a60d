"""The job queue in PostgreSQL."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from recollect.errors import StoreError
from recollect.store import codec, queue
from recollect.store.postgres.connection import Connection
from recollect.store.postgres.database import Database
from recollect.store.postgres.keys import inside, key, keys, named, names, place, told
from recollect.store.values import MEND, Damaged, Finding, Job, JobState
from recollect.types import Scope

_ROW: Final = "tenant, owner, session, kind, key, names, id, state, attempts, worker, due, error, payload"
_COLUMNS: Final = "SELECT <row> FROM recollect.jobs WHERE".replace("<row>", _ROW)
_WAITING: Final = (
    "tenant = %(tenant)s AND owner = %(owner)s AND session = %(session)s AND kind = %(kind)s AND key = %(key)s"
    " AND state = 'waiting' AND id <> %(id)s"
)
_ENQUEUE: Final = """
WITH twin AS MATERIALIZED (<waiting> FOR SHARE), new AS (
    INSERT INTO recollect.jobs (tenant, owner, session, id, kind, key, payload, state, attempts, due, since, names)
    SELECT %(tenant)s, %(owner)s, %(session)s, nextval('recollect.positions'), %(kind)s, %(key)s, %(payload)s,
        'waiting', 0, %(due)s, %(since)s, %(names)s
    WHERE NOT EXISTS (SELECT FROM twin) RETURNING <row>
)
SELECT * FROM twin UNION ALL SELECT * FROM new
""".replace("<waiting>", " ".join((_COLUMNS, _WAITING))).replace("<row>", _ROW)
_FIRST: Final = (
    "state <> 'dead' AND <due> AND (%(kinds)s::text[] IS NULL OR kind = ANY(%(kinds)s::text[]))"
    " ORDER BY due, id LIMIT %(limit)s FOR UPDATE SKIP LOCKED"
)
_DUE: Final = " ".join((_COLUMNS, _FIRST.replace("<due>", "due <= %(now)s")))
_SET_BACK: Final = " ".join((_COLUMNS, _FIRST.replace("<due>", "due > %(now)s AND since > %(now)s + %(slack)s")))
_HELD: Final = " ".join((_COLUMNS, "tenant = %(tenant)s AND id = %(id)s AND state = 'running' FOR UPDATE"))
_MOVE: Final = (
    "UPDATE recollect.jobs SET state = %s, attempts = %s, worker = %s, since = %s, due = %s, error = %s"
    " WHERE tenant = %s AND id = %s"
)
_DELETE: Final = "DELETE FROM recollect.jobs WHERE tenant = %s AND id = %s"


class PostgresJobs:
    """Jobs in a table, claimed past each other's locks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def enqueue(self, scope: Scope, jobs: Sequence[Job]) -> list[Job]:
        now = self._database.clock()
        return self._database.write(scope, lambda db: _enqueue(db, scope, jobs, now)) if jobs else []

    def claim(self, kinds: Sequence[str] = (), *, worker: str, lease: float = 60.0, limit: int = 1) -> list[Job]:
        queue.check_claim(kinds, worker, lease, limit)
        now = self._database.clock()
        known = {"now": codec.micros(now), "slack": queue.SLACK, "kinds": keys(kinds) if kinds else None}
        return self._database.write(None, lambda db: _claim(db, known, now, worker, lease, limit), repeatable=True)

    def renew(self, job: Job, lease: float = 60.0) -> Job:
        now = self._database.clock()  # without the scope: its own effects may hold that for long
        return self._database.write(None, lambda db: queue.renew(_Rows(db, now), job, lease), repeatable=True)

    def finish(self, job: Job) -> None:
        now = self._database.clock()
        self._database.write(job.scope, lambda db: queue.finish(_Rows(db, now), job))

    def fail(self, job: Job, error: str, *, retry: bool = True) -> Job:
        now = self._database.clock()
        return self._database.write(job.scope, lambda db: queue.fail(_Rows(db, now), job, error, retry))

    def find(self, scope: Scope, *, state: JobState | None = None, after: str = "", limit: int = 100) -> list[Job]:
        queue.check_find(state, limit)
        start = queue.number(after)
        return self._database.read(scope.tenant, lambda db: _inside(db, scope, state, limit, start))

    def revive(self, scope: Scope) -> int:
        now = self._database.clock()
        return self._database.write(scope, lambda db: queue.revive(_Rows(db, now), _inside(db, scope, "dead", None)))


def damaged(db: Connection, tenant: str) -> Iterator[Damaged]:
    """The tenant's jobs that can't be read."""
    condition, known = inside(Scope(tenant), "jobs")
    for row in db.ask(" ".join((_COLUMNS, condition, "ORDER BY id")), known):
        if not _is_whole(row):
            *ids, full, id = row[:7]
            scope, _ = told(full, *ids)
            yield Damaged(id, Finding("jobs", f"the job at position {id} is damaged", scope, fix=MEND))


def _is_whole(row: Sequence[Any]) -> bool:
    try:
        return _job(row).kind != ""
    except (StoreError, *codec.DAMAGE):
        return False


def _enqueue(db: Connection, scope: Scope, jobs: Iterable[Job], now: datetime) -> list[Job]:
    return [_job(db.ask(_ENQUEUE, values)[0]) for values in _enqueued(scope, jobs, now)]


def enqueue_later(db: Connection, scope: Scope, jobs: Iterable[Job], now: datetime) -> None:
    """Enqueue jobs together with the next statement that is sent."""
    for values in _enqueued(scope, jobs, now):
        db.later(_ENQUEUE, values)


def _enqueued(scope: Scope, jobs: Iterable[Job], now: datetime) -> Iterator[dict[str, Any]]:
    since = codec.micros(now)
    for job in jobs:
        full = names(scope.tenant, scope.user, scope.session, job.kind, job.key)
        about = {"id": 0, "kind": key(job.kind), "key": None if job.key is None else key(job.key)}
        times = {"since": since, "due": since + queue.micros(job.delay)}
        yield place(scope)._asdict() | about | times | {"payload": codec.to_bytes(job.payload), "names": full}


def _claim(db: Connection, known: dict[str, Any], now: datetime, worker: str, lease: float, limit: int) -> list[Job]:
    rows, claimed = _Rows(db, now), list[Job]()
    for query in (_DUE, _SET_BACK):
        while rest := limit - len(claimed):
            due = [_job(row) for row in db.ask(query, known | {"limit": rest})]
            claimed += filter(None, [queue.claim(rows, job, worker, lease) for job in due])
            if len(due) < rest:
                break
    return claimed


def _inside(db: Connection, scope: Scope, state: JobState | None, limit: int | None, after: int = 0) -> list[Job]:
    condition, known = inside(scope, "jobs")
    if state is not None:
        condition, known["state"] = f"{condition} AND state = %(state)s", state
    query = " ".join((_COLUMNS, condition, "AND id > %(after)s ORDER BY id LIMIT %(limit)s"))
    return [_job(row) for row in db.ask(query, known | {"limit": limit, "after": after})]


@dataclasses.dataclass(frozen=True, slots=True)
class _Rows:
    """See `queue.Rows`."""

    db: Connection
    now: datetime

    def held(self, job: Job) -> Job:
        tenant = key(job.scope.tenant) if job.scope else None
        found = self.db.ask(_HELD, {"tenant": tenant, "id": queue.number(job.id)})
        return queue.check_held(_job(found[0]) if found else None, job)

    def twin(self, job: Job) -> Job | None:
        """See `queue.Rows.twin`; it is locked, so that no one claims it before this change is committed."""
        if job.key is None or job.scope is None:
            return None
        about = {"kind": key(job.kind), "key": key(job.key), "id": int(job.id)}
        found = self.db.ask(" ".join((_COLUMNS, _WAITING, "FOR SHARE")), place(job.scope)._asdict() | about)
        return _job(found[0]) if found else None

    def move(self, job: Job, wait: float, **changes: Any) -> Job:
        since = codec.micros(self.now)
        due = since + queue.micros(wait)
        job = queue.moved(job, codec.from_micros(due), changes)
        self.db.later(_MOVE, (job.state, job.attempts, job.worker, since, due, job.error, *_key(job)))
        return job

    def remove(self, job: Job) -> None:
        self.db.later(_DELETE, _key(job))


def _key(job: Job) -> tuple[str, int]:
    assert job.scope is not None
    return key(job.scope.tenant), int(job.id)


def _job(row: Sequence[Any]) -> Job:
    *found, full, id, state, attempts, worker, due, error, payload = row
    tenant, owner, session, kind, about = codec.from_bytes(full) if full else found
    return Job(
        kind,
        codec.from_bytes(payload),
        about,
        id=str(id),
        scope=named(tenant, owner, session),
        state=state,
        attempts=attempts,
        worker=worker,
        due=codec.from_micros(due),
        error=error,
    )
