"""The history that a framework or a client hands over with each model call, beside the session that keeps it.

Some hand over all of it every time, others only what is new. Either way each message is kept once, in order. What goes
to the model is the session's context. A history that the caller changed (something taken out, edited, summed up) is
fitted into the budget as it is instead, so that what was taken out stays out.

What is new is found by `flow.align`. A caller here is one running agent, so the newest part of the log is kept at hand
from call to call; `server.keeping` serves requests that know nothing of each other.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from recollect.arguments import check_budget, check_given
from recollect.errors import BudgetTooSmall, ConfigError, ContextOverflow
from recollect.flow.align import compare, says, spoken
from recollect.flow.limits import Limits
from recollect.flow.room import beside, fitted
from recollect.flow.shorten import acceptable
from recollect.flow.turns import answerable, called
from recollect.flow.window import Window
from recollect.http import REFUSED
from recollect.layers.answer import less
from recollect.layers.working import REDUCE_TO
from recollect.llm.overflow import detect
from recollect.memory import Memory
from recollect.recent import Recent
from recollect.session import Session
from recollect.store import Entry
from recollect.tokens import REPLY_TOKENS, count_message, count_tools
from recollect.types import Message, check_id

R = TypeVar("R")
T = TypeVar("T")

KNOWN: Final = 2_000
"""How many of a session's newest messages are compared with a given history, at least; more with a longer one."""
KEPT_HISTORIES: Final = 256


@dataclass(frozen=True, slots=True)
class Sent:
    """A message as it goes to the model, and its place in what was given; None for one that only memory had.

    `changed` says that it is not as it was given: shortened, or with memory in front of it.
    """

    message: Message
    place: int | None
    changed: bool = False


@dataclass(slots=True, eq=False)
class History:
    """The history of one session, within a budget: that of the settings where none is given.

    `whole` says that the caller always hands over all of it. Otherwise what is not handed over is taken from the log.
    """

    # The session's newest entries and how many it has; the window over a changed history and what it was given; the
    # last question and its memory.

    session: Session
    budget: int | None = None
    whole: bool = False
    _log: list[Entry] = field(default_factory=list)
    _count: int = 0
    _window: Window | None = None
    _taken: list[Message] = field(default_factory=list)
    _memory: tuple[str, str] = ("", "")
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def prompt(
        self, given: Sequence[Message], tools: Sequence[Mapping[str, Any]] = (), most: int | None = None
    ) -> list[Sent]:
        """Keep what is new; what to send: the system texts as given, what fits of the rest, and memory."""
        return self.asked(given, tools, most)[0]

    def asked(
        self, given: Sequence[Message], tools: Sequence[Mapping[str, Any]] = (), most: int | None = None
    ) -> tuple[list[Sent], bool]:
        """The same, and whether all of it was known and someone has spoken since: then it is asked again."""
        with self._lock:
            system = [Sent(message, place) for place, message in enumerate(given) if message.role == "system"]
            lines, again = self._lines(given)
            budget = most or self.budget or self.session.memory.settings.budget
            with beside([line.message for line in system], self._tokens, budget) as room:
                kept = (entry.message for entry in self._log)
                if _spoken_ids(line.message for line in lines) == _spoken_ids(kept):
                    prompt = self.session.context(None, room, tools=tools).prompt
                    shown = [one for one in prompt if one.role != "system" or not (system or self.whole)]
                else:
                    shown = self._fitted(lines, room, REPLY_TOKENS + count_tools(tools, self.session.memory.counter))
            known = {line.message.id: line for line in lines}
            return [*system, *(_sent(message, known.get(message.id)) for message in shown)], again

    def counted(self, sent: Sequence[Sent], tools: Sequence[Mapping[str, Any]]) -> int:
        """How many tokens a prompt has, with what goes along with it."""
        said = sum(self._tokens(line.message) for line in sent)
        return said + REPLY_TOKENS + count_tools(tools, self.session.memory.counter)

    def _lines(self, given: Sequence[Message]) -> tuple[list[Sent], bool]:
        """Keep what is new; the conversation, without system texts and old memory, under the ids of the log.

        Also returns whether it is asked again.
        """
        said = spoken(given)
        self._refresh(len(said))
        found = compare([entry.message for entry in self._log], [message for _, message in said if says(message)])
        kept = iter(zip(found.places, found.kept(self.session.add_many(found.new)), strict=True))
        self._refresh(len(said))
        places, lines = list[int | None](), list[Sent]()
        for n, (place, message) in enumerate(said):  # what is not worth keeping gets an id that no entry has
            at, own = next(kept) if says(message) else (None, message.replace(id=f"not kept {n}"))
            places.append(at)
            lines.append(Sent(message.replace(id=own.id), place, message.content != given[place].content))
        return [*(Sent(message, None) for message in self._past(found.known, places)), *lines], found.again

    def _past(self, known: Sequence[Message], places: Sequence[int | None]) -> Sequence[Message]:
        """What the log has before the first of the given messages; nothing where the caller changed the history."""
        found = [place for place in places if place is not None]
        changed = found and found[0] != places[0]
        return () if self.whole or changed else known[: min(found, default=len(known))]

    def _refresh(self, given: int) -> None:
        """Read what the log has gained; read it anew where something was erased, or more of it is needed."""
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
        """A changed history in a window of its own, with memory in front of its question where there is room."""
        messages = list(called([line.message for line in lines]))
        asked = next((message for message in reversed(messages) if message.role == "user"), None)
        memory = self._remembered(asked, room) if asked else ""
        return fitted(memory, room, self._tokens, lambda limits: self._running(messages, limits, overhead))

    def _running(self, messages: list[Message], limits: Limits, overhead: int) -> list[Message]:
        """What the running window shows; a new one is begun where the messages no longer go on from the last ones."""
        window, taken = self._window, self._taken
        if window is None or (window.limits, window.overhead) != (limits, overhead) or messages[: len(taken)] != taken:
            self._window, self._taken = window, taken = Window(self._tokens, limits, overhead), []
        for message in messages[len(taken) :]:
            window.append(message)
            taken.append(message)
        return list(answerable(window.messages))

    def _remembered(self, question: Message, room: int) -> str:
        """What memory has for a question, looked up once."""
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

    Where the model says that its context overflowed it is asked again with less, at most three times; where it refuses
    the request, once without blank words, and pictures, files and thoughts from before the question: those stay in the
    log. Where that is refused, too, the first refusal is raised.
    """

    # What was sent first, and last; whether it was asked again; how it was refused at first; the cuts left.

    history: History
    given: Sequence[Message]
    tools: Sequence[Mapping[str, Any]]
    made: Callable[[Sequence[Sent]], R]
    _first: Sequence[Sent] = ()
    _last: Sequence[Sent] = ()
    _again: bool = False
    _refused: Exception | None = None
    _cuts: Iterator[float] = field(default_factory=lambda: iter(REDUCE_TO))

    def ask(self, model: Callable[[R], T]) -> T:
        """What the model answers."""
        request = self.first()
        while True:
            try:
                return model(request)
            except Exception as error:
                request = self.after(error)

    async def ask_async(self, model: Callable[[R], Awaitable[T]]) -> T:
        """The same, awaited."""
        request = await asyncio.to_thread(self.first)
        while True:
            try:
                return await model(request)
            except Exception as error:
                request = await asyncio.to_thread(self.after, error)

    def first(self) -> R:
        """Keep what is new; the request to begin with."""
        self._first, self._again = self.history.asked(self.given, self.tools)
        self._last = self._first
        return self.made(self._first)

    def after(self, error: Exception) -> R:
        """The request to make after this error; raises it where there is none."""
        status = getattr(error, "status_code", None)
        if found := detect(status, str(error)):
            sent = self._smaller(found, error)
            self._last = _bare(sent) if self._refused else sent
        elif status in REFUSED and (bare := _bare(self._last)) != self._last:
            self._last, self._refused = bare, error
        else:
            raise self._refused or error if status in REFUSED else error
        return self.made(self._last)

    def _smaller(self, found: ContextOverflow, error: Exception) -> list[Sent]:
        """A smaller prompt than the first; raises the error where none is valid, or it was tried often enough."""
        share = next(self._cuts, None)
        if share is None:
            raise error
        most = less(found, self.history.counted(self._first, self.tools), share)
        try:
            return self.history.prompt(self.given, self.tools, most)
        except (BudgetTooSmall, ConfigError):
            raise error from None

    def keep(self, *answers: Message) -> None:
        """Keep what the model said; if the question was asked again, only once the caller hands the answer over."""
        if not self._again:
            self.history.session.add_many(answers)


@dataclass(slots=True, eq=False)
class Histories:
    """The histories of a user's sessions, those used last kept at hand."""

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
    """The message as it is sent: as it was given, where it is not changed."""
    if line is None or line.place is None:
        return Sent(message, None)
    return line if _shown(message) == _shown(line.message) else Sent(message, line.place, changed=True)


def _bare(sent: Sequence[Sent]) -> list[Sent]:
    """The same without what providers refuse."""
    bare = acceptable([line.message for line in sent])
    pairs = zip(sent, bare, strict=True)
    return [line if line.message is one else Sent(one, line.place, changed=True) for line, one in pairs]


def _shown(message: Message) -> tuple[Any, ...]:
    return message.role, message.text, [call.id for call in message.tool_calls], len(message.tool_results)
