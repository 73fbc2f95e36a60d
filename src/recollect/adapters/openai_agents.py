"""The OpenAI Agents SDK with Recollect: a Session on our log, and a prompt that keeps its budget and remembers.

session = RecollectSession(memory.session("trip", user="ada"), budget=8_000)
config = RunConfig(call_model_input_filter=session.fit_input)
result = await Runner.run(agent, "Where does my sister live?", session=session, run_config=config)
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, cast

from recollect.aio import done
from recollect.arguments import check_budget, check_given
from recollect.errors import BudgetTooSmall, MissingExtra
from recollect.flow.limits import Limits
from recollect.flow.render import parse, render
from recollect.flow.room import beside, fitted
from recollect.flow.turns import last_asked, steps
from recollect.flow.window import Window
from recollect.layers.working import fit
from recollect.session import Session, add_answers
from recollect.tokens import REPLY_TOKENS, count_message
from recollect.types import Message

try:
    from agents import SessionABC, TResponseInputItem
    from agents.memory import SessionSettings
    from agents.models.fake_id import FAKE_RESPONSES_ID
    from agents.run import CallModelData, ModelInputData
except ImportError as error:
    raise MissingExtra("openai-agents", "openai-agents", "the adapter for the OpenAI Agents SDK") from error

SHAPE: Final = "openai-responses"
NEXT: Final = Message("user", "")
"""Stands for what will be said next: with it, the words of the last turn are old and may be shortened."""


class RecollectSession(SessionABC):
    """A session of a memory as the SDK takes one: `Runner.run(agent, text, session=RecollectSession(…))`.

    `get_items` gives the newest whole turns within `budget` tokens (all without one), or the newest `limit` items,
    never a call without its result or its reasoning. With `fit_input` as the run's `call_model_input_filter` each
    request of the run keeps the budget, and holds what memory recalls for the question. `pop_item` and
    `clear_session` erase: what they take is gone for good, here and in all that was learned from it.
    """

    def __init__(
        self,
        session: Session,
        budget: int | None = None,
        *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        check_given(
            session=(session, isinstance(session, Session), "a Session, like memory.session('trip', user='ada')")
        )
        check_budget(budget)
        self.session, self.budget = session, budget
        self.session_id = session.scope.session or ""
        self.session_settings = SessionSettings().resolve(session_settings)
        self._expected: list[TResponseInputItem] = []
        self._count = 0  # how many messages the log then has: more where another run adds to it at the same time
        self._asked: Message | None = None  # the question, once it is kept: of a streamed run, the SDK keeps it late

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The conversation so far, in order."""
        most = limit if limit is not None else self.session_settings.limit if self.session_settings else None
        count, newest = await asyncio.to_thread(lambda: (self._kept(), self._newest(most)))
        self._expected, self._asked, self._count = _items(newest), None, count
        return list(self._expected)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Keep these items; what was delivered before is kept once, and no answer whose question was erased since."""
        if added := await done(self._add, items):
            new, asked = added
            self._expected, self._asked, self._count = (
                [*self._expected, *items],
                asked or self._asked,
                self._count + new,
            )

    async def pop_item(self) -> TResponseInputItem | None:
        """Erase the newest item, and return it; None where there is none."""
        self._asked = None
        del self._expected[-1:]
        return await done(self._pop)

    async def clear_session(self) -> None:
        """Erase the session."""
        self._expected, self._asked, self._count = [], None, 0
        await done(self.session.forget)

    async def fit_input(self, data: CallModelData[Any]) -> ModelInputData:
        """What the model is sent: the instructions, the conversation and memory, together within the budget.

        Where a handoff or a callback changed the items of the run, it is those that are fitted.
        """
        given = data.model_data
        items = await asyncio.to_thread(self._fit, given)
        return ModelInputData(input=items, instructions=given.instructions)

    def _newest(self, limit: int | None) -> Sequence[Message]:
        if limit is None:
            return self._window() if self.budget else self.session.history()
        messages, counter = _whole(self.session, limit) if limit > 0 else (), self.session.memory.counter
        try:
            return fit(messages, self.budget, counter=counter).messages
        except BudgetTooSmall:
            return fit([*messages, NEXT], self.budget, counter=counter).messages[:-1]

    def _window(self) -> Sequence[Message]:
        try:
            return self.session.context(None, self.budget).conversation
        except BudgetTooSmall:
            return self.session.context(NEXT, self.budget).conversation[:-1]

    def _add(self, items: Sequence[TResponseInputItem]) -> tuple[int, Message | None] | None:
        """Keep what is new; returns how many messages that is, and the last question. None where that was erased."""
        asked, messages = self._asked, parse(items, SHAPE)
        known = self._delivered(items, messages) if messages else ()
        new = messages[len(known) :]
        if asked is None or not new or last_asked(messages):
            kept = self.session.add_many(new)
        elif not (kept := add_answers(self.session, asked.id, new)):
            return None
        return len(kept), last_asked([*known, *kept])

    def _delivered(self, items: Sequence[TResponseInputItem], messages: Sequence[Message]) -> Sequence[Message]:
        """Those of these that the log ends with already: known by an id, or a question that is still unanswered."""
        kept = self.session.history(len(messages))
        for size in range(min(len(kept), len(messages)), 0, -1):
            same = all(_said(one) == _said(other) for one, other in zip(kept[-size:], messages[:size], strict=True))
            if same and (any(map(_has_id, items[:size])) or all(m.role == "user" for m in messages[:size])):
                return kept[-size:]
        return ()

    def _pop(self) -> TResponseInputItem | None:
        newest = self.session.history(1)
        if not newest:
            return None
        self.session.forget([newest[0].id])
        self._count -= 1
        return _items(newest)[-1]

    def _fit(self, given: ModelInputData) -> list[TResponseInputItem]:
        if self.budget is None:
            return given.input
        system = [Message("system", given.instructions)] if given.instructions else []
        with beside(system, self._tokens, self.budget) as room:
            count, new = self._count, self._new(given.input)
            if new is not None and [message.role for message in new] in ([], ["user"]):
                prompt = self.session.context(new[0] if new else None, room).prompt
                if self._alone(count):
                    return _items(prompt)
            messages = parse(given.input, SHAPE)
            return _items(fitted(self._memory(messages, room), room, self._tokens, partial(self._shown, messages)))

    def _new(self, items: Sequence[TResponseInputItem]) -> Sequence[Message] | None:
        """What is not kept yet of a run's items; None where items were changed."""
        known = len(self._expected)
        if items[:known] != self._expected:
            return None
        messages = parse(items[known:], SHAPE)
        return messages and messages[len(self._delivered(items[known:], messages)) :]

    def _memory(self, messages: Sequence[Message], room: int) -> str:
        """What memory has for the last question; for the given one if that is not kept, or the kept one too long."""
        given = [message for message in messages if message.role == "user"][-1:]
        kept = self._asked and [_said(self._asked)] == [*map(_said, given)] and self._alone(self._count)
        for asked in (None, *given) if kept else given:
            with suppress(BudgetTooSmall):
                return self.session.context(asked, room).memory
        return ""

    def _kept(self) -> int:
        stats = self.session.stats()
        return stats.messages if stats else 0

    def _alone(self, count: int) -> bool:
        """Whether no other run has added to the log since it had that many messages."""
        return self._kept() <= count

    def _shown(self, messages: Sequence[Message], limits: Limits) -> Sequence[Message]:
        window = Window(self._tokens, limits, REPLY_TOKENS)
        window.extend(messages)
        window.check()
        return window.messages

    def _tokens(self, message: Message) -> int:
        return count_message(message, self.session.memory.counter)


def _items(messages: Sequence[Message]) -> list[TResponseInputItem]:
    return cast("list[TResponseInputItem]", list(render(messages, SHAPE)))


def _said(message: Message) -> tuple[Any, ...]:
    return message.role, message.content, message.name, message.extra


def _has_id(item: TResponseInputItem) -> bool:
    return item.get("id") not in (None, FAKE_RESPONSES_ID)


def _whole(session: Session, limit: int) -> Sequence[Message]:
    """The newest `limit` messages; a step that this would tear apart is left out."""
    size = limit + 1
    while len(messages := session.history(size)) == size and messages[0].role != "user":
        size *= 2
    start = max(0, len(messages) - limit)
    users = [n for n, message in enumerate(messages) if message.role == "user"]
    begin = max((n for n in users if n <= start), default=0)
    end = min((n for n in users if n > begin), default=len(messages))
    for step in steps(messages, range(begin, end)):
        if step[0] < start <= step[-1]:
            start = step[-1] + 1
    return messages[start:]
