"""Conversations from elsewhere: `read(path)` gives those of an export file, `recollect.backfill` keeps them.

It reads OpenAI-chat JSONL, the data exports of ChatGPT and Claude (the archive or its conversations.json), LangChain's
dumps, mem0's memories, and what `recollect export` writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from recollect.errors import ConfigError, InvalidTranscript
from recollect.imports import chatgpt, claude, langchain, mem0, openai, recollect
from recollect.imports.source import EMPTY, values
from recollect.imports.values import Imported, Note, Origin, Put, Read, Skipped, id_of

__all__ = ["FORMATS", "Imported", "Note", "Put", "Read", "Skipped", "detect", "read"]

FORMATS: Final[dict[str, ModuleType]] = {
    module.NAME: module for module in (recollect, chatgpt, claude, mem0, langchain, openai)
}
LOOKED_AT: Final = 20
"""How many values at the start of a file are examined to detect its format."""
JOINED: Final = 500
"""The most messages of one session that are put together if a file has one message on each line."""
_UNLIKE: Final = (ValueError, TypeError, AttributeError, LookupError, RecursionError)
"""What reading a value as a format may raise that it does not have."""


def detect(path: str | Path) -> str:
    """The name of a file's format; raises ConfigError, which says what was tried and why it did not fit."""
    found = list(islice(values(Path(path)), LOOKED_AT))
    reasons: dict[str, str] = {}
    for value in found:
        for name, module in FORMATS.items():
            problem = value.why if isinstance(value, Skipped) else _misfit(module, value.data)
            if not problem:
                return name
            reasons.setdefault(name, problem)
    whys = list(dict.fromkeys(reasons.values())) or [EMPTY]
    if whys == [EMPTY]:
        raise ConfigError(f"{path} is empty: give an export that has conversations in it")
    if all(isinstance(value, Skipped) for value in found):
        raise ConfigError(
            f"{path} can't be read ({whys[0]}): give an export as JSON, JSON lines or its archive, or convert it"
        )
    tried = whys if len(whys) == 1 else [f"{name}: {why}" for name, why in reasons.items()]
    told = "; ".join(tried)
    ways = "name it by format=… (--format on the command line), or convert the file"
    raise ConfigError(f"the format of {path} is not recognised ({told}); {ways}")


def _misfit(module: ModuleType, data: Any) -> str:
    try:
        return str(module.misfit(data))
    except _UNLIKE as error:
        return f"not as {module.NAME} writes it: {error}"


def read(path: str | Path, format: str | None = None) -> Iterator[Read]:
    """The conversations of an export file, one by one, and among them what could not be read, with the reason."""
    name = format or detect(path)
    if name not in FORMATS:
        raise ConfigError(f"format {name!r} is not one of {', '.join(FORMATS)}")
    return joined(_read(Path(path), FORMATS[name]))


def _read(path: Path, module: ModuleType) -> Iterator[Read]:
    origin = Origin(id_of(path.stem))
    for value in values(path):
        if isinstance(value, Skipped):
            yield value
            continue
        try:
            yield from (_checked(found, value.where) for found in list(module.read(value.data, origin)))
        except InvalidTranscript as error:
            yield Skipped(value.where, str(error))
        except KeyError as error:
            yield Skipped(value.where, f"not as {module.NAME} writes it: it has no {error}")
        except _UNLIKE as error:
            yield Skipped(value.where, f"not as {module.NAME} writes it: {error}")


def _checked(found: Read, where: str) -> Read:
    if isinstance(found, Imported) and not found.messages and not found.notes:
        return Skipped(where, "it has no messages")
    if isinstance(found, Skipped):
        return replace(found, where=f"{where}, {found.where}")
    return found if isinstance(found, Imported) else replace(found, where=where)


def joined(found: Iterable[Read]) -> Iterator[Read]:
    """The same, with consecutive pieces of one session put together."""
    last: Imported | None = None
    for item in found:
        if last and isinstance(item, Imported) and _continues(last, item):
            last = replace(last, messages=last.messages + item.messages, notes=last.notes + item.notes)
            continue
        if last:
            yield last
            last = None
        if isinstance(item, Imported):
            last = item
        else:
            yield item
    if last:
        yield last


def _continues(last: Imported, item: Imported) -> bool:
    same = (item.session, item.user) == (last.session, last.user)
    return same and len(last.messages) + len(last.notes) < JOINED
