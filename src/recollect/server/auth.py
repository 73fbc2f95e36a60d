"""Who may do what: keys, kept in the store as hashes, each for one tenant and some of read, write, erase and admin.

A key is 256 random bits, so one round of SHA-256 is enough to keep it from being guessed from its hash.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
import time
from asyncio import Future
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from recollect.errors import ConfigError, NotFound, RecollectError
from recollect.http import loopback
from recollect.store import Record, Store
from recollect.types import Scope, check_id

log = logging.getLogger("recollect.server")

KINDS: Final = ("read", "write", "erase", "admin")
HOME: Final = Scope("recollect:keys")
"""The tenant that holds the keys; no key opens it."""
KIND: Final = "key"
FRESH_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Key:
    """What a caller may do, and in whose memory."""

    id: str
    tenant: str = "default"
    may: frozenset[str] = frozenset(KINDS)
    name: str = ""
    made: datetime | None = None

    def allows(self, what: str) -> bool:
        """Whether it may do that; admin may do all."""
        return what in self.may or "admin" in self.may


def said(right: str) -> str:
    """What a right lets a caller do, as a word for a sentence."""
    return "administer" if right == "admin" else right


ANYONE: Final = Key("anyone")
"""The caller of a service that has no keys."""


def add_key(
    store: Store, *, tenant: str = "default", may: Sequence[str] = ("read", "write"), name: str = ""
) -> tuple[Key, str]:
    """Make a key; returns it and its secret, which is shown this once: the store keeps a hash."""
    check_key(tenant, may)
    id = secrets.token_hex(4)
    secret = f"rk_{id}_{secrets.token_urlsafe(32)}"
    value = {"hash": hashed(secret), "tenant": tenant, "may": sorted(set(may)), "name": name}
    return _key(store.records.put(HOME, [Record(KIND, id, value)])[0]), secret


def check_key(tenant: str, may: Sequence[str]) -> None:
    """Raise ConfigError where there can be no such key."""
    if check_id(tenant, "tenant") == HOME.tenant:
        raise ConfigError(f"tenant {tenant!r} holds the keys themselves; name another")
    if not may or set(may).difference(KINDS):
        raise ConfigError(f"may={list(may)!r}: give some of {', '.join(KINDS)}")


def list_keys(store: Store) -> list[Key]:
    """All keys, oldest first."""
    return [_key(record) for record in store.records.find(HOME, kind=KIND, exact=True)]


def revoke_key(store: Store, id: str) -> None:
    """Make a key useless from now on; running services notice within seconds."""
    found = store.records.find(HOME, kind=KIND, key=check_id(id, "a key's id"), exact=True)
    if not found:
        raise NotFound(f"no key {id!r}; see the list of keys")
    store.records.delete(HOME, [record.id for record in found])


def hashed(secret: str) -> str:
    """The hash that is kept of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _key(record: Record) -> Key:
    value: Any = record.value
    return Key(record.key, value["tenant"], frozenset(value["may"]), value["name"], record.recorded_at)


@dataclass(slots=True, eq=False)
class Ring:
    """The keys of a store, read again every few seconds, so that a revoked one stops working everywhere.

    `bool(ring)` says whether callers need a key: whether there are any, or were since the start. `reading` is the
    last call of `refresh`, which may be under way.
    """

    store: Store
    clock: Callable[[], float] = time.monotonic
    _keys: dict[str, Key] = field(default_factory=dict)
    _read: float = float("-inf")
    _needed: bool = False
    _is_away: bool = False
    reading: Future[bool] | None = None

    def __bool__(self) -> bool:
        return self._needed

    @property
    def stale(self) -> bool:
        """Whether it is time to `refresh`; True for one caller only."""
        if self.clock() - self._read < FRESH_SECONDS:
            return False
        self._read = self.clock()
        return True

    def read(self) -> None:
        """Read the keys anew."""
        self._read = self.clock()
        records = self.store.records.find(HOME, kind=KIND, exact=True)
        self._keys = {str(record.value["hash"]): _key(record) for record in records}
        self._needed = self._needed or bool(self._keys)

    def refresh(self) -> bool:
        """Read the keys anew; whether that worked. While the store can't be reached, the known ones stay."""
        try:
            self.read()
        except RecollectError as error:
            if not self._is_away:
                self._is_away = True
                log.warning("the keys can't be read and stay as they are: %s", error)
            return False
        if self._is_away:
            self._is_away = False
            log.info("the keys can be read again")
        return True

    def get(self, secret: str) -> Key | None:
        """The key with that secret."""
        return self._keys.get(hashed(secret))


def from_here(host: str, origin: str | None) -> bool:
    """Whether a request without a key comes from this machine's own pages and programs.

    A page from elsewhere can have a browser call 127.0.0.1, but the host or the origin then names where it is from.
    """
    try:
        return all(loopback(urlsplit(url).hostname or "") for url in (f"//{host}", origin) if url)
    except ValueError:  # what can't be read as an address is not this machine's
        return False
