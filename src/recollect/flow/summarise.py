"""The gist of a conversation in its own sentences: those with names, numbers and decisions, and nothing twice.

Nothing is reworded, so nothing can be made up: every sentence of a summary is in a message, and names that message.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from recollect.answers import Candidate
from recollect.flow.days import relative
from recollect.flow.sentences import NAME, QUESTION_MARKS, sentences
from recollect.recent import remembered

Count: TypeAlias = Callable[[str], int]
Words: TypeAlias = Callable[[str], list[str]]

MAX_CHARS: Final = 300
"""A longer sentence is split into parts."""
MAX_MESSAGE: Final = 20_000
"""How many characters of a message are looked at."""
A_LINE: Final = 120
"""The most characters of the one line that is taken from a tool's result."""
OWN_LINES: Final = 3
"""Up to this many lines of program output count as a message's own words; more were pasted, and are left out."""
MORE: Final = " \u2026"
"""The end of a sentence that is cut short."""
OWN_WORDS, TOOL_WORDS = 2.5, 0.25
"""What a person's word, and a tool's, is worth compared with an assistant's."""
DECIDED, ANSWERED, FILLER, NOISE = 1.3, 0.5, 0.5, 0.2
"""Factors of a sentence's worth: for a decision, an answered question, small talk, and code or titles."""
TELLING, LITTLE = 3.0, 0.2
"""What a name or number, and a word of small talk, is worth compared with another word."""
OVERHEAD, LENGTH = 15, 0.9
"""A sentence costs its length and this many characters, to this power."""
KEPT, KEPT_MESSAGES = 2_048, 256
"""For how many sentences the words are remembered, and for how many messages the sentences: most are looked at for
several summaries."""

_LEAD: Final = re.compile(r"(?:[-*+>#|\u2022\s]|\d{1,3}[.)]\s)+")
_SAYS: Final = re.compile(r"[^\W_]{2}|[^\W\d_a-zA-Z]")
_NUMBER: Final = re.compile(r"(?<![\w.])[$\u20ac\u00a3#]?\d[\d.,:/%-]*\w*")
_DECISION: Final = re.compile(
    r"\b(?:let'?s|let us|decided|agreed|settled on|booked|(?:i|we)(?:'ll| will)|i(?:'m| am) going to|i plan to"
    r"|i want to|i need to|deadline|must|never|always|remember|instead of|changed my mind|actually|prefer|my name is"
    r"|i(?:'m| am) (?:an?|the|allergic|from)|i (?:live|work|moved|started|bought|got))\b",
    re.IGNORECASE,
)
_DENIES: Final = re.compile(r"\b(?:not|never|no longer|cannot|\w+n['\u2019]t)\b", re.IGNORECASE)
_CHAT: Final = """
amaz awesom best bit cool excit feel fun glad good great happi help hope keep look lot love need nice peopl pretti
realli soon sound special super take talk thank thing time tip way wonder
"""
_SMALL_TALK: Final = frozenset(_CHAT.split())
_SAID: Final = re.compile(r" \(said [^()]+\)$")
_CODE: Final = re.compile(r"[{}<>=;\\`|_]|\w\(|https?://|::|->|\"\s*:|/\w+/")
_INLINE: Final = re.compile(r"`[^`]+`")
_PRINTED: Final = re.compile(
    r"\d+[:|](?!\d)|\"[^\"]*\"(?:\s*:|,$)"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{1,3}(?:\.\d{1,3}){3}\s"
    r"|(?:\S+\s+){0,2}\[?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL)\b|File \"|at [\w.$]+\("
    r"|(?:[^,]*,(?=\S)){3}|\S+(?:(?: {3,}|\t\s*)\S+){2}"
)
"""The start of a line that a program printed: a numbered file, JSON, a log, a stack trace, or a table."""
_FILLER: Final = re.compile(
    r"(?:wow|thanks?|thank you|great|awesome|nice|cool|sure|okay|ok|yes|yeah|no problem|you'?re welcome|hi|hey|hello"
    r"|of course|certainly|absolutely|good (?:morning|night|evening|luck)|congrat\w*|glad|i hope|let me know|feel free"
    r"|here (?:are|is)|i'?m (?:glad|happy|sorry)|that'?s (?:great|awesome|cool|so|really|nice)"
    r"|(?:please )?(?:hold on|bear with|one moment)|please (?:confirm|provide|let me know)|take care|safe travels"
    r"|have a (?:great|nice|good)|(?:let me|i'?ll|i will)(?: now| just)? (?:check|retrieve|look (?:in|up)|proceed)"
    r"|i (?:understand|apologi[sz]e|appreciate)|(?:if|once) you (?:have|need|'d like|would like|provide)"
    r"|is there anything|(?:could|can|would) you (?:please |also )*(?:provide|confirm|share|tell me|let me know))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Said:
    """A message to be summarised; `day` is the written date on which it was said."""

    id: str
    seq: int
    role: str
    speaker: str
    text: str
    day: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, word for word, of the message `id`, and how much it tells; `open` if it asks and nobody answered.

    `day` is when it was said, if it names a day that depends on that, such as "yesterday".
    """

    text: str
    seq: int
    id: str
    speaker: str
    score: float
    open: bool = False
    day: str = ""


def fold(
    before: Sequence[Sentence], messages: Sequence[Said], max_tokens: int, count: Count, words: Words
) -> list[Sentence]:
    """The summary `before` continued with these messages, in the order of time, within `max_tokens`."""
    return pick([*_answered(before, messages), *score(messages)], max_tokens, count, words)


def score(messages: Sequence[Said]) -> list[Sentence]:
    """Every sentence of these messages, in order, with a score for its kind."""
    looked_at = (replace(message, text=_cut(message.text, MAX_MESSAGE)) for message in messages)
    return _answered([sentence for message in looked_at for sentence in _told(message)], messages)


@remembered(KEPT_MESSAGES)
def _told(message: Said) -> Sequence[Sentence]:
    """The sentences of a message. The cache keeps the message itself, so it must not be long."""
    return tuple(
        Sentence(
            text,
            message.seq,
            message.id,
            message.speaker,
            _worth(message.role, text),
            _asks(text),
            message.day if relative(text) else "",
        )
        for text in _texts(message)
    )


def pick(found: Sequence[Sentence], max_tokens: int, count: Count, words: Words) -> list[Sentence]:
    """The sentences that together tell most within `max_tokens` as `render` writes them, in their order.

    They are taken best first until one does not fit, so a larger summary holds all that a smaller one does. A sentence
    counts for what it adds: words that the summary already has are worth nothing.
    """
    taken: list[int] = []
    for n in _best_first(found, words):
        if count(render([found[i] for i in sorted([*taken, n])])) > max_tokens:
            break
        taken.append(n)
    return [found[n] for n in sorted(taken)]


def render(found: Iterable[Sentence]) -> str:
    """The sentences as a context shows them: a line for each message, with the speaker and, if it matters, the day."""
    lines: dict[str, list[str]] = {}
    days: dict[str, str] = {}
    for sentence in found:
        lines.setdefault(sentence.id, [f"- {sentence.speaker}:"]).append(_plain(sentence.text))
        if sentence.day:
            days[sentence.id] = f" (said {sentence.day})"
    return "\n".join(" ".join(line) + days.get(id, "") for id, line in lines.items())


def unquoted(summary: Candidate, quoted: Sequence[Candidate], session: str) -> Candidate:
    """A summary without what is quoted elsewhere in the prompt: sentences of the same messages, and equal lines.

    The last lines of a summary are those of its sources, in order. `session` is the session of candidates that name
    none.
    """
    words = dict[tuple[str, str], str]()
    for candidate in quoted:
        words |= dict.fromkeys(candidate.cites(session), _plain(candidate.text))
    same = {_plain(line) for candidate in quoted for line in candidate.text.split("\n")}
    lines, cited = summary.text.split("\n"), list(summary.cites(session))
    lead, before = max(0, len(lines) - len(cited)), max(0, len(cited) - len(lines))
    pairs = zip(lines[lead:], cited[before:], strict=True)
    told = [(_left(line, words.get(source, ""), same), source) for line, source in pairs]
    if [line for line, _ in told] == lines[lead:]:
        return summary
    left = [(line, source) for line, source in told if line]
    sources = [*cited[:before], *(source for _, source in left)]
    return replace(
        summary,
        text="\n".join([*lines[:lead], *(line for line, _ in left)]),
        sources=tuple(id for _, id in sources),
        sessions=tuple(name for name, _ in sources) if summary.sessions else (),
    )


def _left(line: str, quoted: str, same: set[str]) -> str:
    """What a line tells beyond what is quoted of its message; empty if all of it is quoted."""
    told = _SAID.sub("", line.removeprefix("- "))
    who, _, words = told.partition(": ")
    if told in same or (quoted and words in quoted):
        return ""
    if not quoted:
        return line
    said = [words[slice(*span)].strip() for span in sentences(words, lines=False)]
    new = [text for text in said if text.removesuffix(MORE) not in quoted]
    if len(new) == len(said):
        return line
    rest, day = " ".join(new), _SAID.search(line)
    return f"- {who}: {rest}{day[0] if day and relative(rest) else ''}" if rest else ""


def _plain(text: str) -> str:
    return " ".join(text.replace("**", "").split())


def _best_first(found: Sequence[Sentence], words: Words) -> Iterator[int]:
    """The places of sentences, the one that adds most first. What one adds only shrinks, so a heap finds it fast."""
    speakers = {word for sentence in found for word in words(sentence.speaker)}
    terms = list(_contrary(found, [_terms(sentence.text, words, speakers) for sentence in found]))
    held: set[str] = set()
    heap = [(-_gain(sentence, terms[n], held), n) for n, sentence in enumerate(found)]
    heapq.heapify(heap)
    while heap:
        known, n = heapq.heappop(heap)
        gain = _gain(found[n], terms[n], held)
        if gain <= 0:
            continue
        if gain < -known:
            heapq.heappush(heap, (-gain, n))
            continue
        held.update(terms[n])
        yield n


def _gain(sentence: Sentence, terms: Mapping[str, float], held: set[str]) -> float:
    new: float = sum(weight for term, weight in terms.items() if term not in held) if len(terms) > 1 else 0.0
    return float(sentence.score * new / (OVERHEAD + len(sentence.text)) ** LENGTH)


def _terms(text: str, words: Words, speakers: set[str]) -> dict[str, float]:
    """The words of a sentence and their worth: names and numbers most, small talk and names of speakers little."""
    terms = _all_terms(text, words).items()
    return {word: LITTLE if word in speakers or word in _SMALL_TALK else worth for word, worth in terms}


@remembered(KEPT)
def _all_terms(text: str, words: Words) -> Mapping[str, float]:
    terms = dict.fromkeys(words(text), 1.0)
    for telling in (*NAME.findall(text), *_NUMBER.findall(text)):
        terms.update(dict.fromkeys(words(telling), TELLING))
    return terms


def _contrary(found: Sequence[Sentence], terms: Sequence[Mapping[str, float]]) -> Iterator[Mapping[str, float]]:
    """The terms of each sentence. One that denies an earlier sentence, or reverses a denial, gets a term for that."""
    said: tuple[dict[str, set[int]], dict[str, set[int]]] = ({}, {})
    for n, own in enumerate(terms):
        denies = _DENIES.search(found[n].text) is not None
        before = [said[not denies].get(term, set()) for term in own]
        yield {**own, f"{denies}: {' '.join(own)}": 1.0} if before and set.intersection(*before) else own
        for term in own:
            said[denies].setdefault(term, set()).add(n)


def _answered(found: Sequence[Sentence], messages: Sequence[Said]) -> list[Sentence]:
    """The same sentences; a question after which someone else spoke is no longer open, and counts less."""
    last = {message.speaker: message.seq for message in messages}
    return [
        replace(sentence, score=round(sentence.score * ANSWERED, 4), open=False)
        if sentence.open and any(seq > sentence.seq for who, seq in last.items() if who != sentence.speaker)
        else sentence
        for sentence in found
    ]


def _texts(message: Said) -> Iterator[str]:
    """The sentences of a message that a summary may use: those meant for people, without their list marks.

    Long ones come in parts. A tool's result gives one line, a system message nothing.
    """
    said = list(_said(message.text)) if message.role != "system" else []
    pasted = sum(map(_is_printed, said)) > OWN_LINES
    told = [text for text in said if not (_is_printed(text) and (pasted or len(text) > MAX_CHARS))]
    if message.role == "tool":
        told = [_cut(max(told, key=lambda text: _worth("tool", text)), A_LINE)] if told else []
    for text in told:
        yield from _parts(text)


def _said(text: str) -> Iterator[str]:
    for start, end in sentences(text, lines=True):
        lead = _LEAD.match(text, start, end)
        whole = text[lead.end() if lead else start : end].strip()
        if _SAYS.search(whole):
            yield whole


def _parts(text: str) -> Iterator[str]:
    most = MAX_CHARS - len(MORE)
    while len(text) > MAX_CHARS:
        at = max(text.rfind(sign, most // 2, most) for sign in (", ", "; ", ": ", " - "))
        part = text[: at + 1] + MORE if at >= 0 else _cut(text, MAX_CHARS)
        yield part
        text = text[len(part) - len(MORE) :].lstrip()
    if text:
        yield text


def _cut(text: str, most: int) -> str:
    """The text, or if it has more than `most` characters, its start up to the end of a word, with a mark."""
    if len(text) <= most:
        return text
    at = text.rfind(" ", 1, most - len(MORE) + 1)
    return text[: at if at > 0 else most - len(MORE)] + MORE


def _worth(role: str, text: str) -> float:
    """How much a word of a sentence is worth, by who says it and by what it is: a decision, small talk, noise."""
    worth = {"user": OWN_WORDS, "tool": TOOL_WORDS}.get(role, 1.0)
    if _DECISION.search(text):
        worth *= DECIDED
    if _FILLER.match(text):
        worth *= FILLER
    if text.rstrip("* ").endswith(":") or _is_code(text):
        worth *= NOISE
    return 0.0 if role == "tool" and _is_code(text) else round(worth, 4)


def _is_code(text: str) -> bool:
    return _PRINTED.match(text) is not None or len(_CODE.findall(text)) > 1 + len(text) / 40


def _is_printed(text: str) -> bool:
    """Whether a program printed this line; a person may also name `code` in a sentence."""
    return _is_code(_INLINE.sub("", text))


def _asks(text: str) -> bool:
    return text.rstrip("\"')\u201d* ").endswith(QUESTION_MARKS)
