"""JSON over HTTP to model servers: timeouts, a few retries with growing waits, and a ModelError for each failure."""

from __future__ import annotations

import ipaddress
import json
import math
import os
import time
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import SplitResult, urlsplit

from recollect.errors import BadReply, ConfigError, MissingExtra, ModelError, ModelUnavailable, RateLimited

if TYPE_CHECKING:
    from httpx2 import Client, Response

T = TypeVar("T")
OPENAI: Final = "https://api.openai.com/v1"
ANTHROPIC: Final = "https://api.anthropic.com"
KEYED: Final = frozenset({"api.openai.com", "api.anthropic.com"})
"""Hosts that always need a key; other servers may need none."""
PACKAGES: Final = ("httpx2", "stamina")
"""The packages that requests need; they are loaded with the first request."""
MOST_BYTES: Final = 64_000_000
"""The most bytes of a reply; a larger one is an error."""
SHOWN: Final = 500
"""How many characters of a provider's text an error shows."""
SHORTEST_KEY: Final = 8
"""The fewest characters of a key that is hidden in errors."""
KEEP_SECONDS: Final = 75
"""How long a server of ours keeps a connection without a request: longer than callers (5) and proxies (60) do.

One that is closed just when its next request is sent loses that request.
"""
REFUSED: Final = frozenset({400, 413, 415, 422})
"""The statuses by which providers refuse what a request holds."""
_PASSING: Final = frozenset({408, 409, 425})
_UNPAID: Final = ("insufficient_quota", "current quota", "billing", "credit balance")


@dataclass(frozen=True, slots=True)
class Retries:
    """How a failed request is tried again: at most `times`, after `first` seconds, then twice as long, up to `most`.

    Waits vary by up to `jitter` seconds. If the server names a wait, that is used, unless it is longer than `patience`.
    """

    times: int = 3
    first: float = 0.5
    most: float = 8.0
    jitter: float = 0.5
    patience: float = 30.0

    def __post_init__(self) -> None:
        if not 0 <= self.times <= 3:
            raise ConfigError(f"times is {self.times}; a request is tried again 0 to 3 times")

    def wait(self, error: Exception) -> bool | float:
        """Whether to try again after this error, or the seconds that the server asked to wait first."""
        if not isinstance(error, ModelError) or not error.passing:
            return False
        asked = error.retry_after if isinstance(error, RateLimited) else None
        return True if asked is None else asked <= self.patience and float(asked)


RETRIES: Final = Retries()


class Endpoint:
    """A model server, safe to share between threads.

    `url_from` and `key_from` name the environment variables of its address and its key. The key is read for each
    request, and `sign` turns it into headers. `judge` may turn the status and text of a refusal into a better error.
    """

    def __init__(
        self,
        name: str,
        url: str,
        url_from: str,
        key_from: str = "",
        *,
        sign: Callable[[str], dict[str, str]] = lambda key: {"authorization": f"Bearer {key}"} if key else {},
        judge: Callable[[int, str], ModelError | None] = lambda status, text: None,
        retries: Retries = RETRIES,
    ) -> None:
        self.name, self.url, self.retries = name, url.rstrip("/"), retries
        self._url_from, self._key_from, self._sign, self._judge = url_from, key_from, sign, judge
        if parted(self.url).scheme not in ("http", "https") or not parted(self.url).hostname:
            raise ConfigError(f"{name}: its address is not one like http://localhost:8000 or https://…: see {url_from}")
        for package in PACKAGES:
            if find_spec(package) is None:
                raise MissingExtra(package, "http", name)

    def post(self, path: str, body: Mapping[str, Any], timeout: float, read: Callable[[Any], T]) -> tuple[T, int]:
        """Send a request; returns what `read` makes of the JSON that comes back, and how many tries it took.

        Each try may take `timeout` seconds, and none begins after that many seconds.
        """

        def attempt() -> T:
            end = time.monotonic() + timeout
            with self._failing(timeout), self._sent(path, body, timeout) as response:
                return read(self._json(_whole(response, end)))

        return self._retried(attempt, timeout)

    def stream(
        self, path: str, body: Mapping[str, Any], timeout: float, read: Callable[[Response], Iterator[T]]
    ) -> tuple[Generator[T], int]:
        """Send a request; returns what `read` makes of the reply, item by item, and how many tries that took.

        Nothing is tried again once the first item has come, or after `timeout` seconds; no pause may be longer than
        that either. Closing the iterator ends the request.
        """

        def items() -> Iterator[T]:
            with self._failing(timeout), self._sent(path, body, timeout) as response:
                yield from read(response)

        def attempt() -> Generator[T]:
            started = items()
            for first in started:
                return resumed(first, started)
            raise BadReply(f"{self.name}: the reply is empty")

        return self._retried(attempt, timeout)

    def key(self) -> str:
        """The key in the environment now; raises ModelUnavailable if there is none and the server needs one."""
        key = os.environ.get(self._key_from, "") if self._key_from else ""
        if not (key.isascii() and key.isprintable()):
            raise ConfigError(f"{self._key_from} holds characters that no key has: look for a line break in it")
        if not key.strip() and urlsplit(self.url).hostname in KEYED:
            wanted = f"set {self._key_from} to one, or {self._url_from} to the address of a server that needs none"
            raise ModelUnavailable(f"{self.name}: a key is needed: {wanted}", passing=False)
        return key

    def _retried(self, attempt: Callable[[], T], timeout: float) -> tuple[T, int]:
        retries, stamina, tries = self.retries, import_module("stamina"), 0

        def counted() -> T:
            nonlocal tries
            tries += 1
            return attempt()

        again = stamina.RetryingCaller(
            attempts=retries.times + 1,
            timeout=timeout,
            wait_initial=retries.first,
            wait_max=retries.most,
            wait_jitter=retries.jitter,
        )
        try:
            return again(retries.wait, counted), tries
        except ModelError as error:
            error.tries = tries
            raise

    @cached_property
    def _client(self) -> Client:
        client: Client = import_module("httpx2").Client(verify=secure(self.url))
        weakref.finalize(self, client.close)
        return client

    @contextmanager
    def _sent(self, path: str, body: Mapping[str, Any], timeout: float) -> Iterator[Response]:
        key = self.key()
        headers = {"content-type": "application/json", **self._sign(key)}
        with self._client.stream(
            "POST", self.url + path, content=encoded(body), headers=headers, timeout=timeout
        ) as response:
            if not response.is_success:
                raise self._refused(response, key, time.monotonic() + timeout)
            yield response

    @contextmanager
    def _failing(self, timeout: float) -> Iterator[None]:
        """Turn whatever goes wrong during a request into a ModelError."""
        httpx2, host = import_module("httpx2"), urlsplit(self.url).hostname
        try:
            yield
        except httpx2.InvalidURL as error:
            raise ConfigError(f"{self.name}: its address is not a valid one: see {self._url_from}") from error
        except (httpx2.SSEError, httpx2.DecodingError) as error:
            raise BadReply(f"{self.name}: the reply can't be read: {error}") from error
        except (httpx2.TimeoutException, _Late) as error:
            problem = f"{self.name}: no answer from {host} within {timeout:g} s ({type(error).__name__.strip('_')})"
            raise ModelUnavailable(problem) from error
        except httpx2.RequestError as error:
            problem = f"{type(error).__name__} at {host}: is the server up and reachable? ({self._url_from})"
            raise ModelUnavailable(f"{self.name}: {problem}") from error

    def _refused(self, response: Response, key: str, end: float) -> ModelError:
        said = _whole(response, end).decode("utf-8", "replace")
        said = " ".join(without_key(said, key).split())
        status, after = response.status_code, _seconds(response.headers.get("retry-after"))
        problem = f"{self.name}: answered {status}: {_words(said)[:SHOWN]}"
        if judged := self._judge(status, said):
            return judged.named(self.name)
        if status == 429:
            return RateLimited(problem, after, passing=not any(word in said.lower() for word in _UNPAID))
        if status in (401, 403) and self._key_from:
            problem += f". Set {self._key_from} to a key for this server ({self._url_from})"
        failed = ModelUnavailable(problem, passing=status in _PASSING or status >= 500)
        failed.status = status
        return failed

    def _json(self, data: bytes) -> Any:
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            began = data[:80].decode("utf-8", "replace")
            raise BadReply(f"{self.name}: the reply is not JSON: it starts with {began!r}") from error


def sign_for_anthropic(key: str) -> dict[str, str]:
    """Anthropic's headers for the key and the version of the API."""
    return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}


def parted(url: str) -> SplitResult:
    """The parts of a URL; all of them empty if it is not one."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def message_of(error: Any) -> str:
    """The message of an error that a server gives as JSON."""
    return str(error.get("message") or error) if isinstance(error, Mapping) else str(error)


def _words(said: str) -> str:
    try:
        data = json.loads(said)
    except (ValueError, RecursionError):
        return said
    return message_of(data["error"]) if isinstance(data, Mapping) and data.get("error") else said


def without_key(said: str, key: str) -> str:
    """What a server said, without the key. A short key is only a placeholder, and could be part of any word."""
    return said.replace(key, "***") if len(key) >= SHORTEST_KEY else said


def secure(url: str) -> bool:
    """Whether to check the server's certificate; not for http://, because loading certificates takes time."""
    return urlsplit(url).scheme != "http"


@lru_cache(1_000)
def loopback(host: str) -> bool:
    """Whether a host can only be reached from this machine."""
    name = host.strip("[]").lower()
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


class _Late(Exception):
    """The time for a reply is over, though part of it came."""


def resumed(first: T, rest: Iterator[T]) -> Generator[T]:
    """An iterator with its first item put back; closing it closes the rest."""
    try:
        yield first
        yield from rest
    finally:
        getattr(rest, "close", lambda: None)()


def encoded(body: Any) -> bytes:
    """The body as JSON in UTF-8; half surrogate pairs, which no server accepts, become question marks."""
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _whole(response: Response, end: float) -> bytes:
    data = bytearray()
    for piece in response.iter_bytes():
        data += piece
        if len(data) > MOST_BYTES:
            raise BadReply(f"the reply of {response.url.host} has over {MOST_BYTES} bytes")
        if time.monotonic() > end:
            raise _Late
    return bytes(data)


def _seconds(header: str | None) -> float | None:
    try:
        seconds = float(header or "")
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None
