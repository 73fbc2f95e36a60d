"""The SQLite store."""

from __future__ import annotations

import os
import secrets
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import Final, Self

import apsw

from recollect.errors import ConfigError, NotFound, StoreError
from recollect.store.backup import OTHER_KIND, making, no_room
from recollect.store.checks import check_durability
from recollect.store.protocols import Clock, Durability, Progress
from recollect.store.sqlite import check, damage, errors, keywords
from recollect.store.sqlite.database import Database
from recollect.store.sqlite.index import SqliteIndex
from recollect.store.sqlite.jobs import SqliteJobs
from recollect.store.sqlite.log import SqliteLog
from recollect.store.sqlite.migrate import check_version
from recollect.store.sqlite.records import SqliteRecords
from recollect.store.values import Finding
from recollect.types import Scope, local_now

_TENANTS: Final = (
    "SELECT DISTINCT tenant FROM scope WHERE id IN (SELECT scope FROM session UNION SELECT scope FROM record"
    " UNION SELECT scope FROM item UNION SELECT scope FROM job) ORDER BY tenant"
)


class SqliteStore:
    """A store in one file, for many threads and many processes."""

    def __init__(
        self, path: str | Path, *, durability: Durability = "full", clock: Clock = local_now, vfs: str | None = None
    ) -> None:
        check_durability(durability)
        self._database = Database(_checked_name(os.fspath(path)), durability, clock, vfs)
        self.log = SqliteLog(self._database)
        self.records = SqliteRecords(self._database)
        self.index = SqliteIndex(self._database)
        self.jobs = SqliteJobs(self._database)
        self._renew_words()

    def _renew_words(self) -> None:
        """Make the keyword index anew where other word rules made it."""
        with self._database.reading() as db:
            outdated = check.words_outdated(db)
        if outdated:
            self.reindex()

    def transaction(self, scope: Scope | None = None) -> AbstractContextManager[None]:
        """See `Store.transaction`; here nobody else can write anywhere, whatever the scope."""
        return self._database.transaction()

    def reading(self) -> AbstractContextManager[None]:
        """See `Store.reading`; here all reads see the same moment."""
        return self._database.moment()

    def tenants(self) -> list[str]:
        with self._database.reading() as db:
            return [tenant for (tenant,) in db.execute(_TENANTS)]

    def check_writable(self) -> None:
        self._database.check_writable()

    def check(self) -> list[Finding]:
        with self._database.connections.fresh() as db:
            return list(check.findings(db))

    def reindex(self, progress: Progress | None = None) -> int:
        return self._database.write(lambda change: keywords.rebuild(change, progress))

    def mend(self, progress: Progress | None = None) -> int:
        return self._database.write(lambda change: damage.mend(change, progress))

    def backup(self, path: str | Path) -> None:
        target = Path(_checked_name(os.fspath(path)))
        with making(target) as part, self._database.connections.lent() as db:
            try:
                db.execute("VACUUM INTO ?", (os.fspath(part),))
                _renumber(part)
            except apsw.Error as error:
                if errors.is_full(error):
                    raise no_room(target) from error
                raise

    def restore(self, path: str | Path) -> None:
        with closing(_checked(Path(path))) as backup:
            self._database.replace(backup)
        self._renew_words()

    def close(self) -> None:
        self._database.close()

    def __repr__(self) -> str:
        return f"SqliteStore({self._database.path!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _checked_name(path: str) -> str:
    if "\x00" in path or any("\ud800" <= char <= "\udfff" for char in path):
        raise ConfigError(f"{path!r} has characters that SQLite can't use in a file name: name another file")
    return path


def check_backup(path: Path) -> None:
    """Raises unless the file is a backup that can be restored."""
    _checked(path).close()


def _checked(path: Path) -> apsw.Connection:
    there = False
    with suppress(OSError):  # such as a name that is too long
        there = path.is_file()
    if not there:
        raise NotFound(f"there is no file {path}: name a backup")
    try:
        backup = apsw.Connection(os.fspath(path.absolute()), flags=apsw.SQLITE_OPEN_READONLY)
        if not backup.execute("SELECT count(*) FROM sqlite_schema").get:
            raise apsw.NotADBError("it is empty")
        check_version(backup, os.fspath(path))
        problems = [row[0] for row in backup.execute("PRAGMA integrity_check") if row[0] != "ok"]
        problems += [finding.problem for finding in check.broken_sessions(backup)]
    except apsw.NotADBError as error:
        raise StoreError(f"{path} is no backup of a SQLite store ({error}); {OTHER_KIND}") from error
    except (apsw.CorruptError, UnicodeDecodeError) as error:
        raise _damaged(path, str(error)) from error
    except apsw.Error as error:
        raise errors.translated(error, os.fspath(path)) from error
    if problems:
        backup.close()
        raise _damaged(path, problems[0])
    return backup


def _damaged(path: Path, problem: str) -> StoreError:
    return StoreError(f"the backup {path} is damaged ({problem}): nothing was changed; choose another backup")


def _renumber(path: Path) -> None:
    """Give the copy a new epoch, so that processes which have the store open drop their caches after a restore."""
    with closing(apsw.Connection(os.fspath(path))) as db:
        db.execute("UPDATE counter SET epoch = ?", (secrets.randbits(52),))
