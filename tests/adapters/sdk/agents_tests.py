"""A pytest plugin: in the tests of the OpenAI Agents SDK, its sessions are ours."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType
from typing import Any

import agents

from recollect import Memory, render
from recollect.adapters.openai_agents import SHAPE, RecollectSession

from .counted import Counted

_open: dict[str, Memory] = {}


def memory_of(path: Any) -> Memory:
    key = str(Path(mkdtemp()) / "memory.db") if str(path) == ":memory:" else f"{path}.recollect"
    if key not in _open:
        _open[key] = Memory.open(key, embedder=None)
    return _open[key]


class SQLiteSession(Counted, RecollectSession):
    def __init__(self, session_id: str, db_path: Any = ":memory:", session_settings: Any = None, **_: Any) -> None:
        super().__init__(memory_of(db_path).session(session_id, user="ada"), session_settings=session_settings)

    def close(self) -> None:
        """The memory stays open for other sessions."""


class SimpleListSession(Counted, RecollectSession):
    def __init__(self, session_id: str = "test", history: Any = None) -> None:
        super().__init__(memory_of(":memory:").session(session_id, user="ada"))
        self.session_settings = None
        self._ignore_ids_for_matching = False
        self._add(history or [])

    @property
    def saved_items(self) -> list[Any]:
        return list(render(self.session.history(), SHAPE))

    _items = saved_items


def replace_list_session() -> None:
    """Reads the SDK's helper anew with our class in the place of its first one; the others build on that."""
    theirs = importlib.import_module("tests.utils.simple_session")
    source = Path(str(theirs.__file__)).read_text("utf-8")
    rest = source[source.index("class CountingSession") :]
    ours = ModuleType(theirs.__name__)
    ours.__dict__.update(vars(theirs), SimpleListSession=SimpleListSession)
    exec(compile(rest, str(theirs.__file__), "exec"), ours.__dict__)
    sys.modules[theirs.__name__] = ours


vars(agents)["SQLiteSession"] = SQLiteSession
replace_list_session()
