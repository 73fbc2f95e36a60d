"""Text to vectors: the protocol, small implementations of it, and `open('provider:model')`."""

from recollect.embed.embedder import Embedder, Kind, Reranker
from recollect.embed.names import check, open, open_reranker

__all__ = ["Embedder", "Kind", "Reranker", "check", "open", "open_reranker"]
