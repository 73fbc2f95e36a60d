"""Chroma's collections: for each tenant and model one copy of the vectors in the store. Only this file loads Chroma."""

from __future__ import annotations

import re
import shutil
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recollect.errors import ConfigError, MissingExtra, StoreUnavailable
from recollect.http import parted
from recollect.store import codec
from recollect.store.protocols import Store
from recollect.store.values import Filter, Item
from recollect.types import Scope

try:
    import chromadb
    from chromadb.api.shared_system_client import SharedSystemClient
    from chromadb.config import Settings
except ImportError as error:
    raise MissingExtra("chromadb", "chroma", "an index in Chroma") from error

Row: TypeAlias = NDArray[np.float32]

PAGE: Final = 1_000
_PREFIX: Final = "recollect-"
_SEGMENT: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The names of the folders in which Chroma keeps vectors."""


def connect(url: str) -> Any:
    """Open a client for a folder or a server. Files that Chroma can't read are removed: they are only copies."""
    parts = parted(url)
    settings = Settings(anonymized_telemetry=False, chroma_server_ssl_verify=False)  # plain HTTP needs no certificates
    if parts.hostname:
        try:
            return chromadb.HttpClient(host=parts.hostname, port=parts.port or 8000, settings=settings)
        except Exception as error:
            raise StoreUnavailable(f"Chroma at {url} can't be reached ({error}): start it and try again") from error
    folder = Path(parts.path.removeprefix("/"))
    if not parts.path.removeprefix("/"):
        raise ConfigError(f"{url} names no folder: give chroma:///folder or chroma://host:port")
    return _opened(folder, settings)


def disconnect(client: Any) -> None:
    """Close a client and its connections to a server, which its own `close` leaves open."""
    servers = [getattr(part, "_server", None) for part in (client, getattr(client, "_admin_client", None))]
    client.close()
    for server in servers:
        if (connections := getattr(server, "_session", None)) is not None:
            connections.close()


def _opened(folder: Path, settings: Settings) -> Any:
    try:
        client = chromadb.PersistentClient(folder, settings=settings)
        client.list_collections()
        return client
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit) or not (folder / "chroma.sqlite3").exists():
            raise
    SharedSystemClient.clear_system_cache()
    for part in folder.iterdir():
        if part.name.startswith("chroma.sqlite3"):
            part.unlink()
        elif _SEGMENT.fullmatch(part.name):
            shutil.rmtree(part)
    return chromadb.PersistentClient(folder, settings=settings)


class Copies:
    """The collections, kept equal to the vectors in the store.

    At the first use of a tenant and model, the tenant's copies are compared with the store; from then on each change is
    copied after its commit. If Chroma could not take a change, it is owed: the next use, of any tenant, makes those
    copies equal again.
    """

    def __init__(self, base: Store, url: str) -> None:
        self._base = base
        self._client = connect(url)
        self._equal: set[tuple[str, str]] = set()
        self._owed: set[str | None] = set()
        self._lock = threading.RLock()

    def close(self) -> None:
        """Close the folder or the connections."""
        disconnect(self._client)

    def equal(self, tenant: str, model: str) -> Any:
        """The collection of the tenant and model, made equal to the store; raises if that fails."""
        with self._lock:
            collection = self._collection(tenant, model)
            if (tenant, model) not in self._equal:
                self.compare(tenant)
                self._equal.add((tenant, model))
                collection = self._collection(tenant, model)
            return collection

    def doubt(self, tenant: str | None = None) -> None:
        """Make the copies of a tenant, or all of them, be compared with the store before their next use."""
        with self._lock:
            self._equal = {pair for pair in self._equal if tenant not in (None, pair[0])}

    def owe(self, tenant: str | None) -> None:
        """Note that the copies of a tenant, or all of them, lack a change."""
        with self._lock:
            self._owed.add(tenant)
            self.doubt(tenant)

    def settle(self) -> None:
        """Make the copies that lack a change equal to the store."""
        with self._lock:
            for tenant in [*self._owed]:
                if tenant is None:
                    self.compare_all()
                else:
                    self.compare(tenant)
                self._owed.discard(tenant)

    def put(self, model: str, rows: Sequence[tuple[Item, Row]]) -> None:
        """Copy vectors that the store has just kept."""
        if rows and rows[0][0].scope is not None:
            self._copy(self._collection(rows[0][0].scope.tenant, model), model, rows)

    def remove(self, tenant: str, positions: Iterable[int]) -> None:
        """Remove the vectors at these positions, of every model."""
        for collection, _ in self._of(tenant):
            collection.delete(ids=[str(position) for position in positions])

    def drop(self, scope: Scope, model: str) -> None:
        """Remove a model's vectors in the scope."""
        collection = self._collection(scope.tenant, model)
        if scope.user is None:
            self._client.delete_collection(collection.name)
        else:
            collection.delete(where=_conditions(_inside(scope, False)))

    def compare(self, tenant: str) -> None:
        """Make every copy of the tenant equal to the store."""
        with self._lock:
            for collection, model in self._of(tenant):
                self._compare(collection, Scope(tenant), model)

    def compare_all(self) -> None:
        """Make every copy equal to the store."""
        for tenant in {tenant for _, tenant, _ in self._all()}:
            self.compare(tenant)

    def differences(self) -> Iterator[tuple[str, str, int]]:
        """The tenant, the model and how many vectors differ, for each copy that is not equal to the store."""
        for collection, tenant, model in self._all():
            have, want = _have(collection), _want(self._base, Scope(tenant), model)
            if count := len(have.items() ^ {place: mark for place, (_, _, mark) in want.items()}.items()):
                yield tenant, model, count

    def _compare(self, collection: Any, scope: Scope, model: str) -> None:
        have, want = _have(collection), _want(self._base, scope, model)
        if want and all(have.get(place) != mark for place, (_, _, mark) in want.items()):
            self._client.delete_collection(collection.name)  # a collection can never change the length of its vectors
            collection, have = self._collection(scope.tenant, model), {}
            want = _want(self._base, scope, model)  # vectors copied meanwhile were deleted with it
        for page in _pages([place for place in have if place not in want]):
            collection.delete(ids=page)
        self._copy(
            collection, model, [(item, row) for place, (item, row, mark) in want.items() if have.get(place) != mark]
        )

    def _copy(self, collection: Any, model: str, rows: Sequence[tuple[Item, Row]]) -> None:
        """Copy vectors, then remove those that were erased meanwhile, as the erasure may have come before the copy."""
        for page in _pages(rows):
            _upsert(collection, page)
            kept = _still_there(self._base, model, [item for item, _ in page])
            if gone := [str(item.position) for item, _ in page if item.position not in kept]:
                collection.delete(ids=gone)

    def _collection(self, tenant: str, model: str) -> Any:
        name = _PREFIX + sha256(f"{len(tenant)} {tenant} {model}".encode()).hexdigest()[:40]
        return self._client.get_or_create_collection(
            name,
            metadata={"tenant": tenant, "model": model},
            configuration={"hnsw": {"space": "ip", "ef_search": 200}},
            embedding_function=None,
        )

    def _of(self, tenant: str) -> list[tuple[Any, str]]:
        return [(collection, model) for collection, owner, model in self._all() if owner == tenant]

    def _all(self) -> Iterator[tuple[Any, str, str]]:
        for collection in self._client.list_collections():
            if collection.name.startswith(_PREFIX):
                yield collection, collection.metadata["tenant"], collection.metadata["model"]


def _conditions(clauses: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """These conditions, joined by "and", in Chroma's form."""
    if len(clauses) < 2:
        return clauses[0] if clauses else None
    return {"$and": list(clauses)}


def passing(scope: Scope, where: Filter) -> dict[str, Any] | None:
    """A scope and a filter in Chroma's form, without the filter's metadata, which the store checks."""
    clauses = _inside(scope, where.exact)
    lists = {"kind": list(where.kinds), "role": list(where.roles)}
    clauses += [{name: {"$in": values}} for name, values in lists.items() if values]
    if where.since is not None:
        clauses.append({"at": {"$gte": codec.micros(where.since)}})
    if where.before is not None:
        clauses.append({"at": {"$lt": codec.micros(where.before)}})
    if where.as_of is not None:
        clauses.append({"position": {"$lte": min(where.as_of, 2**62)}})
    return _conditions(clauses)


def _inside(scope: Scope, exact: bool) -> list[dict[str, Any]]:
    clauses: list[dict[str, Any]] = []
    if exact or scope.user is not None:
        clauses.append({"user": {"$eq": scope.user or ""}})
    if exact or scope.session is not None:
        clauses.append({"session": {"$eq": scope.session or ""}})
    return clauses


def _upsert(collection: Any, rows: Sequence[tuple[Item, Row]]) -> None:
    collection.upsert(
        ids=[str(item.position) for item, _ in rows],
        embeddings=[row for _, row in rows],
        metadatas=[_about(item, row) for item, row in rows],
    )


def _still_there(base: Store, model: str, items: Sequence[Item]) -> set[int]:
    """The positions of these items that have a vector of the model."""
    ids: dict[tuple[Scope, str], list[str]] = {}
    for item in items:
        ids.setdefault((item.scope or Scope(), item.kind), []).append(item.id)
    return {
        item.position for (scope, kind), some in ids.items() for item, _ in base.index.vectors(scope, kind, model, some)
    }


def _about(item: Item, row: Row) -> dict[str, Any]:
    assert item.scope is not None
    about: dict[str, Any] = {"user": item.scope.user or "", "session": item.scope.session or "", "kind": item.kind}
    about |= {"id": item.id, "position": item.position, "mark": _mark(row)}
    if item.role is not None:
        about["role"] = item.role
    if item.at is not None:
        about["at"] = codec.micros(item.at)
    return about


def _mark(row: Row) -> int:
    return zlib.crc32(row.tobytes())


def _have(collection: Any) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    while (page := collection.get(limit=PAGE, offset=len(found), include=["metadatas"]))["ids"]:
        found |= {id: (about or {}).get("mark") for id, about in zip(page["ids"], page["metadatas"], strict=True)}
    return found


def _want(base: Store, scope: Scope, model: str) -> dict[str, tuple[Item, Row, int]]:
    found: dict[str, tuple[Item, Row, int]] = {}
    after = 0
    while page := base.index.embedded(scope, model, after=after, limit=PAGE):
        found |= {str(item.position): (item, row, _mark(row)) for item, row in page}
        after = page[-1][0].position
    return found


def _pages(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), PAGE):
        yield values[start : start + PAGE]
