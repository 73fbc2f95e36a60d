"""Requests in every provider's shape, and how they are compared."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.strategies import SHAPES, wire_transcripts

requests = st.sampled_from(SHAPES).flatmap(lambda shape: st.tuples(st.just(shape), wire_transcripts(shape)))


def dumps(value: Any) -> str:
    return json.dumps(value, default=repr)
