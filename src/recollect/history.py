"""The message list that a framework or client passes with each model call, and the session that keeps it.

Some callers pass the whole conversation every time, others only what is new. Either way each message is kept once, in
order, and the model gets the session's context. If the caller changed the history (removed, edited or summarised
something), that history itself is fitted into the budget instead, so that what was removed stays out.

`flow.align` finds what is new. A caller here is one running agent, so the newest part of the log stays in memory from
call to call; `server.keeping` serves requests that know nothing of each other.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, TypeVar

from recollect.arguments import check_budget, check_given
from recollect.errors import BudgetTooSmall, ContextOverflow
from recollect.flow.align import compare, says, spoken
from recollect.flow.limits import Limits
from recollect.flow.room import beside, fitted
from recollect.flow.shorten import acceptable
from recollect.flow.turns import answerable, called, last_asked
from recollect.flow.window import Window
from recollect.layers.answer import Attempts, less
from recollect.llm.overflow import detect
from recollect.memory import Memory
from recollect.recent import Recent
from recollect.session import Session, add_answers
from recollect.store import Entry
from recollect.tokens import REPLY_TOKENS, count_message, count_tools
from recollect.types import Message, check_id

R = TypeVar("R")
T = TypeVar("T")

KNOWN: Final = 2_000
"""At least this many of a session's newest messages are compared with a given history; more if that is long."""
KEPT_HISTORIES: Final = 256


@dataclass(frozen=True, slots=True)
class Sent:
    """A message as it goes to the model, and its index in the given history; None if only the log had it.

    `changed` says that it differs from what was given: it was shortened, or has memory in front of it.
    """

    message: Message
    place: int | None
    changed: bool = False


class Asked(NamedTuple):
    """What to send, and what is to be answered.

    The answer `follows` the last kept message of what was given, named by its id; None if none of that is kept. `again`
    says that all of it was known, and more was said since: its question is asked again.
    """

    sent: list[Sent]
    follows: str | None
    again: bool


@dataclass(slots=True, eq=False)
class History:
    """The history of one session, within `budget` tokens, or within the budget of the settings.

    `whole` says that the caller always passes all of it. Otherwise what it leaves out is taken from the log.
    """

    session: Session
    budget: int | None = None
    whole: bool = False
    _log: list[Entry] = field(default_factory=list)  # the session's newest entries
    _count: int = 0  # how many messages the session has
    _window: Window | None = None  # the window over a changed history
    _taken: list[Message] = field(default_factory=list)  # the messages that window was given
    _memory: tuple[str, str] = ("", "")  # the id of the last question, and what memory had for it
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def prompt(
        self,
        given: Sequence[Message],
        tools: Sequence[Mapping[str, Any]] = (),
        most: int | None = None,
        *,
        keep: bool = True,
    ) -> list[Sent]:
        """Keep what is new; returns what to send: the given system texts, what fits of the rest, and memory.

        With `keep=False` nothing is kept: what was kept before may have been erased since.
        """
        return self.asked(given, tools, most, keep=keep).sent

    def asked(
        self,
        given: Sequence[Message],
        tools: Sequence[Mapping[str, Any]] = (),
        most: int | None = None,
        *,
        keep: bool = True,
    ) -> Asked:
        """As `prompt`; also returns what is to be answered."""
        with self._lock:
            system = [Sent(message, place) for place, message in enumerate(given) if message.role == "system"]
            lines, again = self._lines(given, keep)
            budget = most or self.budget or self.session.memory.settings.budget
            with beside([line.message for line in system], self._tokens, budget) as room:
                kept = (entry.message for entry in self._log)
                if _spoken_ids(line.message for line in lines) == _spoken_ids(kept):
                    prompt = self.session.context(None, room, tools=tools).prompt
                    shown = [one for one in prompt if one.role != "system" or not (system or self.whole)]
                else:
                    shown = self._fitted(lines, room, REPLY_TOKENS + count_tools(tools, self.session.memory.counter))
            known = {line.message.id: line for line in lines}
            there = {entry.message.id for entry in self._log}
            last = next((line.message.id for line in reversed(lines) if line.message.id in there), None)
            return Asked([*system, *(_sent(message, known.get(message.id)) for message in shown)], last, again)

    def counted(self, sent: Sequence[Sent], tools: Sequence[Mapping[str, Any]]) -> int:
        """How many tokens a prompt takes together with its tools."""
        said = sum(self._tokens(line.message) for line in sent)
        return said + REPLY_TOKENS + count_tools(tools, self.session.memory.counter)

    def _lines(self, given: Sequence[Message], keep: bool) -> tuple[list[Sent], bool]:
        """Keep what is new; returns the conversation under the ids of the log, and whether it was answered before.

        The conversation is without system texts and without memory from earlier prompts.
        """
        said = spoken(given)
        self._refresh(len(said))
        found = compare([entry.message for entry in self._log], [message for _, message in said if says(message)])
        left_out = (message.replace(id=f"left out {n}") for n, message in enumerate(found.new))
        kept = iter(zip(found.places, found.kept(self.session.add_many(found.new) if keep else left_out), strict=True))
        self._refresh(len(said))
        places, lines = list[int | None](), list[Sent]()
        for n, (place, message) in enumerate(said):  # a message that is not kept gets an id that no entry has
            at, own = next(kept) if says(message) else (None, message.replace(id=f"not kept {n}"))
            places.append(at)
            lines.append(Sent(message.replace(id=own.id), place, message.content != given[place].content))
        return [*(Sent(message, None) for message in self._past(found.known, places)), *lines], found.again

    def _past(self, known: Sequence[Message], places: Sequence[int | None]) -> Sequence[Message]:
        """What the log has before the first given message; nothing if the caller changed the history."""
        found = [place for place in places if place is not None]
        changed = found and found[0] != places[0]
        return () if self.whole or changed else known[: min(found, default=len(known))]

    def _refresh(self, given: int) -> None:
        """Read what was added to the log. If something was erased or more of it is needed, read it again as a whole."""
        log, scope = self.session.memory.store.log, self.session.scope
        new = log.read(scope, after=self._log[-1].seq) if self._log else []
        self._log, self._count = [*self._log, *new], self._count + len(new)
        stats = self.session.stats()
        there = stats.messages if stats else 0
        wanted = max(KNOWN, 2 * given)
        if there != self._count or len(self._log) < min(wanted, there):
            self._log, self._count = log.read(scope, limit=wanted, reverse=True)[::-1], there

    def _tokens(self, message: Message) -> int:
        return count_message(message, self.session.memory.counter)

    def _fitted(self, lines: Sequence[Sent], room: int, overhead: int) -> list[Message]:
        """A changed history in a window of its own, with memory in front of its question if there is room."""
        messages = list(called([line.message for line in lines]))
        asked = last_asked(messages)
        memory = self._remembered(asked, room) if asked else ""
        return fitted(memory, room, self._tokens, lambda limits: self._running(messages, limits, overhead))

    def _running(self, messages: list[Message], limits: Limits, overhead: int) -> list[Message]:
        """What the running window shows. A new window is begun if the messages no longer continue the last ones."""
        window, taken = self._window, self._taken
        if window is None or (window.limits, window.overhead) != (limits, overhead) or messages[: len(taken)] != taken:
            self._window, self._taken = window, taken = Window(self._tokens, limits, overhead), []
        for message in messages[len(taken) :]:
            window.append(message)
            taken.append(message)
        return list(answerable(window.messages))

    def _remembered(self, question: Message, room: int) -> str:
        """What memory has for a question; it is looked up once for each question."""
        if self._memory[0] != question.id:
            last = next((e.message.id for e in reversed(self._log) if e.message.role == "user"), "")
            try:
                asked = None if question.id == last else question.replace(id="")
                self._memory = question.id, self.session.context(asked, room).memory
            except BudgetTooSmall:
                self._memory = question.id, ""
        return self._memory[1]


@dataclass(slots=True, eq=False)
class Asking(Generic[R]):
    """A call of a model with a history; `made` turns what is to be sent into the caller's request.

    If the model says that its context overflowed, it is asked again with less; if it refuses the request, without blank
    texts, and without pictures, files and thinking from before the question. All of those stay in the log.
    """

    history: History
    given: Sequence[Message]
    tools: Sequence[Mapping[str, Any]]
    made: Callable[[Sequence[Sent]], R]
    _asked: Asked = field(init=False)
    _attempts: Attempts[Sent] = field(init=False)

    def ask(self, model: Callable[[R], T]) -> T:
        """Ask the model; returns its answer."""
        request = self.first()
        while True:
            try:
                return model(request)
            except Exception as error:
                request = self.after(error)

    async def ask_async(self, model: Callable[[R], Awaitable[T]]) -> T:
        """Ask a model that is awaited; returns its answer."""
        request = await asyncio.to_thread(self.first)
        while True:
            try:
                return await model(request)
            except Exception as error:
                request = await asyncio.to_thread(self.after, error)

    def first(self) -> R:
        """Keep what is new; returns the first request to make."""
        history, given, tools = self.history, self.given, self.tools
        self._asked = history.asked(given, tools)
        sent = self._asked.sent

        def smaller(overflow: ContextOverflow, attempt: int) -> list[Sent]:
            return history.prompt(given, tools, less(overflow, history.counted(sent, tools), attempt), keep=False)

        self._attempts = Attempts(sent, smaller, _bare)
        return self.made(sent)

    def after(self, error: Exception) -> R:
        """The request to make after this error; raises the error if nothing else can be tried."""
        status = getattr(error, "status_code", None)
        return self.made(self._attempts.after(error, status, detect(status, str(error))))

    def keep(self, *answers: Message) -> None:
        """Keep what the model said, unless what it answers was erased meanwhile.

        The answer to a repeated question is kept only once the caller passes it back.
        """
        if self._asked.again:
            return
        if self._asked.follows is None:
            self.history.session.add_many(answers)
        else:
            add_answers(self.history.session, self._asked.follows, answers)


@dataclass(slots=True, eq=False)
class Histories:
    """The histories of a user's sessions; those used last are remembered."""

    memory: Memory
    user: str
    tenant: str = "default"
    budget: int | None = None
    _kept: Recent[str, History] = field(default_factory=lambda: Recent(KEPT_HISTORIES))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        check_given(memory=(self.memory, isinstance(self.memory, Memory), "a Memory"))
        check_id(self.user, "user")
        check_budget(self.budget)

    def of(self, session: str, *, whole: bool = False) -> History:
        """The history of a session."""
        new = History(self.memory.session(session, user=self.user, tenant=self.tenant), self.budget, whole)
        with self._lock:
            history = self._kept[session] = self._kept.get(session, new)
        return history


def _spoken_ids(messages: Iterable[Message]) -> list[str]:
    return [message.id for message in messages if message.role != "system"]


def _sent(message: Message, line: Sent | None) -> Sent:
    """A message that is sent: the given one itself if it was not changed."""
    if line is None or line.place is None:
        return Sent(message, None)
    return line if _shown(message) == _shown(line.message) else Sent(message, line.place, changed=True)


def _bare(sent: Sequence[Sent]) -> list[Sent]:
    """The same prompt without what providers refuse."""
    bare = acceptable([line.message for line in sent])
    pairs = zip(sent, bare, strict=True)
    return [line if line.message is one else Sent(one, line.place, changed=True) for line, one in pairs]


def _shown(message: Message) -> tuple[Any, ...]:
    return message.role, message.text, [call.id for call in message.tool_calls], len(message.tool_results)
