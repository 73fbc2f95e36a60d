"""All layers of a memory together: they answer when a context is built, and learn from what is said."""

from __future__ import annotations

from dataclasses import dataclass, replace

from recollect.embed import Embedder, Reranker
from recollect.layers import procedural, semantic, summary
from recollect.layers.background import Learn
from recollect.layers.documents import Documents
from recollect.layers.episodic import Episodic
from recollect.layers.procedural import Procedural
from recollect.layers.semantic import Semantic
from recollect.layers.summary import Summary
from recollect.layers.tools import Search, Tools
from recollect.settings import Settings
from recollect.store import Job, Store
from recollect.tokens import TokenCounter
from recollect.types import Scope


@dataclass(slots=True)
class Layers:
    """The layers of a memory. Each can be replaced by another with the same methods: `memory.layers.summary = mine`."""

    episodic: Episodic
    semantic: Semantic
    procedural: Procedural
    summary: Summary
    documents: Documents
    tools: Tools

    @classmethod
    def of(
        cls,
        store: Store,
        count: TokenCounter,
        settings: Settings,
        embedder: Embedder | None = None,
        former: Embedder | None = None,
        *,
        search: Search | None = None,
        reranker: Reranker | None = None,
    ) -> Layers:
        """The layers over a store, configured by the settings."""
        return cls(
            Episodic(
                store, count, embedder, former, min_score=settings.episodic_min_score, floor=settings.episodic_floor
            ),
            Semantic(store, settings.facts_every_turns, most=max(semantic.MOST, settings.facts_top_k or 0)),
            Procedural(
                store,
                count,
                every=settings.patterns_every_sessions,
                max_tokens=settings.hints_tokens,
                model=embedder.name if embedder else None,
            ),
            Summary(store, count, every=settings.summary_every_messages, max_tokens=settings.summary_tokens),
            Documents(store, count, embedder, reranker, settings),
            Tools(
                store,
                count,
                None if settings.tools_tokens == 0 else search,
                days=settings.tools_days,
                most=settings.tools_top_k,
            ),
        )

    def jobs(self, settings: Settings) -> list[Job]:
        """The jobs enqueued with every message. Facts are learned in batches; `LATER` takes what fills no batch."""
        return [
            replace(semantic.JOB, every=2 * settings.facts_every_turns),
            semantic.LATER,
            replace(summary.JOB, every=settings.summary_every_messages),
            procedural.JOB,
        ]

    @property
    def learners(self) -> dict[str, Learn]:
        """The function that does each kind of job. It looks the layer up when called, as a layer may be replaced."""
        return dict.fromkeys((semantic.JOB.kind, summary.JOB.kind, procedural.JOB.kind), self._learn)

    def _learn(self, job: Job) -> int:
        match job.kind:
            case semantic.JOB.kind:
                return self.semantic.learn(job)
            case summary.JOB.kind:
                return self.summary.learn(job)
        return self.procedural.learn(job)

    @property
    def measured_seconds(self) -> float:
        """The seconds spent measuring the embedder. That happens once, and does not count as retrieval time."""
        both = (self.episodic.ranker.nearness, self.documents.nearness)
        return sum(nearness.seconds for nearness in both if nearness)

    def forget(self, scope: Scope) -> None:
        """Drop what is cached of a scope, because messages in it were erased."""
        self.episodic.forget(scope)
        self.semantic.forget(scope)
        self.summary.forget()
        self.tools.forget()
