"""The suite put together, and its guard."""

from __future__ import annotations

from typing import Any

from recollect.testing.stores.anything import AnythingTests
from recollect.testing.stores.erase import EraseTests, TransactionTests
from recollect.testing.stores.index import KeywordTests, VectorTests
from recollect.testing.stores.jobs import JobTests
from recollect.testing.stores.log import LogTests
from recollect.testing.stores.records import RecordTests
from recollect.testing.stores.together import LastingTests, ThreadTests


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

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        suite = {name for name in dir(StoreSuite) if name.startswith("test")}
        for base in cls.__mro__[: cls.__mro__.index(StoreSuite)]:
            if changed := sorted(suite & vars(base).keys()):
                raise TypeError(
                    f"{base.__name__} overrides {', '.join(changed)} of StoreSuite: make the store pass instead"
                )
