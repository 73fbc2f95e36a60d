"""What a line of an import may be, as the OpenAPI document shows it and an export gives it."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from recollect.answers import FactType
from recollect.layers.archive import IN_SESSIONS, OWN
from recollect.server.given import Given, GivenDocument, GivenExcerpt, GivenMessage, Id, Json, Moment, Words
from recollect.types import Role


class MovedDocument(GivenDocument):
    """A document as another store has it: `added` is when it was added there."""

    added: Moment | None = None


class MovedExcerpt(GivenExcerpt):
    """An excerpt as another store has it: what was searched for, and when it was found there."""

    at: Moment
    found: Moment | None = None
    question: str = ""


class Statement(Given):
    """When a fact was stated, and by whom of several; of one key, the largest `order` is the newest.

    `then` is what holds instead of the value. `imported` is what came with a note of another memory, `says` the keys
    and values that the rules read in it. `apart` says that it is of "my younger sister", who may be another than the
    one whose name is known.
    """

    type: FactType
    at: Moment
    order: Moment
    session: str
    speaker: str = ""
    then: str = ""
    apart: bool = False
    imported: Json = Field(default_factory=dict)
    says: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = Field(default_factory=list)


class Stated(Statement):
    """What a fact says."""

    value: Words
    ended: Literal[False]


class Ended(Statement):
    """The end of what is known under a key."""

    value: str
    ended: Literal[True]


class Moved(Given):
    """What every record of another store has."""

    key: Id
    id: Id
    value: Any
    confidence: float | None = Field(default=None, ge=0, le=1)
    origin: str = ""
    trust: str = ""
    sources: list[Id] = Field(default_factory=list)
    valid_from: Moment | None = None
    valid_to: Moment | None = None


class MovedFact(Moved):
    """A fact that was stated in another store."""

    value: Stated | Ended


class MovedRecord(Moved):
    """A record that an adapter keeps; where a layer keeps records of that kind, it is refused."""

    kind: Annotated[Id, Field(json_schema_extra={"not": {"enum": [kind for kind in OWN if kind not in IN_SESSIONS]}})]


class MovedItem(Given):
    """What a record of an adapter is found by."""

    kind: Annotated[Id, Field(json_schema_extra={"not": {"enum": list(OWN)}})]
    id: Id
    text: str
    at: Moment | None = None
    role: Role | None = None
    metadata: Json = Field(default_factory=dict)
    sources: list[Id] = Field(default_factory=list)


class SessionLine(Given):
    """One thing in a session of a user, as `export` gives it."""

    user: Id
    session: Id


class MessageLine(SessionLine):
    """A message."""

    message: GivenMessage


class ExcerptLine(SessionLine):
    """An excerpt."""

    excerpt: MovedExcerpt


class Line(Given):
    """One thing of a user, or of one of the user's sessions."""

    user: Id
    session: Id | None = None


class DocumentLine(Line):
    """A document."""

    document: MovedDocument


class FactLine(Line):
    """A fact."""

    fact: MovedFact


class RecordLine(Line):
    """A record."""

    record: MovedRecord


class ItemLine(Line):
    """An item."""

    item: MovedItem


BY_KIND: Final[dict[str, type[Given]]] = {
    "message": MessageLine,
    "document": DocumentLine,
    "fact": FactLine,
    "excerpt": ExcerptLine,
    "record": RecordLine,
    "item": ItemLine,
}
