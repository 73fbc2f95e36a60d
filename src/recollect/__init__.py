"""Recollect: the memory of LLM agents.

message in ──► Session.add ──► the log, which keeps everything
                                  │  learned from it in the background: index, facts, summaries, habits
question ────► Session.context ──► the newest turns and what memory recalls, within one token budget
                                  │
prompt out ◄── Context.to ◄───────┘  in the provider's own shape, with a receipt for every choice

Start with `Memory`. Without a store, `parse`, `fit` and `render` do the last step for messages of your own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.aio import AsyncMemory, AsyncSession, AsyncUser
    from recollect.answers import Document, Excerpt, Fact, Hit, Recalled
    from recollect.conversation import Conversation, ConversationMemory
    from recollect.errors import (
        BudgetTooSmall,
        ConfigError,
        Conflict,
        InvalidTranscript,
        MissingExtra,
        ModelError,
        NotFound,
        RecollectError,
        StoreError,
    )
    from recollect.flow.context import Context
    from recollect.flow.receipt import ContextReceipt, Entry, Receipt
    from recollect.flow.render import Rendered, parse, render
    from recollect.flow.turns import turns
    from recollect.flow.validate import Problem, validate
    from recollect.flow.window import Window
    from recollect.layers.answer import complete_fitting, stream_fitting
    from recollect.layers.working import fit, reduce
    from recollect.memory import Memory
    from recollect.patterns import Patterns
    from recollect.session import Session
    from recollect.settings import Settings
    from recollect.store.values import Erased, Filter, SessionStats
    from recollect.telemetry import Alert
    from recollect.tokens import Calibration, TokenCounter, count_messages, counter, estimate, recommended_budget
    from recollect.types import Image, Message, Opaque, Part, Scope, Text, Thinking, ToolCall, ToolResult
    from recollect.user import User

__all__ = [
    "Alert",
    "AsyncMemory",
    "AsyncSession",
    "AsyncUser",
    "BudgetTooSmall",
    "Calibration",
    "ConfigError",
    "Conflict",
    "Context",
    "ContextReceipt",
    "Conversation",
    "ConversationMemory",
    "Document",
    "Entry",
    "Erased",
    "Excerpt",
    "Fact",
    "Filter",
    "Hit",
    "Image",
    "InvalidTranscript",
    "Memory",
    "Message",
    "MissingExtra",
    "ModelError",
    "NotFound",
    "Opaque",
    "Part",
    "Patterns",
    "Problem",
    "Recalled",
    "Receipt",
    "RecollectError",
    "Rendered",
    "Scope",
    "Session",
    "SessionStats",
    "Settings",
    "StoreError",
    "Text",
    "Thinking",
    "TokenCounter",
    "ToolCall",
    "ToolResult",
    "User",
    "Window",
    "complete_fitting",
    "count_messages",
    "counter",
    "estimate",
    "fit",
    "parse",
    "recommended_budget",
    "reduce",
    "render",
    "stream_fitting",
    "turns",
    "validate",
]

_HOMES = {
    "aio": ("AsyncMemory", "AsyncSession", "AsyncUser"),
    "answers": ("Document", "Excerpt", "Fact", "Hit", "Recalled"),
    "conversation": ("Conversation", "ConversationMemory"),
    "errors": (
        "BudgetTooSmall",
        "ConfigError",
        "Conflict",
        "InvalidTranscript",
        "MissingExtra",
        "ModelError",
        "NotFound",
        "RecollectError",
        "StoreError",
    ),
    "flow.context": ("Context",),
    "flow.receipt": ("ContextReceipt", "Entry", "Receipt"),
    "flow.render": ("Rendered", "parse", "render"),
    "flow.turns": ("turns",),
    "flow.validate": ("Problem", "validate"),
    "flow.window": ("Window",),
    "layers.answer": ("complete_fitting", "stream_fitting"),
    "layers.working": ("fit", "reduce"),
    "memory": ("Memory",),
    "patterns": ("Patterns",),
    "session": ("Session",),
    "settings": ("Settings",),
    "store.values": ("Erased", "Filter", "SessionStats"),
    "telemetry": ("Alert",),
    "tokens": ("Calibration", "TokenCounter", "count_messages", "counter", "estimate", "recommended_budget"),
    "types": ("Image", "Message", "Opaque", "Part", "Scope", "Text", "Thinking", "ToolCall", "ToolResult"),
    "user": ("User",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Loads a public name on its first use, so that importing the package costs next to nothing."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'recollect' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"recollect.{_HOME_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
