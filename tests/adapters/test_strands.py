from __future__ import annotations

from recollect import Memory
from recollect.testing import AdapterSuite, Script, Talk
from tests.adapters.strands_agents import StrandsTalk


class TestStrands(AdapterSuite):
    shape = "bedrock"

    def open(self, memory: Memory, user: str, session: str, budget: int, script: Script) -> Talk:
        return StrandsTalk(memory, user, session, budget, script)
