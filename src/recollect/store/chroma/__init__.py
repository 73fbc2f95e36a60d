"""Vectors searched by Chroma, beside a store that keeps everything. Chroma never gets any text."""

from recollect.store.chroma.store import ChromaStore

__all__ = ["ChromaStore"]
