"""Middleware for LangChain's agents: keeps what is said, fits each request into a budget, adds what memory knows."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.config import get_config

from recollect.adapters.langgraph.messages import changed, from_langchain, to_langchain
from recollect.aio import done
from recollect.errors import ConfigError
from recollect.history import Histories, History, Sent
from recollect.memory import Memory

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage


class RecollectMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives an agent a memory: `create_agent(model, tools, middleware=[RecollectMiddleware(memory, user="ada")])`.

    Every message is kept in the session of the run's thread, or in the one that is named here. Each model call gets
    at most `budget` tokens: the newest turns, whole, with what memory knows about the question in front of it. The
    agent's own state is not changed. With a thread, what the model sees is that state; without one, the session.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        user: str,
        session: str | None = None,
        tenant: str = "default",
        budget: int | None = None,
    ) -> None:
        super().__init__()
        self.session = session
        self._histories = Histories(memory, user, tenant, budget)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Fit the request, call the model, keep its answer."""
        history = self._history()
        asked = _Asked(history, request)
        fitted = asked.request()
        for attempt in itertools.count():
            try:
                response = handler(fitted)
                break
            except Exception as error:
                fitted = asked.smaller(error, attempt)
        history.keep(*map(from_langchain, response.result))
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """`wrap_model_call`, awaited."""
        history = self._history()
        asked = _Asked(history, request)
        fitted = await asyncio.to_thread(asked.request)
        for attempt in itertools.count():
            try:
                response = await handler(fitted)
                break
            except Exception as error:
                fitted = await asyncio.to_thread(asked.smaller, error, attempt)
        await done(history.keep, *map(from_langchain, response.result))
        return response

    def _history(self) -> History:
        name = self.session or get_config().get("configurable", {}).get("thread_id")
        if name is None:
            raise ConfigError(
                "the run has no thread, and the middleware no session: pass "
                "config={'configurable': {'thread_id': 'a name'}}, or RecollectMiddleware(…, session='a name')"
            )
        return self._histories.of(str(name), whole=self.session is None)


class _Asked:
    """A request of an agent, and what is sent for it."""

    def __init__(self, history: History, request: ModelRequest[Any]) -> None:
        self._history, self._request = history, request
        self._system = [request.system_message] if request.system_message else []
        self._natives = [*self._system, *request.messages]
        self._given = [from_langchain(message) for message in self._natives]
        self._tools = [convert_to_openai_tool(tool) for tool in request.tools]
        self._first: list[Sent] = []

    def request(self) -> ModelRequest[Any]:
        """The request with what fits, and with memory."""
        self._first = self._history.prompt(self._given, self._tools)
        return self._with(self._first)

    def smaller(self, error: Exception, attempt: int) -> ModelRequest[Any]:
        """The same with less, where the error says that the context overflowed; else it is raised again."""
        return self._with(self._history.smaller(error, attempt, self._first, self._given, self._tools))

    def _with(self, sent: Sequence[Sent]) -> ModelRequest[Any]:
        lines = sent[len(self._system) :]
        return self._request.override(messages=[m for line in lines for m in _native(line, self._natives)])


def _native(line: Sent, given: Sequence[AnyMessage]) -> list[AnyMessage]:
    if line.place is None:
        return to_langchain(line.message)
    return [changed(given[line.place], line.message) if line.changed else given[line.place]]
