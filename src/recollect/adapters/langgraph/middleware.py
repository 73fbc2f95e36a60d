"""Middleware for LangChain's agents: keeps what is said, fits each request into a budget, adds what memory knows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AnyMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.config import get_config

from recollect.adapters.langgraph.messages import changed, from_langchain, to_langchain
from recollect.aio import done
from recollect.errors import ConfigError
from recollect.history import Asking, Histories, History, Sent
from recollect.memory import Memory


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
        asking = _asking(self._history(), request)
        response = asking.ask(handler)
        asking.keep(*map(from_langchain, response.result))
        return response

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """`wrap_model_call`, awaited."""
        asking = _asking(self._history(), request)
        response = await asking.ask_async(handler)
        await done(asking.keep, *map(from_langchain, response.result))
        return response

    def _history(self) -> History:
        name = self.session or get_config().get("configurable", {}).get("thread_id")
        if name is None:
            raise ConfigError(
                "the run has no thread, and the middleware no session: pass "
                "config={'configurable': {'thread_id': 'a name'}}, or RecollectMiddleware(…, session='a name')"
            )
        return self._histories.of(str(name), whole=self.session is None)


def _asking(history: History, request: ModelRequest[Any]) -> Asking[ModelRequest[Any]]:
    """What a request asks, with what fits and with memory."""
    system = [request.system_message] if request.system_message else []
    natives = [*system, *request.messages]

    def made(sent: Sequence[Sent]) -> ModelRequest[Any]:
        return request.override(messages=[m for line in sent[len(system) :] for m in _native(line, natives)])

    tools = [tool if isinstance(tool, dict) else convert_to_openai_tool(tool) for tool in request.tools]
    return Asking(history, [from_langchain(message) for message in natives], tools, made)


def _native(line: Sent, given: Sequence[AnyMessage]) -> list[AnyMessage]:
    if line.place is None:
        return to_langchain(line.message)
    return [changed(given[line.place], line.message) if line.changed else given[line.place]]
