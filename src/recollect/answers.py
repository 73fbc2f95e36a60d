"""What memory answers with: what was recalled, documents, excerpts and facts. All frozen, all plain data."""

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
    """Hits, best first. `relevance`, from 0 to 1, says how near the best message is to the question, if any is.

    It is the cosine of the nearest message or, without a model, the share of the question's words that one holds.
    `by_chance` says that nothing was said about it, as far as can be told: a context would recall none of these.
    """

    def __init__(self, hits: Iterable[Hit] = (), relevance: float = 0.0, by_chance: bool = False) -> None:
        super().__init__(hits)
        self.relevance, self.by_chance = relevance, by_chance


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something a layer offers a context: its text, how well that fits the question, and where and when it comes from.

    `origin` says who or what said it ("user", "conversation trip", "document guide.md", "web https://…"). `sources`
    are ids of messages, or of a document's chunk; `sessions` has the session of each message, where that is known.
    `out` is the rule by which the layer itself left it out, for the receipt; empty means that it is offered.
    `records` are the ids of the records it was read from: once one is erased, it must not be quoted again.
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
        """The session and the id of each message it is from; `unknown` stands for a session that is not known."""
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
    """A part of a document that was found, the headings above it, and its score: the higher, the nearer."""

    document: str
    headings: tuple[str, ...]
    text: str
    score: float
    id: str
    at: datetime | None = None

    @property
    def origin(self) -> str:
        """Where it stands, as a reader would say it."""
        return UNDER.join((f"document {self.document}", *self.headings))


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A few words of a tool or a web page, where they are from, and when they were found there."""

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
    """Something known of a user, and when it held: from `valid_from` until `valid_to`, where that is known.

    `at` is when it was first said, `updated_at` when last; `sources` are the messages that say it, each in the session
    that `sessions` has at its place, and `message.text[span[0]:span[1]]` of the first one is where. Something due is
    valid until the end of that day. `origin` says whose words it is in: what the user said too is the user's.
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
