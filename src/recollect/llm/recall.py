"""The built-in answerer: no model, no network. It quotes what memory has for a question, and takes note of the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from recollect.arguments import messages_only
from recollect.errors import ConfigError
from recollect.flow.days import written
from recollect.flow.facts import extract
from recollect.flow.facts.tell import line_asked_by
from recollect.flow.fence import CLOSE, OPEN, SAYS, TITLES, without_memory
from recollect.llm.model import TIMEOUT, Delta, Reply, Usage
from recollect.store.words import query_words, words
from recollect.tokens import count_messages, estimate
from recollect.types import Message

MOST: Final = 5
"""Lines that are quoted at most."""
OPENING: Final = "From memory:"
NOTHING: Final = "I have nothing in memory about that."
READ: Final = "I have read that. Ask me a question, and I quote what memory has about it."
"""The answer to what asks nothing. Whether it is kept is up to the caller."""
ECHOES: Final = (OPENING, NOTHING, READ)
"""What all its answers begin with."""
_ASKS: Final = re.compile(
    r"\W|(?:.*[.!\n] ?)?(?:(?:please|and|so|but|ok|okay|hi|hello|hey),? )*"
    r"(?:what|where|when|who|whose|whom|which|why|how|is|are|am|was|were|do|does|did|has|have|had|can|could|will|would"
    r"|shall|should|may|might|must|tell|show|find|list|search|remind|give|name|explain|describe|let me know"
    r"|i (?:wonder|forgot|forget|(?:can't|cannot|don't) (?:remember|recall|know)|(?:want|need|would like) to know))\b"
    r"|.*[?\uff1f\u061f]",
    re.IGNORECASE | re.DOTALL,
)
"""What is taken for a question: by the first words of a sentence, or a mark; and what begins with no word at all."""
_STATES: Final = re.compile(r"(?:i|i'm|im|i've|i'd|i'll|we|we're|we've)\b(?!$)|.*[.!]$", re.IGNORECASE | re.DOTALL)
"""What is taken for a statement where it is no question. The rest may be words to look for, and is answered as such."""
_ONCE: Final = datetime(2000, 1, 1, tzinfo=UTC)
EARLIER: Final = "Earlier in this conversation:"
_QUOTES: Final = re.compile(
    f"{OPENING}(?:\n\n(?:{'|'.join(f'{title}:' for title in TITLES.values())}|{EARLIER})(?:\n> .*)+)+"
)
_FACTS: Final = (f"{TITLES['profile']}:", f"{TITLES['facts']}:")
_DAY: Final = re.compile(r"\d{1,2} \w+ \d{1,4}(?: \([^)]*\))?")
_TURN: Final = re.compile("(?:user|assistant|system|tool): ")
_JSON: Final = re.compile(r"""\s*[\[{]\s*(?:["\[{\]}]|$)""")
_OPEN: Final = re.compile(f"^{OPEN}\n", re.MULTILINE)
_CLOSE: Final = re.compile(f"^{CLOSE}", re.MULTILINE)


class Line(NamedTuple):
    """A line that could be quoted: where it stands, its day, and who said what."""

    heading: str
    day: str
    text: str

    @property
    def words(self) -> str:
        """What was said, without who said it."""
        return self.text.removeprefix("user: ")

    @property
    def asked_by(self) -> str:
        """The words it is found by."""
        return line_asked_by(self.text) if self.heading in _FACTS else self.text


class RecallModel:
    """A `ChatModel` that answers the last question only by quoting the memory and the user's words in the prompt."""

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
    said = [message for message in messages if message.role == "user"]
    memory = next((found for message in reversed(said) if (found := _memory(message.text))), "")
    question = without_memory(said[-1]) if said else None
    if not question:
        return NOTHING
    text = "\n".join(filter(None, map(str.strip, question.text.splitlines())))
    asks = _ASKS.match(text or "?")
    if not asks and (_STATES.match(text) or extract(text, _ONCE)):
        return READ
    best = _best([*_remembered(memory), *_said(said[:-1])], set(query_words(text)))
    if not best:
        return NOTHING if asks else READ
    lines = [OPENING]
    for heading, line in best:
        if heading not in lines:
            lines += ["", heading]
        lines.append(f"> {line}")
    return "\n".join(lines)


def echoes(text: str) -> bool:
    """Whether a text is an answer of this kind: quotations alone, or that there are none. It holds nothing new."""
    return quotes(text) or text in (NOTHING, READ)


def quotes(text: str) -> bool:
    """Whether it quotes memory, and says nothing else."""
    return text.startswith(OPENING) and _QUOTES.fullmatch(text) is not None


def _memory(text: str) -> str:
    """What stands inside the fence of a text, nothing where it has none."""
    opened = _OPEN.search(text)
    closed = _CLOSE.search(text, opened.end()) if opened else None
    return text[opened.end() : closed.start()] if opened and closed else ""


def _remembered(memory: str) -> Iterator[Line]:
    """The lines of a memory; what an answer of this kind quoted before is not quoted again, nor is a tool's JSON."""
    heading = day = ""
    readable = True
    for line in memory.splitlines():
        if line.startswith("## "):
            heading, day, readable = line.removeprefix("## ") + ":", "", True
        elif _DAY.fullmatch(line):
            day, readable = f"{line}, ", True
        else:
            if said := _TURN.match(line):
                readable = not _JSON.match(line, said.end())
            if readable and line != SAYS and not line.startswith("> "):
                yield Line(heading, day, line.strip())


def _said(messages: Sequence[Message]) -> Iterator[Line]:
    """What the user said before in the conversation itself, which memory leaves out."""
    for message in filter(None, map(without_memory, messages)):
        day = f"{written(message.at)}, " if message.at else ""
        yield from (Line(EARLIER, day, f"user: {line}") for line in message.text.splitlines())


def _best(lines: Sequence[Line], wanted: set[str]) -> list[tuple[str, str]]:
    """The lines that share words with the question, those that share most; in their order, with their headings.

    The same question, asked before, is no answer; others are only where there is nothing else.
    """
    found = [
        (-shared, place, line)
        for place, line in enumerate(lines)
        if (shared := len(wanted.intersection(words(line.asked_by)))) and set(query_words(line.words)) != wanted
    ]
    answers = [one for one in found if not one[2].text.endswith("?")]
    best = sorted(sorted(answers or found)[:MOST], key=lambda item: item[1])
    return [(line.heading, f"{line.day}{line.text}") for _, _, line in best]
