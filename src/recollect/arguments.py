"""Checks of what callers pass in. Errors say what is wrong and what to give instead."""

from __future__ import annotations

import dataclasses
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from recollect.errors import ConfigError, InvalidTranscript
from recollect.types import READ_WITH_PARSE, ROLES, Message, Part, Role

MAX_WHOLE: Final = 2**63 - 1
"""The largest whole number that a store can hold. As a limit, it means no limit."""
LARGEST: Final = sys.float_info.max
"""The largest float; Python's whole numbers can be larger."""
MAX_QUESTION: Final = 4_000
"""How many characters of a question are looked at."""
FIELDS: Final = frozenset(field.name for field in dataclasses.fields(Message)) - {"role", "content"}
"""The fields of a message besides its role and content."""
LIKE: Final = 0.75
"""How similar a name must be to one that may be meant, from 0 to 1."""
_SHOULD: Final = re.compile(r"^\w+ should (.*?)(?:, unable to parse .*)?$")


def as_message(
    message: Message | Role | Sequence[Any] | Mapping[str, Any],
    content: str | Sequence[Part],
    fields: Mapping[str, Any],
) -> Message:
    """The message that is given whole, or by its role, content and fields; raises ConfigError if both are."""
    if not isinstance(message, Message):
        if not isinstance(message, str):
            several = "add_many keeps several" if isinstance(message, (list, tuple)) else READ_WITH_PARSE
            raise InvalidTranscript(f"expected a Message or a role, got {type(message).__name__}; {several}")
        if message not in ROLES:
            known = f"role {message[:40]!r} is not one of {', '.join(ROLES)}"
            raise InvalidTranscript(f"{known}: it comes first, as in add('user', 'Hello')")
        if not isinstance(content, Iterable) or isinstance(content, (bytes, Mapping)):
            raise InvalidTranscript(f"content must be text or parts, got {content!r}")
        if unknown := sorted(fields.keys() - FIELDS):
            raise ConfigError(f"a message has no {', '.join(unknown)}; put values of your own into metadata={{…}}")
        return Message(message, content if isinstance(content, str) else tuple(content), **fields)
    if content or fields:
        raise ConfigError("give a Message, or a role with its content and fields, not both")
    return message


def messages_only(messages: Iterable[Message]) -> list[Message]:
    """The messages as a list; raises InvalidTranscript if one is not a Message."""
    try:
        each = iter(messages)
    except TypeError:
        raise InvalidTranscript(f"expected a list of messages, got {type(messages).__name__}") from None
    found = list(each)
    for index, message in () if {Message}.issuperset(map(type, found)) else enumerate(found):
        if not isinstance(message, Message):
            raise InvalidTranscript(
                f"expected a Message, got {type(message).__name__}; {READ_WITH_PARSE}", f"[{index}]"
            )
    return found


def check_question(question: str) -> None:
    """Raise ConfigError unless a question is text."""
    if not isinstance(question, str):
        raise ConfigError(f"a question must be text, not a {type(question).__name__}")


def in_words(said: str) -> str:
    """What pydantic says is wrong with a value, in the wording of our errors: "it must be greater than 0"."""
    return _SHOULD.sub(r"it must \1", said.removeprefix("Value error, ").partition(" after validation")[0])


def meant(name: str, known: Iterable[str], otherwise: str) -> str:
    """A hint for a name that does not exist: similar names that do, or `otherwise` if there are none."""
    names = {one.casefold(): one for one in known}
    asked = name.casefold()
    near = [one for one in names if one.startswith(asked) or (len(asked) > 2 and asked in one)] or get_close_matches(
        asked, names, cutoff=LIKE
    )
    return f"perhaps {' or '.join(repr(names[one]) for one in near[:3])} is meant" if near else otherwise


def check_given(**given: tuple[object, bool, str]) -> None:
    """Raise ConfigError for the first argument that does not fit.

    For each argument, `given` has its value, whether that fits, and what to give.
    """
    for name, (value, fits, give) in given.items():
        if not fits:
            raise ConfigError(f"{name}={value!r}: give {give}")


def check_budget(budget: int | None) -> None:
    """Raise ConfigError unless it is None, or a whole number of tokens above 0 that a store can hold."""
    if budget is not None and (not isinstance(budget, int) or isinstance(budget, bool) or budget <= 0):
        raise ConfigError(f"budget is {budget!r}; it must be a whole number of tokens above 0")
    if budget is not None and budget > MAX_WHOLE:
        raise ConfigError(f"budget is over {MAX_WHOLE}; give a smaller one")


def check_whole(name: str, value: int, least: int = 0) -> None:
    """Raise ConfigError unless it is a whole number of at least `least` that a store can hold."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{name}={value!r}: give a whole number of {least} or more")
    if value > MAX_WHOLE:
        raise ConfigError(f"{name}={value}: give a number of at most {MAX_WHOLE}")


def check_number(name: str, value: float, least: float = -math.inf, most: float = math.inf) -> None:
    """Raise ConfigError unless it is a finite number from `least` to `most`."""
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST
    if not known or not least <= value <= most:
        within = f" from {least:g} to {most:g}" if most < math.inf else ""
        raise ConfigError(f"{name} is {value!r}; it must be a number{within}")
