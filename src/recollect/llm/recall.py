"""The built-in answerer: no model, no network. It quotes what memory recalled, or says that there is nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from recollect.arguments import messages_only
from recollect.errors import ConfigError
from recollect.flow.fence import CLOSE, OPEN, without_memory
from recollect.llm.model import TIMEOUT, Delta, Reply, Usage
from recollect.store.words import query_words, words
from recollect.tokens import count_messages, estimate
from recollect.types import Message

MOST: Final = 5
"""Lines that are quoted at most."""
NOTHING: Final = "I have nothing in memory about that."
_DAY: Final = re.compile(r"\d{1,2} \w+ \d{1,4}(?: \([^)]*\))?")
_MEMORY: Final = re.compile(f"^{OPEN}\n(.*?)^{CLOSE}", re.DOTALL | re.MULTILINE)


class RecallModel:
    """A `ChatModel` that answers the last question only by quoting the memory in the prompt."""

    name = "recall:"

    def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        timeout: float = TIMEOUT,
    ) -> Reply:
        """The whole answer."""
        if schema is not None:
            raise ConfigError("recall: only quotes, it can't fill in a schema: open a model like 'openai:gpt-4o-mini'")
        text = answer(messages_only(messages))
        usage = Usage(count_messages(messages, estimate), estimate(text))
        return Reply(Message("assistant", text), usage, model=self.name)

    def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Mapping[str, Any]] = (),
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        timeout: float = TIMEOUT,
    ) -> Iterator[Delta]:
        """The answer line by line; the last piece carries the whole reply."""
        reply = self.complete(messages, tools=tools, schema=schema)
        yield from (Delta(line) for line in reply.text.splitlines(keepends=True))
        yield Delta(reply=reply)


def answer(messages: Sequence[Message]) -> str:
    """What memory says about the last question, in its own words, under the headings it was found under."""
    asked = next((message for message in reversed(messages) if message.role == "user"), None)
    memory = next((found for m in reversed(messages) if m.role == "user" and (found := _MEMORY.search(m.text))), None)
    question = without_memory(asked) if asked else None
    if not memory or not question:
        return NOTHING
    quotes = _quotes(memory[1], set(query_words(question.text)))
    if not quotes:
        return NOTHING
    lines = ["From memory:"]
    for heading, line in quotes:
        if heading not in lines:
            lines += ["", heading]
        lines.append(f"> {line}")
    return "\n".join(lines)


def _quotes(memory: str, wanted: set[str]) -> list[tuple[str, str]]:
    """The lines that share words with the question, those that share most; in their order, with their headings."""
    found: list[tuple[int, int, str, str]] = []
    heading = day = ""
    for place, line in enumerate(memory.splitlines()):
        if line.startswith("## "):
            heading, day = line.removeprefix("## ") + ":", ""
        elif _DAY.fullmatch(line):
            day = f"{line}, "
        elif shared := len(wanted.intersection(words(line))):
            found.append((-shared, place, heading, f"{day}{line.strip()}"))
    best = sorted(found)[:MOST]
    return [(heading, line) for _, _, heading, line in sorted(best, key=lambda item: item[1])]
