"""A message as what its writer asserts in his own voice: no quotes, code, pasted text, questions, what-ifs or roles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

MAX_TEXT: Final = 20_000
"""Characters of a message that are looked at: a person types no more, the rest was pasted."""
MAX_CLAUSE: Final = 300

GAP: Final = "\x00"
"""What stands where something was taken out: no word, no blank, no punctuation, so that nothing reads across it."""

_KINDS_OF_TEXT: Final = (
    r"(?:text|e-?mail|letter|message|essay|paragraph|sentence|phrase|passage|article|abstract|review|poem|story|novel|"
    r"song|lyrics|script|speech|statement|bio|biography|profile|resume|résumé|cv|summary|transcript|dialogue?|"
    r"conversation|document|report|post|tweet|caption|comment|draft|note|notes|excerpt|snippet|code|quote|prompt|"
    r"description|blog|chapter|diary|monologue|scenario|grammar|sentiment|cover letter)s?"
)
_DO_WITH_TEXT: Final = (
    r"(?:proof-?read|translate|summari[sz]e|re-?write|re-?phrase|paraphrase|edit|fix|correct|improve|check|review|"
    r"classify|analy[sz]e|continue|complete|finish|write|draft|compose|generate|create|convert|extract|format|polish|"
    r"shorten|expand|explain|interpret|evaluate|rate|critique|answer|respond to|reply to|read|label|tag|categori[sz]e)"
)
_TAKEN_OUT: Final = tuple(
    re.compile(pattern, re.MULTILINE | re.IGNORECASE)
    for pattern in (
        r"(?s:```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z))",
        r"`[^`\n]{1,200}`",
        r"^[ \t]*>.*$",
        r"^(?:\t| {4,})\S.*$",
        r"^[ \t]*(?:def |class |import |from \w+ import|return\b|print\(|select .* from|const |let \w+ =|var |//|/\*|#|"
        r"function |if \(|for \(|while \(|elif |else:|<\w|</|\$ |>>>).*$",
        r"^.*(?:[;{}]|\);|\) ?\{)[ \t]*$",
        r"^[ \t]*[{\[].*$",
        r"“[^”]{0,1000}”|«[^»]{0,1000}»|„[^“”]{0,1000}[“”]",
        r"\"[^\"\n]{0,500}\"",
        r"(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){1,300}'(?!\w)",
    )
)
_PASTED_FROM: Final = re.compile(
    r"^[ \t]*(?:from|to|subject|cc|bcc|sent|date|re|fwd?|title):\s.*"
    r"|^[ \t]*-{3,}.{0,20}(?:original|forwarded) message"
    r"|^[ \t]*on .{4,80} wrote:"
    r"|^[ \t]*(?:dear|to whom it may)\b.{1,60}"
    rf"|\b{_DO_WITH_TEXT}\b[^.!?\n]{{0,120}}(?::|\n\s*\n)"
    rf"|\b(?:this|these|following|below)(?: \w+)? {_KINDS_OF_TEXT}\b[^.!?\n]{{0,80}}[.!?:\n]"
    rf"|\b(?:here is|here's|here are|this is)\b[^.!?\n]{{0,40}}\b{_KINDS_OF_TEXT}\b[^.!?\n]{{0,40}}[.:\n]",
    re.MULTILINE | re.IGNORECASE,
)
_PRETENDED_FROM: Final = re.compile(
    r"(?:^|[.!?,:;\n]\s*|\b(?:and|so|now|but|please|ok|okay) )(?:please )?"
    r"(?:you are (?:now )?(?:a|an|the|my|going to)\b|you're (?:now )?(?:a|an|my|going to)\b"
    r"|(?-i:[Yy]ou(?: are|'re) [A-Z])|act (?:as|like)\b|behave (?:as|like)\b|pretend\b|imagine\b|role-?play\b"
    r"|let's (?:play|pretend|role|imagine|say|assume|suppose)\b|i want you to (?:act|play|be|pretend|imagine|take|write)\b"
    r"|suppose\b|supposing\b|assume\b|assuming\b|say (?:i|my|we)\b|hypothetically\b|what if\b|as if\b"
    r"|in (?:my|the|this|a|an) (?:\w+ )?(?:story|novel|book|dream|game|play|film|movie|song|poem|world|universe|scenario)\b"
    r"|for (?:the sake of|this (?:game|scenario|exercise|role))\b|for example\b|e\.g\.|once upon a time\b"
    r"|(?:first|opening) line\b|character:|scene:|persona:|bio:|user:|human:|assistant:|system:)",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE: Final = re.compile(r"[^.!?\n;]+(?:[.!?;](?![\s\"')\]]|$)[^.!?\n;]*)*[.!?;]*")
_ABBREVIATED: Final = re.compile(r"(?:^|[\s(])(?:mr|mrs|ms|dr|st|prof|sr|jr|vs|inc|ltd|e\.g|i\.e|approx|no|[A-Z])\.$", re.I)
_NOT_MEANT: Final = re.compile(
    r"^\W*(?:oh,? (?:great|sure|yeah|wonderful|joy|yes|boy|right)|yeah,? right|sure,|wow,? (?:so|i'm such)|because i just"
    r"|of course i (?:love|enjoy|adore)|as if)\b|/s\s*$|\bi (?:just|totally|absolutely|so) (?:love|adore|enjoy)"
    r" (?:it|when|how|being|waiting|sitting|getting|paying|having)\b|[🙄🙃]",
    re.IGNORECASE,
)
_HEDGED: Final = re.compile(
    r"\b(?:if|unless|whether|suppos\w+|imagin\w+|pretend\w*|would|wouldn't|could|might|wish\w*|hop(?:e|ing)|maybe|perhaps|possibly|"
    r"hypothetical\w*|in case|as if|once|when|whenever|until|one day|someday|ideally?|ideal world|dream\w*|used to|"
    r"back then|as a (?:kid|child|teenager)|years ago|said|says|say|saying|told|tells|claim\w*|wrote|writes|written|asked|asks|think\w*|"
    r"thought|believes?|whisper\w*|repl(?:y|ies|ied)|shout\w*|according to|quot\w+|lyrics|sings?|sang|reads?|"
    r"titled|entitled|sentence|phrase|character|protagonist|narrator|didn't|doesn't|isn't|aren't|never|not true|don't think|doubt|"
    r"lie|lied|joke|joking|kidding|example|story|novel|poem|song|between|instead of|rather than)\b",
    re.IGNORECASE,
)
_BREAK: Final = re.compile(
    r"(?:[,:(–—]|\s-{1,2})\s*"
    r"|\s(?:and|but|because|since|so|as|though|although|while|plus|cause|cuz)\s+(?=(?:i|i'm|i've|my|we|we're|our)\b)",
    re.IGNORECASE,
)
_ELIDED: Final = re.compile(
    r"\s(?:and|but)\s+(?=(?:(?:currently|now|also|still|really|mostly) )?"
    r"(?:work|live|love|like|hate|enjoy|prefer|use|am|moved|speak|have an?|don't like|can't stand)\s)",
    re.IGNORECASE,
)
_SUBJECT: Final = re.compile(r"(?:i|we)\b", re.IGNORECASE)
_BECAUSE: Final = re.compile(r"(?:because|since|as|cause|so)\s+(?=(?:i|i'm|my|we)\b)", re.IGNORECASE)
_OPENING: Final = re.compile(
    r"(?:(?:actually|well|ok|okay|so|also|and|but|no|nope|yes|yeah|yep|btw|by the way|fyi|just so you know|for the record|"
    r"to be honest|honestly|hi|hello|hey|hi there|hello there|hey there|good (?:morning|afternoon|evening)|thanks(?! (?:a|so|very|for)\b)|"
    r"thank you(?! (?:so|very|for)\b)|please|sorry|oops|correction|(?:quick |small )?update|(?:please )?(?:remember|note|know|be aware)(?: that)?|"
    r"as you know|in fact|i mean|hmm|oh|right|anyway|anyways|unfortunately|fortunately|sadly|luckily|"
    r"now|nowadays|these days|recently|lately|personally|in general|generally|by now|today|additionally|"
    r"don't forget(?: that)?|just to let you know|as of (?:now|today|last \w+)|from now on|going forward|in (?:the )?future)"
    r"(?:\s*[,:!.–—-]+\s*|\s+))+",
    re.IGNORECASE,
)
_REQUEST: Final = re.compile(r"(?:can|could|will|would) you (?:please )?remind me\b", re.IGNORECASE)
_ASKS: Final = re.compile(
    r"\W*(?:what|what's|where|where's|who|who's|whom|whose|why|when|how|how's|which|is|isn't|are|aren't|am|was|were|do|"
    r"don't you|does|doesn't|did|didn't|can|can't|could|couldn't|should|shouldn't|would|wouldn't|will|won't|have (?:i|you|we)|has|any|may|might|"
    r"shall|suggest|recommend|tell|show|give|help)\b",
    re.IGNORECASE,
)
_GREETED: Final = re.compile(r"(?:^|[\s,.!])(?:hi|hello|hey|good (?:morning|afternoon|evening)|greetings)(?: there| all| everyone)?[\s,.!–-]*$", re.I)  # fmt: skip
_WRITE: Final = re.compile(
    rf"^\W*(?:please |can you |could you |now |help me )*(?:{_DO_WITH_TEXT}|tell (?:me )?a|make up|sing|come up with)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Clause:
    """Words that start where someone may assert something, up to the end of their sentence.

    `offset` is where they start in the message, `greeted` whether a greeting stands before them. Where the subject was
    left out ("and work at …"), `elided`, the text has an "I " in front of it.
    """

    text: str
    offset: int
    at: datetime
    greeted: bool = False
    elided: bool = False


def clauses(text: str, at: datetime) -> Iterator[Clause]:
    """Each place of a message where its writer may say something of himself, in order."""
    prose = own_words(text)
    for start, sentence in _sentences(prose):
        asks = sentence.rstrip().endswith("?")
        if _NOT_MEANT.search(sentence):
            continue
        yield from _clauses(sentence, start, at, asks, bool(_GREETED.search(prose[max(0, start - 30) : start])))


def own_words(text: str) -> str:
    """The message, as long as before, with gaps where something is code, quoted, pasted, sung or pretended."""
    prose = text[:MAX_TEXT].replace("\u2019", "'").replace("\u2018", "'").replace("\u02bc", "'")
    for pattern in _TAKEN_OUT:
        prose = pattern.sub(lambda match: _blank(match[0]), prose)
    if pretended := _PRETENDED_FROM.search(prose):
        prose = _blank_from(prose, pretended.start())
    if pasted := _PASTED_FROM.search(prose):
        prose = _blank_from(prose, pasted.start() if _is_header(pasted[0]) else pasted.end())
    return _without_verse(prose)


def _is_header(cue: str) -> bool:
    return re.match(r"\s*(?:-|on |dear|to whom|\w+:)", cue, re.IGNORECASE) is not None


def _blank(taken: str) -> str:
    return "".join(char if char == "\n" else GAP for char in taken)


def _blank_from(prose: str, start: int) -> str:
    return prose[:start] + GAP * (len(prose) - start)


def _without_verse(prose: str) -> str:
    """Three or more short lines in a row that end without a stop are a song, a poem or a list, not something said."""
    lines = prose.split("\n")
    verse = [0 < len(line.strip(" \t\x00")) <= 70 and line.rstrip()[-1] not in ".!?:" for line in lines]
    out, n = list[str](), 0
    while n < len(lines):
        end = n
        while end < len(lines) and verse[end]:
            end += 1
        size = max(1, end - n)
        out += [_blank(line) for line in lines[n : n + size]] if end - n >= 3 else lines[n : n + size]
        n += size
    return "\n".join(out)


def _sentences(prose: str) -> Iterator[tuple[int, str]]:
    start: int | None = None
    for match in _SENTENCE.finditer(prose):
        start = match.start() if start is None else start
        sentence = prose[start : match.end()]
        if len(sentence) < MAX_CLAUSE and _ABBREVIATED.search(sentence) and prose[match.end() : match.end() + 1] == " ":
            continue
        yield start, sentence
        start = None
    if start is not None:
        yield start, prose[start:]


def _clauses(sentence: str, start: int, at: datetime, asks: bool, greeted: bool) -> Iterator[Clause]:
    head = sentence[: 2 * MAX_CLAUSE]
    opened = _skip(head, len(head) - len(head.lstrip()))
    if asks and _REQUEST.match(head, opened):
        yield Clause(head[opened:], start + opened, at)
    head = _told(head, opened) if asks else head
    for place, elided in [(opened, False), *_breaks(head, opened)]:
        before, begin = head[opened:place], _skip(head, place)
        if _HEDGED.search(before) or _WRITE.match(before):
            return
        rest = head[begin : begin + MAX_CLAUSE]
        hello = greeted or _GREETED.search(head[:begin]) is not None
        yield Clause("I " + rest if elided else rest, start + begin - 2 * elided, at, hello, elided)


def _told(head: str, opened: int) -> str:
    """What a question says before it starts to ask; a mere "right?" at its end asks about all of it."""
    if _ASKS.match(head, opened):
        return ""
    for place, _ in _breaks(head, opened):
        if _ASKS.match(head, place):
            return head[:place] if len(head[place:].split()) > 3 else ""
    return ""


def _skip(head: str, place: int) -> int:
    """Where something begins once words like "well", "by the way" and "because" are passed over."""
    if because := _BECAUSE.match(head, place):
        place = because.end()
    opening = _OPENING.match(head, place)
    return opening.end() if opening else place


def _breaks(head: str, opened: int) -> list[tuple[int, bool]]:
    """Where a clause may begin; true where it shares the "I" of the one right before it."""
    found = {match.end(): False for match in _BREAK.finditer(head, opened)}
    for match in _ELIDED.finditer(head, opened):
        before = max((place for place in found if place <= match.start()), default=opened)
        if match.end() not in found and _SUBJECT.match(head, before):
            found[match.end()] = True
    return sorted(found.items())
