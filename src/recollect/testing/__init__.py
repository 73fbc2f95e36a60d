"""Suites that third parties run on their own implementations.

Call `pytest.register_assert_rewrite("recollect.testing")` in your conftest.py for readable failures.
"""

from recollect.testing.stores import StoreSuite

__all__ = ["StoreSuite"]
