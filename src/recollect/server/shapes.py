"""The bodies of requests and replies, as the OpenAPI document shows them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from recollect.types import MAX_ID

Id: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_ID, pattern="^[^\x00]+$")]


def _moment(value: Any) -> datetime:
    if not isinstance(value, str):
        raise ValueError("give a time as text, such as 2026-05-01T12:00:00Z")
    try:
        when = datetime.fromisoformat(value.upper())
        return when.astimezone(UTC) if when.tzinfo else _without_zone(value)
    except OverflowError:
        raise ValueError(f"{value} is before the year 1 or after 9999 in UTC") from None


def _without_zone(value: str) -> datetime:
    raise ValueError(f"{value} has no zone: add Z or +02:00")


Moment: TypeAlias = Annotated[datetime, BeforeValidator(_moment)]
Json: TypeAlias = dict[str, Any]


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole: Final = BeforeValidator(_whole)
"""A whole number; in JSON 5.0 is one too."""
Count: TypeAlias = Annotated[int, Field(ge=0, le=2**53 - 1), Whole]
Few: TypeAlias = Annotated[int, Field(ge=0, le=1_000), Whole]
Budget: TypeAlias = Annotated[int, Field(ge=1, le=10_000_000), Whole]


class Given(BaseModel):
    """Something a caller sends; a field with a wrong name is an error, not a wish unheard."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class TextPart(Given):
    """Words."""

    type: Literal["text"]
    text: str
    extra: Json = {}


class ImagePart(Given):
    """A picture, by address or as base64 data."""

    type: Literal["image"]
    url: str | None = None
    data: str | None = None
    media_type: str | None = None
    detail: str | None = None
    width: Count | None = None
    height: Count | None = None
    extra: Json = {}


class ToolCallPart(Given):
    """The model asks for a tool; `arguments` is JSON text as the model wrote it."""

    type: Literal["tool_call"]
    id: str
    name: str
    arguments: str = "{}"
    extra: Json = {}


class OpaquePart(Given):
    """A part only its own provider understands."""

    type: Literal["opaque"]
    shape: str
    data: Json


class ThinkingPart(Given):
    """The model's reasoning with its provider's signature."""

    type: Literal["thinking"]
    text: str = ""
    signature: str | None = None
    redacted: str | None = None
    extra: Json = {}


Word: TypeAlias = Annotated[TextPart | ImagePart | OpaquePart, Field(discriminator="type")]


class ToolResultPart(Given):
    """What a tool answered to the call of that id."""

    type: Literal["tool_result"]
    call_id: str
    content: str | list[Word] = ""
    is_error: bool = False
    name: str | None = None
    extra: Json = {}


Spoken: TypeAlias = Annotated[
    TextPart | ImagePart | OpaquePart | ToolCallPart | ThinkingPart, Field(discriminator="type")
]
Result: TypeAlias = Annotated[TextPart | ImagePart | OpaquePart | ToolResultPart, Field(discriminator="type")]


class Fields(Given):
    """What every message has: an id makes sending it again harmless, `at` is when it happened."""

    id: Id | Literal[""] = ""
    at: Moment | None = None
    received: Moment | None = None
    name: str | None = None
    metadata: Json = {}
    shape: str | None = None
    extra: Json = {}


class FromPerson(Fields):
    """A message of a person, or the system's text."""

    role: Literal["user", "system"]
    content: str | list[Word] = ""


class FromModel(Fields):
    """A message of the model, with the tools it calls."""

    role: Literal["assistant"]
    content: str | list[Spoken] = ""


class FromTool(Fields):
    """What tools answered."""

    role: Literal["tool"]
    content: str | list[Result] = ""


GivenMessage: TypeAlias = Annotated[FromPerson | FromModel | FromTool, Field(discriminator="role")]


class Batch(Given):
    """Messages to keep, whole or not at all."""

    messages: list[GivenMessage] = Field(min_length=1, max_length=10_000)


class Line(Given):
    """A message in one session of a user, as `export` gives it."""

    user: Id
    session: Id
    message: GivenMessage


class Where(Given):
    """What must hold of a turn to be found."""

    since: Moment | None = None
    before: Moment | None = None
    roles: list[Literal["system", "user", "assistant", "tool"]] = []
    metadata: dict[str, str | bool | int | float | None] = {}


class Question(Given):
    """What to look for, where, and as of when."""

    question: str
    at: Moment | None = None
    scope: Literal["user", "session"] = "user"
    where: Where = Where()
    recency: float = Field(default=0.0, ge=0, le=1_000)


class RecallQuestion(Question):
    """What to recall, within how many tokens."""

    budget: Budget = 800
    k: Few | None = None


class SearchQuestion(Question):
    """What to search, and how many turns to give back."""

    k: Few = 10


class ContextQuestion(Given):
    """What the context is for. Without a question it is the last user message kept: the form for agent loops."""

    question: str | None = None
    budget: Budget | None = None
    system: str | None = None
    at: Moment | None = None
    tools: list[Json] = []
    shape: Literal["openai", "openai-responses", "anthropic", "bedrock", "gemini"] | None = None


class Forget(Given):
    """Which messages to erase; without ids, everything of the session, or of the user where no session is named."""

    ids: list[Id] | None = Field(default=None, max_length=10_000)


class Shown(BaseModel):
    """Something the service sends; fields may be added to it."""

    model_config = ConfigDict(extra="allow")


class ShownMessage(Shown):
    """A message as it is kept."""

    role: Literal["system", "user", "assistant", "tool"]
    id: str
    at: datetime
    received: datetime
    content: str | list[Json] = ""
    name: str | None = None
    metadata: Json = {}


class ShownEntry(Shown):
    """A message with its number in the session (from 1) and its tokens."""

    seq: int
    tokens: int
    message: ShownMessage


class Messages(Shown):
    """A page of messages in order. `earlier` and `later` say whether there are more on either side."""

    items: list[ShownEntry]
    earlier: bool
    later: bool


class Added(Shown):
    """The messages as kept, in the order sent."""

    items: list[ShownMessage]


class ShownSession(Shown):
    """One session at a glance."""

    user: str
    session: str
    messages: int
    tokens: int
    first: datetime | None
    last: datetime | None


class Sessions(Shown):
    """A page of sessions, the one written to last first; `next` is the `before` of the next page."""

    items: list[ShownSession]
    next: int | None


class ShownHit(Shown):
    """Turns of one session under their date, and how well they match."""

    message_ids: list[str]
    text: str
    score: float
    at: datetime
    session: str


class Hits(Shown):
    """What was found, best first; `relevance`, from 0 to 1, tells how near the best is."""

    items: list[ShownHit]
    relevance: float


class ShownErased(Shown):
    """How much is gone, or would be."""

    messages: int
    records: int
    items: int
    jobs: int


class Problem(Shown):
    """What went wrong, of which class, and what to do next (RFC 9457)."""

    type: str
    title: str
    status: int
    class_: str = Field(alias="class")
    detail: str
    next: str


class Health(Shown):
    """Whether it runs."""

    status: str


class GivenFact(Given):
    """A fact as the user states it; null ends what was known under that key."""

    key: Id
    value: Annotated[str, Field(min_length=1, max_length=10_000)] | None
    type: Literal["user_profile", "interest", "preference", "action_item", "sentiment"] = "user_profile"


class GivenDocument(Given):
    """A document's text (Markdown, HTML or plain) under its name."""

    name: Id
    text: str = Field(min_length=1, pattern=r"\S")
    metadata: Json = {}
    at: Moment | None = None


class DocumentQuestion(Given):
    """What to look for in the documents."""

    question: str
    k: Few = 5


class GivenExcerpt(Given):
    """A short excerpt of what a tool found, its source (an address, a tool's name) and when it was found."""

    text: str = Field(min_length=1)
    source: Id
    at: Moment | None = None


class ShownReceipt(Shown):
    """Where the tokens went: each candidate with its tokens, those shown, its score and the rule that decided."""

    tokens: int
    overhead: int
    budget: int
    sections: dict[str, int]
    lines: list[Json]


class ShownContext(Shown):
    """A prompt within its budget in OpenAI's shape (and in `request` in the shape asked for), with its receipt."""

    messages: list[Json]
    receipt: ShownReceipt
    settings: str
    request: Json | None = None


class ShownFact(Shown):
    """Something known of the user, since when, and the messages that say it."""

    type: Literal["user_profile", "interest", "preference", "action_item", "sentiment"]
    key: str
    value: str
    confidence: float
    at: datetime
    updated_at: datetime
    session: str
    sources: list[str]
    valid_from: datetime | None
    valid_to: datetime | None


class Facts(Shown):
    """Facts."""

    items: list[ShownFact]


class Remembered(Shown):
    """The fact as known from now on; null where it was ended."""

    item: ShownFact | None


class ShownDocument(Shown):
    """A document that can be quoted."""

    name: str
    chunks: int
    tokens: int
    at: datetime | None
    metadata: Json


class Documents(Shown):
    """Documents by name."""

    items: list[ShownDocument]


class Passage(Shown):
    """A part of a document, the headings above it, and how near it is to the question."""

    document: str
    headings: list[str]
    text: str
    score: float
    id: str


class Passages(Shown):
    """Passages, best first."""

    items: list[Passage]


class ShownExcerpt(Shown):
    """What a tool found, and where."""

    text: str
    source: str
    at: datetime | None


class Text(Shown):
    """Words."""

    text: str


class ShownJob(Shown):
    """Work that waits, runs or was given up."""

    id: str
    kind: str
    state: Literal["waiting", "running", "dead"]
    attempts: int
    error: str | None


class Jobs(Shown):
    """Jobs, oldest first."""

    items: list[ShownJob]


class Taken(Shown):
    """How many messages were taken in."""

    messages: int


class Revived(Shown):
    """How many jobs wait again."""

    revived: int


class Said(Given):
    """What the user says; `debug` asks for comment lines on what went into the prompt."""

    message: str = Field(min_length=1)
    system: str | None = None
    budget: Budget | None = None
    debug: bool = False


class CompletionRequest(BaseModel):
    """A request as OpenAI's clients send it; what is not named here is passed on untouched."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    model: str = ""
    messages: list[Json] = Field(min_length=1)
    stream: bool | None = False
    user: str | None = None
    tools: list[Json] | None = None


class Completion(Shown):
    """An answer as OpenAI's clients read it."""

    choices: list[Json]


class OpenAIError(Shown):
    """What went wrong, as OpenAI's clients read it."""

    error: Json


class Models(Shown):
    """The models there are."""

    data: list[Json]
