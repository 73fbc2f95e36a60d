"""What every store must do, as tests: subclass `StoreSuite` and give it an `open_store` fixture."""

from __future__ import annotations

from recollect.testing.stores.anything import AnythingTests
from recollect.testing.stores.erase import EraseTests, TransactionTests
from recollect.testing.stores.jobs import JobTests
from recollect.testing.stores.keywords import KeywordTests
from recollect.testing.stores.log import LogTests
from recollect.testing.stores.records import RecordTests
from recollect.testing.stores.together import LastingTests, ThreadTests
from recollect.testing.stores.vectors import VectorTests

__all__ = ["StoreSuite"]


class StoreSuite(
    LogTests,
    RecordTests,
    KeywordTests,
    VectorTests,
    JobTests,
    EraseTests,
    TransactionTests,
    AnythingTests,
    ThreadTests,
    LastingTests,
):
    """What a store must do. Subclass it as `class TestMine(StoreSuite)` with an `open_store` fixture.

    A test of the suite can't be overridden or taken out: a store that fails one is not a store yet.
    """
