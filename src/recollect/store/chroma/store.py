"""A store whose vectors are searched by Chroma."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from recollect.errors import StoreError
from recollect.store import checks
from recollect.store.chroma.copies import Copies, passing
from recollect.store.protocols import Index, Log, Progress, Store
from recollect.store.values import ANY, Erased, Filter, Finding, Item, Match
from recollect.store.vectors import Positions, Vector, check_length, direction, positions
from recollect.types import Scope

_Scored: TypeAlias = tuple[float, int, Item]
"""An item with its cosine and position."""

_LOGGER: Final = logging.getLogger(__name__)


class After(threading.local):
    """What to copy once the store has committed; if a transaction is rolled back, nothing is copied.

    At the end of this thread's transaction, the functions in `waiting` copy, and the copies of the tenants in
    `comparing` are compared. Both are None outside of a transaction.
    """

    waiting: list[tuple[str | None, Callable[[], None]]] | None = None
    comparing: set[str] | None = None

    def __init__(self, copies: Copies) -> None:
        self._copies = copies

    def do(self, tenant: str | None, copy: Callable[[], None]) -> None:
        """Copy now, or at the end of this thread's transaction.

        If that fails, the copies of the tenant (all copies if it is None) are compared before their next use.
        """
        if self.waiting is not None:
            self.waiting.append((tenant, copy))
            return
        try:
            copy()
        except Exception as error:
            _LOGGER.warning("Chroma could not be updated; it will be brought up to date before its next use: %s", error)
            self._copies.owe(tenant)
            return
        self.settle()

    def compare(self, tenant: str) -> None:
        """Compare a tenant's copies now, or once at the end of this thread's transaction."""
        if self.comparing is None:
            self.do(tenant, lambda: self._copies.compare(tenant))
        else:
            self.comparing.add(tenant)

    def settle(self) -> None:
        """Copy what could not be copied before, now that Chroma answers."""
        try:
            self._copies.settle()
        except Exception as error:
            _LOGGER.warning("Chroma could not be brought up to date; its next use tries again: %s", error)

    @contextmanager
    def block(self) -> Iterator[None]:
        """Delay copying until the block has ended without an error."""
        if self.waiting is not None:
            yield
            return
        done = self.waiting = list[tuple[str | None, Callable[[], None]]]()
        changed = self.comparing = set[str]()
        try:
            yield
        finally:
            self.waiting = self.comparing = None
        for tenant, copy in done:
            self.do(tenant, copy)
        for one in changed:
            self.compare(one)


class ChromaLog:
    """The log of the underlying store; what it erases is erased in Chroma too."""

    def __init__(self, base: Log, after: After) -> None:
        self._base, self._after = base, after
        self.append, self.read, self.scan, self.get = base.append, base.read, base.scan, base.get
        self.spoken, self.sessions, self.tag, self.verify = base.spoken, base.sessions, base.tag, base.verify
        self.openings, self.would_erase = base.openings, base.would_erase

    def erase(self, scope: Scope, ids: Sequence[str] | None = None) -> Erased:
        erased = self._base.erase(scope, ids)
        self._after.compare(scope.tenant)
        return erased


class ChromaIndex:
    """The index of the underlying store, with its vectors searched by Chroma."""

    def __init__(self, base: Index, copies: Copies, after: After) -> None:
        self._base, self._copies, self._after = base, copies, after
        self.search, self.get, self.missing = base.search, base.get, base.missing
        self.vectors, self.embedded = base.vectors, base.embedded

    def put(self, scope: Scope, items: Sequence[Item]) -> None:
        by_kind: dict[str, list[str]] = {}
        for item in items:
            by_kind.setdefault(item.kind, []).append(item.id)
        before = self._places(scope, by_kind)
        self._base.put(scope, items)
        self._remove(scope, before - self._places(scope, by_kind))

    def embed(self, scope: Scope, kind: str, model: str, vectors: Mapping[str, Vector]) -> int:
        taken = self._base.embed(scope, kind, model, vectors)
        if taken:
            rows = self._base.vectors(scope, kind, model, list(vectors))
            self._after.do(scope.tenant, lambda: self._copies.put(model, rows))
        return taken

    def nearest(self, scope: Scope, vector: Vector, model: str, k: int = 10, *, where: Filter = ANY) -> list[Match]:
        """See `Index.nearest`; while Chroma can't be used, the underlying store answers, only slower."""
        found = self._found(scope, vector, model, k, where)
        if found is None:
            return self._base.nearest(scope, vector, model, k, where=where)
        return [Match(item.scope, item.kind, item.id, score) for score, _, item in found if item.scope is not None]

    def nearest_positions(
        self, scope: Scope, vector: Vector, model: str, k: int = 10, *, where: Filter = ANY
    ) -> Positions:
        found = self._found(scope, vector, model, k, where)
        if found is None:
            return self._base.nearest_positions(scope, vector, model, k, where=where)
        return positions((position, score) for score, position, _ in found)

    def delete(self, scope: Scope, kind: str, ids: Sequence[str]) -> int:
        before = self._places(scope, {kind: ids})
        deleted = self._base.delete(scope, kind, ids)
        self._remove(scope, before - self._places(scope, {kind: ids}))
        return deleted

    def drop(self, scope: Scope, model: str) -> int:
        dropped = self._base.drop(scope, model)
        if dropped:
            self._after.do(scope.tenant, lambda: self._copies.drop(scope, model))
        return dropped

    def _places(self, scope: Scope, by_kind: Mapping[str, Sequence[str]]) -> set[int]:
        return {item.position for kind, ids in by_kind.items() for item in self._base.get(scope, kind, ids)}

    def _remove(self, scope: Scope, positions: set[int]) -> None:
        """Remove copies by position: an item's replacement has another one, and may have been copied already."""
        if positions:
            self._after.do(scope.tenant, lambda: self._copies.remove(scope.tenant, positions))

    def _found(self, scope: Scope, vector: Vector, model: str, k: int, where: Filter) -> list[_Scored] | None:
        """The k nearest according to Chroma; None if the underlying store must be asked."""
        checks.check_count("k", k, 1)
        asked = direction(vector)
        some = self._base.embedded(Scope(scope.tenant), model, limit=1)
        for _, row in some:
            check_length(model, len(row), len(asked))
        if not some or self._after.waiting is not None:
            return None
        try:
            found = self._nearest(scope, asked, model, k, where)
        except Exception as error:
            _LOGGER.warning("Chroma could not be searched, so the store itself was: %s", error)
            self._copies.doubt(scope.tenant)
            return None
        self._after.settle()
        return found

    def _nearest(
        self, scope: Scope, asked: NDArray[np.float32], model: str, k: int, where: Filter
    ) -> list[_Scored] | None:
        """The k nearest, as well as Chroma's graph can tell; None if it finds fewer than there are.

        That can happen because some vectors may be unreachable in the graph.
        """
        collection, passes = self._copies.equal(scope.tenant, model), passing(scope, where)
        total, wanted = collection.count(), 2 * k + 16
        while True:
            found = collection.query(
                query_embeddings=[asked],
                n_results=min(wanted, total),
                where=passes,
                include=["metadatas", "distances"],
            )
            reached = len(found["ids"][0])
            if reached < wanted and reached < len(collection.get(where=passes, include=[])["ids"]):
                return None
            best = self._checked(scope, where, found["metadatas"][0], found["distances"][0])
            if len(best) >= k or reached < wanted:
                return best[:k]
            wanted *= 4

    def _checked(
        self, scope: Scope, where: Filter, abouts: Sequence[Mapping[str, Any]], distances: Sequence[float]
    ) -> list[_Scored]:
        ids: dict[str, list[str]] = {}
        for about in abouts:
            ids.setdefault(about["kind"], []).append(about["id"])
        items = {item.position: item for kind, some in ids.items() for item in self._base.get(scope, kind, some)}
        if any(about["position"] not in items for about in abouts):  # erased by a process that doesn't use Chroma
            self._copies.doubt(scope.tenant)
        found = [
            (1 - distance, about["position"], items[about["position"]])
            for about, distance in zip(abouts, distances, strict=True)
            if about["position"] in items and where.passes(items[about["position"]])
        ]
        return sorted(found, key=lambda one: one[:2], reverse=True)


class ChromaStore:
    """A store that keeps everything in another one, and copies the vectors to Chroma to search them there."""

    def __init__(self, base: Store, url: str) -> None:
        self._base = base
        self._closed = False
        try:
            self._copies = Copies(base, url)
        except BaseException:
            base.close()
            raise
        self._after = After(self._copies)
        self.log = ChromaLog(base.log, self._after)
        self.index = ChromaIndex(base.index, self._copies, self._after)
        self.records, self.jobs = base.records, base.jobs

    @contextmanager
    def transaction(self, scope: Scope | None = None) -> Iterator[None]:
        with self._after.block(), self._base.transaction(scope):
            yield

    def reading(self) -> AbstractContextManager[None]:
        return self._base.reading()

    def tenants(self) -> list[str]:
        return self._base.tenants()

    def check_writable(self) -> None:
        """See `Store.check_writable`; Chroma is not needed, because the vectors are in the store as well."""
        self._base.check_writable()

    def check(self) -> list[Finding]:
        return self._base.check() + list(self._differences())

    def _differences(self) -> Iterator[Finding]:
        try:
            for tenant, model, count in self._copies.differences():
                problem = f"vectors of model {model!r} that differ in Chroma: {count}"
                yield Finding("index", problem, Scope(tenant), fix="run reindex")
        except StoreError:
            raise
        except Exception as error:
            yield Finding("index", f"Chroma can't be read: {error}", fix="start it; the store itself answers meanwhile")

    def reindex(self, progress: Progress | None = None) -> int:
        """See `Store.reindex`; also makes every copy in Chroma equal to the store."""
        found = self._base.reindex(progress)
        self._make_equal()
        return found

    def mend(self, progress: Progress | None = None) -> int:
        """See `Store.mend`; also makes every copy in Chroma equal to the store."""
        gone = self._base.mend(progress)
        self._make_equal()
        return gone

    def backup(self, path: str | Path) -> None:
        """See `Store.backup`; it has the vectors, so the copies in Chroma are left out."""
        self._base.backup(path)

    def restore(self, path: str | Path) -> None:
        self._base.restore(path)
        self._make_equal()

    def _make_equal(self) -> None:
        self._copies.doubt()
        self._after.do(None, self._copies.compare_all)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._base.close()
            self._copies.close()

    def __repr__(self) -> str:
        return f"ChromaStore({self._base!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
