"""What memory returns: recalled messages, documents, excerpts and facts, as frozen plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import repeat
from typing import Any, Final, Literal, TypeAlias, get_args

from recollect.frozen import EMPTY
from recollect.types import check_fields, with_zone

Artifact: TypeAlias = Literal["summary", "facts", "tools"]
"""What is made of conversations."""
Kind: TypeAlias = Literal["turns", "summary", "facts", "tools"]
"""What can be searched for."""
UNDER: Final = " \u203a "
"""Stands between a document and its headings, from the outermost on."""


@dataclass(frozen=True, slots=True)
class Hit:
    """Something recalled: messages of one session in the order of time, under their date, and how well they match."""

    message_ids: tuple[str, ...]
    text: str
    score: float
    at: datetime
    session: str


class Recalled(list[Hit]):
    """Hits, best first. `relevance`, from 0 to 1, says how close the best message comes to the question.

    It is the cosine of the nearest message or, without a model, the largest share of the question's words in one.
    `by_chance` says that these hits probably have nothing to do with the question: a context would recall none.
    """

    def __init__(self, hits: Iterable[Hit] = (), relevance: float = 0.0, by_chance: bool = False) -> None:
        super().__init__(hits)
        self.relevance, self.by_chance = relevance, by_chance


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something a layer offers a context: its text, how well that fits the question, where it is from, and when.

    `origin` says who or what said it ("user", "conversation trip", "document guide.md", "web https://…"). `sources`
    are ids of messages, or of a document's chunk; `sessions` has the session of each message, if known. `out` is the
    rule by which the layer itself left it out, for the receipt; it is empty for what is really offered. `records` are
    the ids of the records it was read from: once one is erased, it must not be quoted again.
    """

    section: str
    text: str
    score: float = 0.0
    origin: str = ""
    sources: tuple[str, ...] = ()
    at: datetime | None = None
    out: str = ""
    sessions: tuple[str, ...] = ()
    records: tuple[str, ...] = field(default=(), compare=False)

    def cites(self, unknown: str) -> Iterator[tuple[str, str]]:
        """The session and the id of each message it is from; `unknown` takes the place of an unknown session."""
        return zip(self.sessions or repeat(unknown), self.sources, strict=False)


@dataclass(frozen=True, slots=True)
class Document:
    """A document that can be quoted: its name, how many chunks and tokens it has, and when it was last added."""

    name: str
    chunks: int
    tokens: int
    at: datetime | None = None
    hash: str = ""
    metadata: Mapping[str, Any] = EMPTY


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document that was found, the headings above it, and its score: the higher, the better it fits."""

    document: str
    headings: tuple[str, ...]
    text: str
    score: float
    id: str
    at: datetime | None = None

    @property
    def origin(self) -> str:
        """Where the passage is from, in words for a reader."""
        return UNDER.join((f"document {self.document}", *self.headings))


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A few words from a tool or a web page, their source, and when they were found there."""

    text: str
    source: str
    at: datetime | None = None

    def __post_init__(self) -> None:
        check_fields(self, "an excerpt", str, "text", "source")
        if self.at is not None:
            object.__setattr__(self, "at", with_zone(self.at))


FactType: TypeAlias = Literal["user_profile", "interest", "preference", "action_item", "sentiment"]
FACT_TYPES: Final[tuple[FactType, ...]] = get_args(FactType)
FactOrigin: TypeAlias = Literal["user", "note", "import"]
"""Whose words a fact is in: the user's, those of a model that noted it for them, or those of another memory."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something known about a user, and when it held: from `valid_from` until `valid_to`, if known.

    `at` is when it was first said, `updated_at` when last. `sources` are the messages that say it and `sessions` their
    sessions, in the same order; in the first one it is at `message.text[span[0]:span[1]]`. A plan is valid until the
    end of the day it is due. `origin` says whose words these are: "user" for everything the user said themselves.
    `says` has the keys and values that the rules read in a note of another memory, whose own key is only its id.
    """

    type: FactType
    key: str
    value: str
    confidence: float
    at: datetime
    updated_at: datetime
    session: str = ""
    sources: tuple[str, ...] = ()
    span: tuple[int, int] = (0, 0)
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    sessions: tuple[str, ...] = ()
    origin: FactOrigin = "user"
    says: tuple[tuple[str, str], ...] = ()
