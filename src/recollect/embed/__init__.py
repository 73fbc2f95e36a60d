"""Text to vectors: the protocol, small implementations of it, and `open('provider:model')`."""

from recollect.embed.embedder import Embedder, Kind
from recollect.embed.names import check, open, open_reranker
from recollect.embed.rerank import Reranker

__all__ = ["Embedder", "Kind", "Reranker", "check", "open", "open_reranker"]
