"""A document to ask about, and an embedder that tells what it was given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from recollect.embed import Kind
from recollect.embed.hashing import HashingEmbedder
from recollect.layers.embedding import Embedding, job_for
from recollect.store import Store
from recollect.types import Scope

ADA, EVE = Scope("acme", "ada"), Scope("acme", "eve")
FILL = "This part explains in plain words how it is done, step by step, for everyone who is new to it. "
GUIDE = f"""# Guide

Everything about the kettle. {FILL * 4}

## Descaling

Fill the kettle with vinegar and boil it twice. {FILL * 5}

## Warranty

The warranty ends after 24 months; write to support with the invoice. {FILL * 5}
"""


class Counted(HashingEmbedder):
    """The hashing embedder, which also says what passages it was given."""

    def __init__(self) -> None:
        super().__init__(256)
        self.passages: list[str] = []

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> npt.NDArray[np.float32]:
        self.passages += texts if kind == "passage" else []
        return super().embed(texts, kind)


def work(store: Store, embedder: Counted) -> int:
    made = 0
    while jobs := store.jobs.claim((job_for(embedder.name).kind,), worker="w"):
        made += Embedding(store, embedder).learn(jobs[0])
    return made
