"""How a user talks with the assistant, as values: what they keep coming back to, and which answers work best."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from recollect.frozen import EMPTY, FrozenDict, freeze_dict, thaw


@dataclass(frozen=True, slots=True)
class Mention:
    """Something the user keeps coming back to: in how many conversations, and the message that said it first.

    `session` is that message's; it is empty in patterns stored before sessions were noted.
    """

    text: str
    conversations: int
    source: str
    session: str = ""


@dataclass(frozen=True, slots=True)
class Worked:
    """A kind of answer that scored better than the others: both average scores, and how many answers each covers."""

    trait: str
    score: float
    answers: int
    others: float
    other_answers: int


@dataclass(frozen=True, slots=True)
class Patterns:
    """How a user talks with the assistant, counted over the log. A claim without enough evidence is left empty.

    `hours` says for each hour of the day on how many days the user said something then; `active` is the busiest part
    of the day, from and to. `length` is short, medium or long, `depth` simple or detailed, `rhythm` daily, weekly or
    occasional.
    """

    conversations: int = 0
    turns: int = 0
    turns_per_conversation: float = 0.0
    answers: int = 0
    answer_tokens: float = 0.0
    questions: tuple[Mention, ...] = ()
    topics: tuple[Mention, ...] = ()
    hours: tuple[int, ...] = (0,) * 24
    active: tuple[int, int] | None = None
    rhythm: str = ""
    follow_ups: FrozenDict = EMPTY
    length: str = ""
    depth: str = ""
    worked: tuple[Worked, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data that `from_dict` turns back into equal patterns."""
        plain: dict[str, Any] = thaw(dataclasses.asdict(self))
        return plain

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Patterns:
        """The patterns that `to_dict` turned into data."""
        fields = dict(data)
        for name, kind in (("questions", Mention), ("topics", Mention), ("worked", Worked)):
            fields[name] = tuple(kind(**item) for item in fields[name])
        fields["hours"] = tuple(fields["hours"])
        fields["active"] = tuple(fields["active"]) if fields["active"] else None
        fields["follow_ups"] = freeze_dict(fields["follow_ups"], "follow_ups")
        return cls(**fields)
