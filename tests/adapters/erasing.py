"""A scripted model: while it thinks for the first time, all that was said to it is erased, or the `whole` session."""

from __future__ import annotations

from collections.abc import Sequence

from recollect import Message, Session
from recollect.testing import Script


class Erasing(Script):
    def __init__(self, session: Session, *, whole: bool = False) -> None:
        super().__init__()
        self.session, self.whole = session, whole

    def answer(self, request: Sequence[Message]) -> Message:
        if not self.requests:
            self.session.forget(None if self.whole else [message.id for message in self.session.history()])
        return super().answer(request)
