"""Prompt caches as the providers keep them: what of a prompt was seen before, up to the first change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import accumulate
from typing import Final

LOOK_BACK: Final = 20
"""Blocks in front of a breakpoint that Anthropic looks at for an earlier one."""
STEP: Final = 128
"""OpenAI's cached tokens are a multiple of it."""


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a prompt, its tokens, and whether a cache breakpoint stands behind it."""

    content: str
    tokens: int
    breakpoint: bool = False


@dataclass(slots=True)
class PromptCache:
    """Remembers beginnings of prompts; those of fewer than `least` tokens are not kept."""

    least: int = 1_024
    _known: set[bytes] = field(default_factory=set)

    def automatic(self, blocks: Sequence[Block]) -> tuple[int, int]:
        """Tokens read and written as OpenAI does it: the longest beginning that any request had."""
        ends = _ends(blocks)
        read = max((tokens for key, tokens in ends if key in self._known), default=0)
        self._known.update(key for key, _ in ends)
        return (read // STEP * STEP if read >= self.least else 0), 0

    def by_breakpoints(self, blocks: Sequence[Block]) -> tuple[int, int]:
        """Tokens read and written as Anthropic does it: only what a breakpoint marks is kept."""
        ends = _ends(blocks)
        marked = [i for i, block in enumerate(blocks) if block.breakpoint and ends[i][1] >= self.least]
        near = {j for i in marked for j in range(max(0, i - LOOK_BACK), i + 1)}
        read = max((ends[j][1] for j in near if ends[j][0] in self._known), default=0)
        self._known.update(ends[i][0] for i in marked)
        return read, max((ends[i][1] for i in marked), default=read) - read


def _ends(blocks: Sequence[Block]) -> list[tuple[bytes, int]]:
    """A key for the prompt up to and with each block, and the tokens up to there."""
    seen, keys = blake2b(digest_size=16), list[bytes]()
    for block in blocks:
        seen.update(blake2b(block.content.encode("utf-8", "surrogatepass"), digest_size=16).digest())
        keys.append(seen.copy().digest())
    return list(zip(keys, accumulate(block.tokens for block in blocks), strict=True))
