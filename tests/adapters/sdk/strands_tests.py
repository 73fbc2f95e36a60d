"""A pytest plugin: in the tests of Strands Agents, its sliding window and the repository of its sessions are ours."""

from __future__ import annotations

import importlib
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from recollect import Memory
from recollect.adapters import strands

from .counted import Counted


class SlidingWindowConversationManager(Counted, strands.SlidingWindowConversationManager):
    def __init__(self, window_size: int = 40, *_: Any, pin_first: int | None = None, **options: Any) -> None:
        proactive = options.get("proactive_compression")
        super().__init__(window_size, pin_first=pin_first or 0, proactive_compression=proactive)


class Repository(Counted, strands.LogRepository):
    def __init__(self) -> None:
        super().__init__(Memory.open(Path(mkdtemp()) / "memory.db", embedder=None), user="ada")


managers = "strands.agent.conversation_manager.sliding_window_conversation_manager"
vars(importlib.import_module(managers))["SlidingWindowConversationManager"] = SlidingWindowConversationManager
vars(importlib.import_module("tests.fixtures.mock_session_repository"))["MockedSessionRepository"] = Repository
