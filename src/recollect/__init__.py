"""Recollect: the memory of LLM agents.

messages ──► parse ──► ConversationMemory ──► fit ──► render ──► the provider's own shape
                          (keeps, finds)       │ whole turns under a token budget
                                               └► receipt: what stayed, what went, by which rule
"""

from recollect.conversation import Conversation, ConversationMemory
from recollect.errors import BudgetTooSmall, ConfigError, InvalidTranscript, MissingExtra, RecollectError
from recollect.flow.receipt import Entry, Receipt
from recollect.flow.render import Rendered, parse, render
from recollect.flow.turns import turns
from recollect.flow.validate import Problem, validate
from recollect.flow.window import Window
from recollect.layers.working import fit, reduce
from recollect.tokens import TokenCounter, counter, estimate, recommended_budget
from recollect.types import Image, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult

__all__ = [
    "BudgetTooSmall",
    "ConfigError",
    "Conversation",
    "ConversationMemory",
    "Entry",
    "Image",
    "InvalidTranscript",
    "Message",
    "MissingExtra",
    "Opaque",
    "Part",
    "Problem",
    "Receipt",
    "RecollectError",
    "Rendered",
    "Text",
    "Thinking",
    "TokenCounter",
    "ToolCall",
    "ToolResult",
    "Window",
    "counter",
    "estimate",
    "fit",
    "parse",
    "recommended_budget",
    "reduce",
    "render",
    "turns",
    "validate",
]
