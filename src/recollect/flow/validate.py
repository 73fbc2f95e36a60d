"""Whether a provider would take these messages, and what it would say if not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from recollect.flow.render import Rendered, render
from recollect.flow.shapes import Shape, shape_of
from recollect.flow.shapes.wire import Fault, texts_in
from recollect.types import Message


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason a provider would refuse the messages.

    `index` and `id` name the message, `where` the place in the rendered request, `error` is the provider's own text.
    """

    index: int
    problem: str
    error: str
    where: str
    id: str = ""

    def __str__(self) -> str:
        return f"message {self.index}: {self.problem} ({self.where}). The provider says: {self.error}"


def validate(messages: Sequence[Message], shape: str) -> list[Problem]:
    """What the provider would refuse in these messages, as they would be rendered; empty when valid."""
    target, rendered = shape_of(shape), render(messages, shape)
    faults = [*target.check(rendered, rendered.system), *_surrogates(rendered, target)]
    return [_problem(fault, rendered, messages) for fault in faults]


def _problem(fault: Fault, rendered: Rendered, messages: Sequence[Message]) -> Problem:
    index = rendered.sources[fault.index] if fault.index < len(rendered.sources) else 0
    found = messages[index].id if index < len(messages) else ""
    return Problem(index, fault.problem, fault.error, fault.where, found)


def _surrogates(rendered: Rendered, shape: Shape) -> Iterator[Fault]:
    values = [(0, "system", rendered.system), *((i, f"{shape.messages}[{i}]", w) for i, w in enumerate(rendered))]
    for i, place, value in values:
        for where, text in texts_in(value, place):
            if not _encodes(text):
                yield Fault(i, where, "half a surrogate pair stands alone, JSON can't carry it", shape.surrogate)


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
