"""Every error Recollect raises, in one tree. Each also subclasses the builtin you would catch.

RecollectError
├── ConfigError (ValueError)            a setting or argument can't be used as given
├── MissingExtra (ImportError)          an optional package is needed: the message has the command
├── InvalidTranscript (ValueError)      a message or transcript breaks a rule of its shape
├── BudgetTooSmall (ValueError)         what must stay is larger than the budget: needed, allowed, ledger
├── StoreError                          something about what is kept
│   ├── StoreUnavailable (ConnectionError)  the store can't be reached or is too busy: nothing was written, try again
│   ├── DiskFull (OSError)              no room to write: nothing was written, reading goes on
│   ├── Conflict (ValueError)           what is kept says otherwise: same id with other content, a lease lost
│   ├── NotFound (LookupError)          no such thing in this scope
│   └── MigrationError (RuntimeError)   the store's schema can't be used by, or brought to, this version
└── ModelError (RuntimeError)           a model's provider did not do what it was asked
    ├── ModelUnavailable                it can't be reached, or fails
    │   └── Interrupted                 its answer broke off in the middle: partial
    ├── RateLimited                     it asks for fewer requests: retry_after
    ├── ContextOverflow                 what was sent is too large for it: limit, tokens, reply
    └── BadReply                        its answer can't be understood
"""

from __future__ import annotations

import copyreg
from collections import Counter
from collections.abc import Sequence
from typing import Any, Self


class RecollectError(Exception):
    """The base of every error of this library. All of them can be pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class ConfigError(RecollectError, ValueError):
    """A setting or argument can't be used; the message names it and what is allowed."""


class MissingExtra(RecollectError, ImportError):
    """An optional package is not installed; the message has the command that installs it."""

    def __init__(self, package: str, extra: str, wanted_for: str) -> None:
        self.package, self.extra = package, extra
        command = f"pip install {_packages(extra) or package}"
        super().__init__(f"{wanted_for} needs '{package}', of the extra '{extra}': {command}")


def _packages(extra: str) -> str:
    """What an extra is made of, as pip takes it: under the name `recollect` an index has another project."""
    from importlib import metadata

    try:
        needs = metadata.requires("recollect") or ()
    except metadata.PackageNotFoundError:
        return ""
    parts = [need.partition(";") for need in needs]
    return " ".join(f"'{name.strip()}'" for name, _, when in parts if when.strip() == f"extra == '{extra}'")


class InvalidTranscript(RecollectError, ValueError):
    """A message can't be read, or breaks a rule of its shape; `where` is its place in what was given."""

    def __init__(self, problem: str, where: str = "") -> None:
        self.problem, self.where = problem, where
        super().__init__(f"{where}: {problem}" if where else problem)


class BudgetTooSmall(RecollectError, ValueError):
    """What must stay needs more tokens than the budget allows; `ledger` lists it by message."""

    def __init__(self, needed: int, allowed: int, ledger: Sequence[Any] = (), overhead: int = 0) -> None:
        self.needed, self.allowed, self.ledger, self.overhead = needed, allowed, tuple(ledger), overhead
        most = f", or make smaller what takes most: {largest}" if (largest := self._largest()) else ""
        super().__init__(
            f"{needed} tokens must stay, the budget is {allowed}: {needed - allowed} too many. Raise the budget{most}"
        )

    def _largest(self) -> str:
        """The three largest of what must stay, memory by its sections; not what is small beside the largest."""
        parts = Counter({"framing with any tools and room for the reply": max(0, self.overhead)})
        for entry in self.ledger:
            parts[entry.label] += entry.shown
        named = parts.most_common(3)
        return ", ".join(f"{label} ({tokens})" for label, tokens in named if tokens * 10 > named[0][1])


class StoreError(RecollectError):
    """The store can't do what was asked: it is damaged, or what was given can't be kept."""


class StoreUnavailable(StoreError, ConnectionError):
    """The store can't be reached, is too busy, or is closed; nothing was written."""


class DiskFull(StoreError, OSError):
    """There is no room on the disk. Nothing was written; writing works again once there is room."""


class Conflict(StoreError, ValueError):
    """What is kept contradicts this, such as another message with the same id; nothing was written."""


class NotFound(StoreError, LookupError):
    """No such thing in this scope."""


class MigrationError(StoreError, RuntimeError):
    """The store's schema can't be used by, or brought to, this version of Recollect."""


class ModelError(RecollectError, RuntimeError):
    """A provider did not do what it was asked; the message has the provider's own words.

    `passing` says whether the same request may work later; `tries` is how often it was made.
    """

    passing = True
    tries = 1

    def __init__(self, problem: str, *, passing: bool = True) -> None:
        self.passing = self.passing and passing
        super().__init__(problem)

    def named(self, name: str) -> Self:
        """The same error, with the model's name in front."""
        self.args = (f"{name}: {self}",)
        return self


class ModelUnavailable(ModelError):
    """The provider can't be reached in time, or fails; `status` is the HTTP status by which it refused a request."""

    status: int | None = None


class Interrupted(ModelUnavailable):
    """The answer broke off in the middle; `partial` is the text that came before."""

    def __init__(self, problem: str, partial: str = "") -> None:
        self.partial = partial
        super().__init__(problem)


class RateLimited(ModelError):
    """The provider asks for fewer requests; `retry_after` is in seconds, None if it did not say."""

    def __init__(self, problem: str, retry_after: float | None = None, *, passing: bool = True) -> None:
        self.retry_after = retry_after
        super().__init__(problem, passing=passing)


class ContextOverflow(ModelError):
    """What was sent is larger than the model's context.

    In tokens as the provider counts them, each None if it did not say: `limit` is the size of the context, `tokens` the
    size of the request, and `reply` the part of that which was asked for as room to answer.
    """

    passing = False

    def __init__(
        self, problem: str, limit: int | None = None, tokens: int | None = None, reply: int | None = None
    ) -> None:
        self.limit, self.tokens, self.reply = limit, tokens, reply
        super().__init__(problem)

    @property
    def room(self) -> int | None:
        """The tokens that the limit leaves for the prompt."""
        return None if self.limit is None else max(self.limit - (self.reply or 0), 0)


class BadReply(ModelError):
    """The provider's answer can't be understood."""
