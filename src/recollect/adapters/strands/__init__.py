"""Strands Agents with Recollect: a token budget for its messages, a session on our log, memory across sessions.

agent = Agent(model=model, **with_memory(memory.session("trip", user="ada"), budget=8_000))
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from recollect.arguments import check_budget, check_given
from recollect.errors import MissingExtra
from recollect.session import Session
from recollect.settings import load

try:
    from recollect.adapters.strands.budget import SlidingWindowConversationManager, TokenBudgetConversationManager
    from recollect.adapters.strands.log import LogRepository, SessionLog
    from recollect.adapters.strands.memory import BUDGET, SessionMemory
    from recollect.adapters.strands.summary import SummarizingConversationManager
except ImportError as error:
    raise MissingExtra("strands-agents", "strands", "the adapter for Strands Agents") from error

AFTER_A_CUT: Final = 0.7
"""The part of its messages that an agent has left after a cut: what is older can be recalled."""

__all__ = [
    "LogRepository",
    "SessionLog",
    "SessionMemory",
    "SlidingWindowConversationManager",
    "SummarizingConversationManager",
    "TokenBudgetConversationManager",
    "conversation_manager",
    "with_memory",
]


def conversation_manager(path: str | Path | None = None, **arguments: Any) -> TokenBudgetConversationManager:
    """The conversation manager that `providers.yaml` asks for.

    `context_budget` counts tokens, `conversation_window` messages; with `old_messages: summarise` what leaves the list
    is told in a summary of `summary_tokens`.
    """
    settings = load(path, **arguments)
    options = settings.options
    if settings.old_messages == "summarise":
        return SummarizingConversationManager(summary_tokens=settings.summary_tokens, **options)
    if "last_messages" in options:
        return SlidingWindowConversationManager(options.pop("last_messages"), **options)
    return TokenBudgetConversationManager(**options)


def with_memory(session: Session, budget: int | None = None) -> dict[str, Any]:
    """The arguments that give an agent this session's memory, its prompt never over `budget` tokens.

    A quarter of the budget, and at most 800 tokens, is for what is recalled from this and other sessions.
    """
    check_given(session=(session, isinstance(session, Session), "a Session, like memory.session('trip', user='ada')"))
    check_budget(budget)
    tokens = session.memory.settings.budget if budget is None else budget
    share = min(tokens // 4, BUDGET)
    store = SessionMemory(session, share, prompt=int(tokens * AFTER_A_CUT))
    return {
        "conversation_manager": TokenBudgetConversationManager(tokens, counter=session.memory.counter, reserve=share),
        "session_manager": SessionLog(session, store),
        "memory_manager": {"stores": [store]},
    }
