"""The bodies of requests, as the OpenAPI document shows them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, WithJsonSchema

from recollect.answers import FactType, Kind
from recollect.flow.retain import Layer
from recollect.server.wire import MESSAGE
from recollect.session import MOST_DIGITS, as_written
from recollect.types import MAX_ID, Role

Id: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_ID, pattern="^[^\x00]+$")]
NoId: TypeAlias = Annotated[str, Field(max_length=MAX_ID, pattern="^[^\x00]*$")]
"""An id, or empty for none."""

BLANKS: Final = "".join(filter(str.isspace, map(chr, range(0x3001))))
"""What Python takes for white space, character by character: `\\s` differs between engines of regular expressions."""
Words: TypeAlias = Annotated[str, Field(min_length=1, pattern=f"[^{BLANKS}]")]


def _moment(value: Any) -> datetime:
    try:
        when = datetime.fromisoformat(value.upper())
    except (AttributeError, ValueError):
        raise ValueError(f"{value!r} is not a time: give one such as 2026-05-01T12:00:00Z") from None
    if when.tzinfo is None:
        raise ValueError(f"{value} has no zone: add Z or +02:00")
    try:
        when.astimezone(UTC)
    except OverflowError:  # in UTC its year would be 0 or 10000: take the first or last moment there is
        return (datetime.min if when.year == 1 else datetime.max).replace(tzinfo=UTC)
    return when


Moment: TypeAlias = Annotated[datetime, BeforeValidator(_moment)]
Json: TypeAlias = dict[str, Any]


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole: Final = BeforeValidator(_whole)
"""A whole number; in JSON 5.0 is one too."""
Count: TypeAlias = Annotated[int, Field(ge=0, le=2**53 - 1), Whole]
Place: TypeAlias = Annotated[Annotated[int, Field(ge=0, lt=10**MOST_DIGITS)] | Id, BeforeValidator(as_written)]
"""A message of a session in an address: its number, or its id."""
Limit: TypeAlias = Annotated[int, Field(ge=1, le=1_000)]
"""How many items of a list are returned at most."""
Few: TypeAlias = Annotated[int, Field(ge=0, le=1_000), Whole]
Budget: TypeAlias = Annotated[int, Field(ge=1, le=10_000_000), Whole]


class Given(BaseModel):
    """Something a caller sends; a field with a wrong name is an error, and not ignored."""

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

    id: NoId = ""
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


class Where(Given):
    """What must hold of a message to be found."""

    since: Moment | None = None
    before: Moment | None = None
    roles: list[Role] = []
    metadata: dict[str, str | bool | int | float | None] = {}


Shape: TypeAlias = Literal["openai", "openai-responses", "anthropic", "bedrock", "gemini"]


class Question(Given):
    """What to look for, where, and as of when."""

    question: str
    at: Moment | None = None
    scope: Literal["user", "session"] = "user"
    where: Where = Field(default_factory=Where)
    recency: float = Field(default=0.0, ge=0, le=1_000)


class RecallQuestion(Question):
    """What to recall, within how many tokens."""

    budget: Budget = 800
    k: Few | None = None


class SearchQuestion(Question):
    """What to search for, among what (turns, or what was learned from them), and how many hits to return."""

    k: Few = 10
    kind: Kind = "turns"


class ContextQuestion(Given):
    """What the context is for. Without a question it is the last user message kept: the form for agent loops."""

    question: str | None = None
    budget: Budget | None = None
    system: str | None = None
    at: Moment | None = None
    tools: list[Json] = []
    shape: Shape | None = None


class Replayed(Given):
    """A message of the user, by its number or its id, and what its context was built with, which is not stored."""

    message: Annotated[int, Field(ge=0, le=2**53 - 1), Whole] | Id
    budget: Budget | None = None
    system: str | None = None
    tools: list[Json] = []
    shape: Shape | None = None


class Forget(Given):
    """Which messages to erase; without ids, everything of the session, or of the user where no session is named."""

    ids: list[Id] | None = Field(default=None, max_length=10_000)


Days: TypeAlias = Annotated[float, Field(ge=0, le=1_000_000)]


class ByAge(Given):
    """Erase what is older than `days`."""

    layer: Layer
    days: Days


class ByCount(Given):
    """Erase all but the newest `count` of each user."""

    layer: Layer
    count: Count


class ByIdle(Given):
    """Erase whole sessions in which nothing was said for `idle` days."""

    layer: Literal["messages"]
    idle: Days


def _limit(policy: Any) -> str | None:
    """The name of the limit that a policy has, which tells its kind."""
    named = vars(policy) if isinstance(policy, Given) else policy if isinstance(policy, dict) else ()
    return next((f"[{name}]" for name in ("days", "count", "idle") if name in named), None)


GivenPolicy: TypeAlias = Annotated[
    Annotated[ByAge, Tag("[days]")] | Annotated[ByCount, Tag("[count]")] | Annotated[ByIdle, Tag("[idle]")],
    Discriminator(
        _limit, custom_error_type="no_limit", custom_error_message="it has no limit: give days, count or idle"
    ),
]


class Policies(Given):
    """Policies; what any one of them lets go is erased."""

    policies: list[GivenPolicy] = Field(min_length=1, max_length=50)


class PlannedPolicies(Policies):
    """The policies of a preview, with its time and its digest."""

    now: Moment
    digest: str


class GivenFact(Given):
    """A fact as the user states it; null ends what was known under that key."""

    key: Id
    value: Annotated[Words, Field(max_length=10_000)] | None
    type: FactType = "user_profile"


class GivenDocument(Given):
    """A document's text (Markdown, HTML or plain) under its name."""

    name: Id
    text: Words
    metadata: Json = {}
    at: Moment | None = None


class DocumentQuestion(Given):
    """What to look for, and how much of it at most."""

    question: str
    k: Few = 5


class Tags(Given):
    """Metadata to set on a message, beside what it has; null removes a key. A `score` is from 0 to 10."""

    metadata: Json


class GivenExcerpt(Given):
    """A short excerpt of what a tool found, its source (an address, a tool's name) and when it was found."""

    text: Words
    source: Id
    at: Moment | None = None


class Said(Given):
    """What the user says; `debug` asks for comment lines on what went into the prompt, `context` for all of it."""

    message: Words
    system: str | None = None
    budget: Budget | None = None
    debug: bool = False
    context: bool = False


class CompletionRequest(BaseModel):
    """A request as OpenAI's clients send it; what is not named here is passed on untouched."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    model: str = ""
    messages: list[Annotated[Json, WithJsonSchema(MESSAGE)]] = Field(min_length=1)
    stream: bool | None = False
    user: NoId | None = None
    tools: list[Json] | None = None
