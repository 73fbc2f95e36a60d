"""What every store must do, as tests: subclass `StoreSuite` and give it an `open_store` fixture."""

from recollect.testing.stores.suite import StoreSuite

__all__ = ["StoreSuite"]
