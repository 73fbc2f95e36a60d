"""What every shipped suite has in common: its tests can't be switched off by overriding them."""

from __future__ import annotations


class Suite:
    """A base for suites: a subclass gives the thing under test and inherits every test as it is."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.__module__.startswith("recollect.testing"):
            return
        for base in cls.__mro__[1:]:
            if not base.__module__.startswith("recollect.testing"):
                continue
            dodged = [n for n in vars(base) if n.startswith("test") and getattr(cls, n) is not getattr(base, n)]
            if dodged:
                raise TypeError(
                    f"{cls.__name__} overrides {', '.join(dodged)} of {base.__name__}: a suite is passed whole"
                )
