"""A store in the memory of one process: the reference the other backends are compared with."""

from recollect.store.reference.store import ReferenceStore

__all__ = ["ReferenceStore"]
