"""The bodies of replies, as the OpenAPI document shows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from recollect.answers import FactOrigin, FactType
from recollect.store import JobState
from recollect.types import Role

Json: TypeAlias = dict[str, Any]


class Shown(BaseModel):
    """Something the service sends; fields may be added to it."""

    model_config = ConfigDict(extra="allow")


class ShownMessage(Shown):
    """A message as it is kept."""

    role: Role
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


class FoundEntry(ShownEntry):
    """A message and the session that holds it."""

    session: str


class FoundMessages(Shown):
    """The last messages that a filter lets through, in order; `before` asks for more, null if there is none."""

    items: list[ShownEntry]
    before: int | None


class Messages(FoundMessages):
    """A page of messages in order; `before` and `after` ask for the page on that side, null if there is none."""

    after: int | None


class Added(Shown):
    """The messages as kept, in the order sent."""

    items: list[ShownMessage]


class ShownSession(Shown):
    """One session at a glance; `title` is what its first message is tagged with, else the user's first words."""

    user: str
    session: str
    title: str
    messages: int
    tokens: int
    first: datetime | None
    last: datetime | None


class Sessions(Shown):
    """A page of sessions, the one written to last first; `before` asks for the next page, null if there is none."""

    items: list[ShownSession]
    before: int | None


class ShownHit(Shown):
    """Turns of one session under their date, and how well they match."""

    message_ids: list[str]
    text: str
    score: float
    at: datetime
    session: str


class Hits(Shown):
    """What was found, best first; `relevance`, from 0 to 1, says how near the best is to the question.

    `by_chance` says that nothing seems to have been said about it: a context would recall none of these.
    """

    items: list[ShownHit]
    relevance: float
    by_chance: bool


class ShownErased(Shown):
    """How much was erased, or would be.

    `records` are facts, summaries, documents and the like; `items` are what the index holds beside messages,
    such as parts of documents; `jobs` is background work that waited.
    """

    messages: int
    records: int
    items: int
    jobs: int


class Fault(Shown):
    """A part of a request, and what is wrong with it."""

    where: str
    problem: str


class Problem(Shown):
    """What went wrong, of which class, and what to do next (RFC 9457); of a request, with each of its faults."""

    type: str
    title: str
    status: int
    class_: str = Field(alias="class")
    detail: str
    next: str
    errors: list[Fault] = []


ERRORS: Final[dict[int | str, dict[str, Any]]] = {
    status: {"model": Problem, "description": says}
    for status, says in (("4XX", "The request can't be done as it is."), ("5XX", "The service can't do it now."))
}


class Health(Shown):
    """The state of the service."""

    status: str


class ShownLine(Shown):
    """What became of one candidate: its tokens, those shown in the prompt, and the rule that decided."""

    section: str
    text: str
    tokens: int
    shown: int
    kept: bool
    rule: str
    score: float
    sources: list[str]
    sessions: list[str]
    origin: str
    at: datetime | None


class ShownReceipt(Shown):
    """Where the tokens went: the tokens of each section, and a line for each candidate."""

    tokens: int
    overhead: int
    budget: int
    sections: dict[str, int]
    lines: list[ShownLine]


class ShownContext(Shown):
    """A prompt within its budget in OpenAI's shape (and in `request` in the shape asked for), with its receipt."""

    messages: list[Json]
    receipt: ShownReceipt
    settings: str
    request: Json | None = None


class ShownFact(Shown):
    """Something known of the user, since when, and the messages that say it, each with its session.

    `label` is the key in words; `origin` says whose words it is in. `span` is where the first source says it, in code
    points: in JavaScript `[...text].slice(span[0], span[1])`. `says` has the keys and values that the rules read in a
    note of another memory.
    """

    type: FactType
    key: str
    label: str
    value: str
    confidence: float
    at: datetime
    updated_at: datetime
    session: str
    sources: list[str]
    sessions: list[str]
    span: tuple[int, int]
    valid_from: datetime | None
    valid_to: datetime | None
    origin: FactOrigin
    says: list[tuple[str, str]]


class Facts(Shown):
    """Facts."""

    items: list[ShownFact]


class FactsPage(Facts):
    """A page of facts, oldest first; `after` asks for the next page, null if there is none."""

    after: str | None


class Remembered(Shown):
    """The fact as known from now on; null where it was ended."""

    item: ShownFact | None


class ShownMention(Shown):
    """Something the user keeps coming back to: in how many conversations, and the message that said it first."""

    text: str
    conversations: int
    source: str
    session: str


class ShownWorked(Shown):
    """A kind of answer that scored better than the others: both average scores, and how many answers each covers."""

    trait: str
    score: float
    answers: int
    others: float
    other_answers: int


class ShownPatterns(Shown):
    """How a user talks with the assistant. A claim without enough evidence is left empty.

    `hours` says for each hour of the day on how many days the user said something then; `active` is the busiest part
    of the day, from and to.
    """

    conversations: int
    turns: int
    turns_per_conversation: float
    answers: int
    answer_tokens: float
    questions: list[ShownMention]
    topics: list[ShownMention]
    hours: list[int]
    active: tuple[int, int] | None
    rhythm: str
    follow_ups: dict[str, int]
    length: str
    depth: str
    worked: list[ShownWorked]


class ShownDocument(Shown):
    """A document that can be quoted."""

    name: str
    chunks: int
    tokens: int
    at: datetime | None
    metadata: Json


class Documents(Shown):
    """A page of documents by name; `after` asks for the next page, null if there is none."""

    items: list[ShownDocument]
    after: str | None


class Passage(Shown):
    """A part of a document, the headings above it, and its score: the higher, the nearer to the question."""

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


class Excerpts(Shown):
    """Excerpts of what tools found."""

    items: list[ShownExcerpt]


class Text(Shown):
    """Words."""

    text: str


class ShownJob(Shown):
    """Work that waits, runs or was given up."""

    id: str
    kind: str
    state: JobState
    attempts: int
    error: str | None


class Jobs(Shown):
    """A page of jobs, oldest first; `after` asks for the next page, null if there is none."""

    items: list[ShownJob]
    after: int | None


class Taken(Shown):
    """How many things are new, by their kind, and how many were here already."""

    messages: int
    documents: int
    facts: int
    excerpts: int
    records: int
    items: int
    known: int


class Revived(Shown):
    """How many jobs wait again."""

    revived: int


class Completion(Shown):
    """An answer as OpenAI's clients read it."""

    choices: list[Json]


class OpenAIError(Shown):
    """What went wrong, as OpenAI's clients read it."""

    error: Json


class Model(Shown):
    """A model as OpenAI's clients read it."""

    id: str


class Models(Shown):
    """The models there are."""

    data: list[Json]


class ShownGoing(Shown):
    """What would be erased of a layer: how much, the time of the oldest, some of the ids."""

    layer: str
    count: int
    oldest: datetime | None
    sample: list[str]


class RetentionPlan(Shown):
    """What would be erased, as of when; `digest` identifies exactly that."""

    now: datetime
    digest: str
    going: list[ShownGoing]
