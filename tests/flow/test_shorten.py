"""Messages made shorter, on generated transcripts."""

from __future__ import annotations

from hypothesis import given

from recollect.flow.shorten import without_older_files
from recollect.types import Image, Message, Opaque
from tests.strategies import transcripts


def files(message: Message) -> int:
    return sum(isinstance(part, (Image, Opaque)) for part in message.parts)


@given(transcripts())
def test_of_the_files_of_the_user_only_those_of_the_last_question_stay(talk: list[Message]) -> None:
    bare = without_older_files(talk)
    users = [n for n, message in enumerate(talk) if message.role == "user"]
    assert [files(bare[n]) for n in users] == [0] * (len(users) - 1) + [files(talk[users[-1]])]
    assert [len(message.parts) for message in bare] == [len(message.parts) for message in talk]
    assert all(now is was for now, was in zip(bare, talk, strict=True) if not files(was))
    assert without_older_files(bare) == bare
