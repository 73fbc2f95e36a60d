"""A session: one conversation of a user, and what memory does for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Final, TypeAlias

from recollect import store
from recollect.answers import Excerpt
from recollect.arguments import as_message, check_budget, check_given, check_number, check_whole, messages_only
from recollect.controller import ContextRequest
from recollect.errors import ConfigError, NotFound
from recollect.flow.context import Context
from recollect.flow.fence import without_memory
from recollect.flow.title import title
from recollect.frozen import FrozenDict, freeze_dict
from recollect.layers.procedural import recount
from recollect.layers.tools import Tools
from recollect.layers.windows import lasting, lasts, repin
from recollect.store import ANY, Entry, Filter
from recollect.store.checks import check_count
from recollect.store.values import item_of
from recollect.tokens import count_message
from recollect.traces import span
from recollect.types import Message, Part, Role, Scope, check_id, with_zone
from recollect.user import User, checked_filter

Excerpts: TypeAlias = list[Excerpt]
Counted: TypeAlias = list[tuple[Message, int]]
"""Messages, each with its tokens."""

PAGE: Final = 1_000
"""How many messages are read at a time while looking for those that pass a filter."""
OPENING: Final = 5
"""How many messages at the start of a session are searched for its user's first words."""
TITLED: Final = 100
"""How many sessions' first messages are read at a time; few, because a message may hold pictures."""
MOST_DIGITS: Final = 15
"""The most digits that a message's number has. Anything longer is an id: some services use digits for those."""
_DIGITS: Final = re.compile(f"((?:id:)*)[0-9]{{1,{MOST_DIGITS}}}")


@dataclass(frozen=True, slots=True)
class ToolsOf:
    """What tools and searches brought into a session."""

    layer: Tools = field(repr=False)
    scope: Scope
    clock: Callable[[], datetime] = field(repr=False)

    def add(self, excerpt: str, source: str, at: datetime | None = None) -> Excerpt:
        """Keep an excerpt until it expires, and return it; `source` says where it is from."""
        return self.layer.add(self.scope, excerpt, source, self.clock() if at is None else with_zone(at))

    def list(self) -> Excerpts:
        """The session's excerpts that have not expired, in the order in which they were added."""
        return self.layer.kept(self.scope, self.clock())

    def search(self, question: str, k: int = 5) -> Excerpts:
        """The `k` excerpts that match a question best, best first."""
        return self.layer.find(self.scope, question, self.clock(), k)


@dataclass(frozen=True, slots=True)
class Session(User):
    """One conversation: what is added here is remembered for its user."""

    def add(self, /, message: Message | Role, content: str | Sequence[Part] = "", **fields: Any) -> Message:
        """Keep a message, given whole or by role and content; returns it with its id and times set.

        Recalled memory inside it, as in a prompt that was sent to a model, is not kept a second time.
        """
        given = as_message(message, content, fields)
        return next(iter(self.add_many([given])), given)

    def add_many(self, messages: Iterable[Message]) -> tuple[Message, ...]:
        """Keep a batch, all of it or none. It can be found by its words at once, and by its meaning within seconds."""
        return add_counted(self, counted(self, messages))

    def add_turn(
        self, user: str, assistant: str, *, score: float | None = None, metadata: Mapping[str, Any] | None = None
    ) -> tuple[Message, ...]:
        """Keep a question with its answer; `score` says how good the answer was, from 0 to 10."""
        noted = dict(freeze_dict(metadata, "metadata"))
        if score is not None:
            check_number("score", score, 0, 10)
            noted["score"] = score
        return self.add_many([Message("user", user), Message("assistant", assistant, metadata=FrozenDict(noted))])

    def context(
        self,
        question: str | Message | None = None,
        budget: int | None = None,
        *,
        system: str | None = None,
        at: datetime | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Context:
        """The best prompt for a question within `budget` tokens: the newest turns, what memory recalls, the question.

        Building it keeps nothing: `add` the question and the answer yourself. Without a question, the prompt is for the
        last user message that was added, as in an agent's loop, and the tool calls and results after that message stay
        after it. `system` comes first; `tools` are the schemas that are sent with the request. Raises BudgetTooSmall
        if what must be in the prompt does not fit.
        """
        return self.memory.controller.context(self.scope, self._request(question, budget, system, at, tools))

    def replay(
        self,
        at: int | str,
        budget: int | None = None,
        *,
        system: str | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Context:
        """The context as it was built for an earlier user message, from what was known at that time.

        `at` is the number or the id of that message. The budget, the system text and the tools of that time are not
        stored: pass them again.
        """
        request = self._request(None, budget, system, None, tools)
        return self.memory.controller.replay(self.scope, request, number_of(self, "at", at))

    def _request(
        self,
        question: str | Message | None,
        budget: int | None,
        system: str | None,
        at: datetime | None,
        tools: Sequence[Mapping[str, Any]],
    ) -> ContextRequest:
        memory = self.memory
        check_budget(budget)
        tokens = memory.settings.budget if budget is None else budget
        check_given(system=(system, isinstance(system, str | None), "text"))
        when = None if at is None else with_zone(at)
        asked = Message("user", question) if isinstance(question, str) else question
        if not (asked is None or (isinstance(asked, Message) and asked.role == "user")):
            raise ConfigError("a question is text or a user's Message")
        if asked and when:
            asked = asked.replace(at=when)
        first = Message("system", system) if system else None
        return ContextRequest(asked, when or memory.clock(), tokens, first, tools)

    def history(
        self, limit: int | None = None, before: int | str | None = None, *, where: Filter = ANY
    ) -> tuple[Message, ...]:
        """The last `limit` messages in order, or all of them.

        With `before`, the number (from 1) or id of a message, only those in front of it. `where` filters by time, role
        and metadata.
        """
        return tuple(entry.message for entry in entries_of(self, limit, before, where))

    def tag(self, id: str, /, **metadata: Any) -> Message:
        """Set metadata on a message of this session, such as a `score` given later; None removes a tag."""
        if metadata.get("score") is not None:
            check_number("score", metadata["score"], 0, 10)
        (entry,) = tag_many(self, {check_id(id, "the id of a message"): metadata})
        return entry.message

    @property
    def tools(self) -> ToolsOf:
        """What tools said in this session: `add` an excerpt with its source, `list`, `search`."""
        return ToolsOf(self.memory.layers.tools, self.scope, self.memory.clock)

    def summary(self) -> str:
        """What was said in this session, in a few hundred tokens of its own sentences."""
        return self.memory.layers.summary.text(self.scope)

    def title(self) -> str:
        """The session's title: the `title` tag of its first message, else the user's first words."""
        return titles(self.memory.store.log, [self.scope])[self.scope]

    def stats(self) -> store.SessionStats | None:
        """An overview of the session; None where nothing was said yet."""
        return next(iter(self.memory.store.log.sessions(self.scope, limit=1)), None)


def titles(log: store.Log, sessions: Sequence[Scope]) -> dict[Scope, str]:
    """The title of each of these sessions of one tenant."""
    found = dict.fromkeys(sessions, "")
    for most in (1, OPENING):
        wanted = [scope for scope, known in found.items() if not known]
        for start in range(0, len(wanted), TITLED):
            some = wanted[start : start + TITLED]
            for scope, entries in zip(some, log.openings(some, most), strict=True):
                found[scope] = title([entry.message for entry in entries])
    return found


def tag_many(session: Session, tags: Mapping[str, Mapping[str, Any]]) -> list[Entry]:
    """Set metadata on messages by their ids, on all or none; returns their entries. Scores are not checked here."""
    store, scope = session.memory.store, session.scope
    names = {name for given in tags.values() for name in given}
    with span("update_memory", scope, records=len(tags)), store.transaction(scope):
        entries = [store.log.tag(scope, id, freeze_dict(given, "metadata")) for id, given in tags.items()]
        store.records.put(scope, lasting(entries))
        if "pinned" in names:
            repin(store, scope)
        recount(store, scope, [entry.position for entry in entries if "score" in tags[entry.message.id]])
    session.memory.controller.tagged(scope, names)
    return entries


def counted(session: Session, messages: Iterable[Message]) -> Counted:
    """The messages as they are kept, with their tokens. Counting may ask a server: do it outside a transaction."""
    kept = [said for message in messages_only(messages) if (said := without_memory(message))]
    return [(message, count_message(message, session.memory.counter)) for message in kept]


def add_counted(session: Session, batch: Counted) -> tuple[Message, ...]:
    """Keep a batch, all of it or none, as `add_many` does."""
    memory, scope, messages = session.memory, session.scope, [message for message, _ in batch]
    together = memory.store.transaction() if any(map(lasts, messages)) else nullcontext()
    with span("create_memory", scope, records=len(batch)), together:
        entries = memory.store.log.append(scope, messages, tokens=[tokens for _, tokens in batch], jobs=memory.jobs)
        memory.store.records.put(scope, lasting(entries))
    memory.added(scope, len(entries))
    memory.controller.watch.answered(scope, messages)
    return tuple(entry.message for entry in entries)


def add_answers(session: Session, question: str, answers: Iterable[Message]) -> tuple[Message, ...]:
    """Keep what a model said to the message with that id; nothing where that was erased while the model thought."""
    store, batch = session.memory.store, counted(session, answers)
    with store.transaction(session.scope):
        return add_counted(session, batch) if store.log.get(session.scope, [question]) else ()


def as_written(message: str) -> int | str:
    """The number or id that a command line or a URL names: "12" is the number 12, "id:12" the id "12"."""
    digits = _DIGITS.fullmatch(message)
    return message if digits is None else message.removeprefix("id:") if digits[1] else int(message)


def number_of(session: Session, name: str, given: int | str, least: int = 0) -> int:
    """The number of the message that `given` names, by number or by id; errors call the argument `name`."""
    if isinstance(given, str):
        found = session.memory.store.log.get(session.scope, [check_id(given, name)])
        if not found:
            raise NotFound(f"no message {given!r} in session {session.scope.session!r}")
        return found[0].seq
    check_whole(name, given, least)
    return given


def entries_of(session: Session, limit: int | None, before: int | str | None, where: Filter = ANY) -> list[Entry]:
    """The entries behind `Session.history`: each message with its number and its tokens."""
    check_count("limit", limit)
    until = None if before is None else number_of(session, "before", before, 1) - 1
    if checked_filter(where) == ANY:
        entries = session.memory.store.log.read(session.scope, until=until, limit=limit, reverse=True)
    else:
        found = _newest(session, until)
        passing = (one for one in found if where.passes(item_of(one.message, one.scope, one.position)))
        entries = list(islice(passing, limit))
    return entries[::-1]


def _newest(session: Session, until: int | None) -> Iterator[Entry]:
    """The messages up to number `until`, newest first."""
    while page := session.memory.store.log.read(session.scope, until=until, limit=PAGE, reverse=True):
        yield from page
        until = page[-1].seq - 1
