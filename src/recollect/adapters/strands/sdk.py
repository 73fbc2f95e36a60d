"""The one place that loads the SDK."""

from __future__ import annotations

from recollect.errors import MissingExtra

try:
    from strands import Agent
    from strands.agent.conversation_manager import ConversationManager, ProactiveCompressionConfig
    from strands.agent.conversation_manager.compression.pin_message import apply_pin_first
    from strands.hooks import AfterModelCallEvent, BeforeModelCallEvent, HookRegistry
    from strands.memory import AddMessagesContext, ExtractionConfig, MemoryEntry, SearchOptions
    from strands.multiagent.base import MultiAgentBase
    from strands.session import RepositorySessionManager, SessionRepository
    from strands.types.agent import LocalAgent
    from strands.types.content import Message as Wire
    from strands.types.exceptions import ContextWindowOverflowException, SessionException
    from strands.types.session import Session as SdkSession
    from strands.types.session import SessionAgent, SessionMessage
except ImportError as error:
    raise MissingExtra("strands-agents", "strands", "the adapter for Strands Agents") from error

__all__ = [
    "AddMessagesContext",
    "AfterModelCallEvent",
    "Agent",
    "BeforeModelCallEvent",
    "ContextWindowOverflowException",
    "ConversationManager",
    "ExtractionConfig",
    "HookRegistry",
    "LocalAgent",
    "MemoryEntry",
    "MultiAgentBase",
    "ProactiveCompressionConfig",
    "RepositorySessionManager",
    "SdkSession",
    "SearchOptions",
    "SessionAgent",
    "SessionException",
    "SessionMessage",
    "SessionRepository",
    "Wire",
    "apply_pin_first",
]
