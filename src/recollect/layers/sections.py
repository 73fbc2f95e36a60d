"""Sections of a context that a program fills itself instead of a layer: from its wiki, its tickets, its own index."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from inspect import iscoroutinefunction
from itertools import islice
from typing import Any, Final, TypeAlias

from recollect.answers import Candidate, Excerpt
from recollect.errors import ConfigError
from recollect.flow.fence import SOURCED
from recollect.flow.fill import PRIORITY
from recollect.types import Scope

log = logging.getLogger("recollect")

ScopedSection: TypeAlias = Callable[[Scope, str], Iterable[Excerpt]]
"""A function that returns the excerpts of a section for a question, best first."""
MOST: Final = 100
"""How many excerpts of such a function are looked at."""


def check_sections(sections: Mapping[str, Any]) -> None:
    """Raise ConfigError unless these are plain functions under names of sections."""
    for name, fill in sections.items():
        if name not in PRIORITY:
            raise ConfigError(f"there is no section {name!r}; the sections are {', '.join(PRIORITY)}")
        if not callable(fill) or iscoroutinefunction(fill):
            raise ConfigError(f"the section {name!r} is {fill!r}; give a plain function of a session and a question")


def offered(section: str, fill: ScopedSection, scope: Scope, question: str) -> list[Candidate]:
    """What a section of the program's own offers; nothing, with a warning, if its function fails."""
    try:
        return [_candidate(section, n, one) for n, one in enumerate(islice(fill(scope, question), MOST))]
    except Exception as error:  # a program's own function may raise anything
        log.warning("the section %s stays empty this time, its function failed: %s", section, error)
        return []


def _candidate(section: str, place: int, found: object) -> Candidate:
    if not isinstance(found, Excerpt):
        raise ConfigError(f"it returned {found!r}; let it return Excerpt(text, source)")
    text = found.text if section in SOURCED else f"[{found.source}] {found.text}"
    return Candidate(section, text, 1 / (place + 1), found.source, at=found.at)
