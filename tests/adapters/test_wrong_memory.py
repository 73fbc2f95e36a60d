"""A name or a path in place of a session or a memory is refused when an adapter is made, not when it is first used."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect import ConfigError
from recollect.adapters.langgraph import RecollectSaver, RecollectStore
from recollect.adapters.mcp import server
from recollect.adapters.openai_agents import RecollectSession
from recollect.adapters.strands import with_memory
from tests.wrong import wrong


@pytest.mark.parametrize(
    ("make", "give"),
    [
        (lambda: RecollectSession(wrong("trip")), "session='trip': give a Session, like memory.session("),
        (lambda: with_memory(wrong("trip")), "session='trip': give a Session, like memory.session("),
        (lambda: RecollectSaver(wrong("a.db"), user="ada"), "memory='a.db': give a Memory"),
        (lambda: RecollectStore(wrong("a.db")), "memory='a.db': give a Memory"),
        (lambda: server(wrong("a.db"), user="ada"), "memory='a.db': give a Memory"),
    ],
)
def test_what_is_no_session_or_memory_is_refused(make: Callable[[], object], give: str) -> None:
    with pytest.raises(ConfigError) as refused:
        make()
    assert give in str(refused.value)
