"""Values that a caller gives by mistake."""

from __future__ import annotations

from typing import Any


def wrong(value: object) -> Any:
    """The value, which a type checker lets pass where it is of the wrong type."""
    return value
