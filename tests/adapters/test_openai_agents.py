"""The session of the OpenAI Agents SDK, in real runs."""

from __future__ import annotations

from recollect import Memory
from recollect.testing import AdapterSuite, Script, Talk
from tests.adapters.openai_agents_sdk import AgentsTalk


class TestAgents(AdapterSuite):
    shape = "openai-responses"

    def open(self, memory: Memory, user: str, session: str, budget: int, script: Script) -> Talk:
        return AgentsTalk(memory, user, session, budget, script)
