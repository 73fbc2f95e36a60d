"""A store in the memory of one process, and the reference that the other backends are compared with."""

from recollect.store.reference.store import ReferenceStore

__all__ = ["ReferenceStore"]
