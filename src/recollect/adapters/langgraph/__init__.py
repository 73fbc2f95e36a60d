"""LangGraph and LangChain: `RecollectStore`, `RecollectSaver` and `RecollectMiddleware`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from recollect.errors import MissingExtra

if TYPE_CHECKING:
    from recollect.adapters.langgraph.checkpoint import RecollectSaver
    from recollect.adapters.langgraph.middleware import RecollectMiddleware
    from recollect.adapters.langgraph.store import RecollectStore

__all__ = ["RecollectMiddleware", "RecollectSaver", "RecollectStore"]

_HOME_OF: Final = {"RecollectMiddleware": "middleware", "RecollectSaver": "checkpoint", "RecollectStore": "store"}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    except ModuleNotFoundError as error:
        raise MissingExtra("langgraph", "langgraph", name) from error
