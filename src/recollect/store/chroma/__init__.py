"""Vectors searched by Chroma beside a store that keeps everything; no text ever goes in."""

from recollect.store.chroma.store import ChromaStore

__all__ = ["ChromaStore"]
