"""The writer's own words: a message without quotes, code, pasted text, songs, and what is only pretended."""

from __future__ import annotations

import re
from typing import Final

from recollect.flow.facts.wording import any_of, rule, small

MAX_TEXT: Final = 20_000
"""How many characters of a message are looked at: nobody types more, so the rest was pasted."""
GAP: Final = "\x00"
"""Fills the place of what was taken out. It is not a word, blank or punctuation, so no rule reads across it."""

_SAME_MEANING: Final = {**dict.fromkeys((0x2018, 0x2019, 0x02BC), "'"), **dict.fromkeys(range(0xD800, 0xE000), GAP)}
_SOME_TEXT: Final = any_of(
    """texts? e-?mails? letters? messages? essays? paragraphs? sentences? phrases? passages? articles? abstracts?
    reviews? poems? story stories novels? songs? lyrics scripts? speech statements? bios? biography profiles?
    resumes? résumés? cvs? summary transcripts? dialogue? conversations? documents? reports? posts? tweets?
    captions? comments? drafts? notes? excerpts? snippets? code quotes? prompts? descriptions? blogs? chapters?
    diary monologues? scenarios? grammar sentiments?"""
)
DO_WITH_TEXT: Final = any_of(
    """proof-?read translate summari[sz]e re-?write re-?word re-?phrase paraphrase edit fix correct improve check review
    classify analy[sz]e continue complete finish write draft compose generate create convert extract format polish
    shorten expand explain interpret evaluate rate critique answer respond_to reply_to read label tag categori[sz]e"""
)
NOTES: Final = any_of(
    """update note fyi btw ps correction reminder about_me context background intro fact edit thing introduce_myself
    changed_jobs misspoke wrong (?:good|great|big)_news"""
)
"""Labels that announce the writer's own words; any other name before a colon tells who is speaking."""
_TAKEN_OUT: Final = tuple(
    (needs, re.compile(pattern, re.MULTILINE | re.IGNORECASE))
    for needs, pattern in (
        (("```", "~~~"), r"(?s:```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z))"),
        ("`", r"`[^`\n]{1,1000}`"),
        (">", r"^[ \t]*>.*$"),
        (("\t", "    "), r"^(?:\t| {4,})\S.*$"),
        (
            "",
            r"^[ \t]*(?:def |class |import |from \w+ import|return\b|print\(|select .* from|const |let \w+ =|var ).*$",
        ),
        ("", r"^[ \t]*(?://|/\*|#|function |if \(|for \(|while \(|elif |else:|<\w|</|\$ |>>>|[{\[]).*$"),
        (";{}", r"^.*[;{}][ \t]*$"),
        (":", rf"^[ \t]*(?!{NOTES}:)(?-i:[A-Z][a-z]+(?: [A-Z][a-z]+)?): (?=(?:i|i'm|i've|my|we|our|hi|hello)\b).*$"),
        ("“«„", r"“[^”]{0,1000}”|«[^»]{0,1000}»|„[^“”]{0,1000}[“”]"),
        ('"', r"\"[^\"\n]{0,500}\""),
        ("'", r"(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){1,300}'(?!\w)"),
    )
)
"""Patterns, each with texts of which it needs at least one: those are looked for first."""
_HEADER: Final = re.compile(
    r"^[ \t]*(?:(?:from|to|subject|cc|bcc|sent|date|re|fwd?|title):\s|(?:dear|to whom it may)\b.{1,60}"
    r"|-{3,}.{0,20}(?:original|forwarded) message|on .{4,80} wrote:)",
    re.MULTILINE | re.IGNORECASE,
)
_HERE_COMES_TEXT: Final = rule(
    rf"\b{DO_WITH_TEXT}\b[^.!?\n]{{0,120}}?(?::|(?<=this) - |\n\s*\n)",
    rf"\b(?:this|these|following|below)(?: \w+)? {_SOME_TEXT}\b[^.!?\n]{{0,80}}?[.!?:\n]",
    rf"\b(?:here is|here's|here are|this is)\b[^.!?\n]{{0,40}}\b{_SOME_TEXT}\b[^.!?\n]{{0,40}}?[.:\n]",
    rf"\b{DO_WITH_TEXT} [^.!?\n]{{0,40}}?{_SOME_TEXT} (?:of|in) (?:this|these)[.:]",
    rf"\b(?:his|her|their) {_SOME_TEXT}\b[^.!?\n]{{0,40}}?:",
    r"\b(?:is|are|does|do) (?:this|these|it|the following)\b[^.!?\n]{0,40}?"
    r"\b(?:correct|right|grammatical|sound|natural|mean)\b[^.!?\n]{0,40}?[?:\n]",
)
FICTION: Final = any_of(
    """campaign story novel book dreams? game play film movie song poem world universe scenario sketch screenplay
    simulation musical series sitcom tale fan_fiction role-?play"""
)
_SPEAKER: Final = any_of(
    """character scene persona bio user human assistant system q a question answer speaker narrator interviewer
    interviewee tweet caption slogan lyrics dialogue candidate applicant customer client patient caller agent"""
)
_PRETENDING: Final = (
    r"(?:act|behave) (?:as|like)\b|rp\b|let'?s (?:play|pretend|role|imagine|say|assume|suppose)\b"
    r"|i want you to (?:act|play|be|pretend|imagine|take|write)\b|say (?:i|my|we)\b|what if\b|as if\b|e\.g\."
    r"|(?:pretend|imagine|role-?play|suppose|supposing|assume|assuming|hypothetically|for example|once upon a time)\b"
    r"|in (?:my|the|this|an?|our) (?:[\w&]+ )?"
    rf"{FICTION}\b"
    r"|for (?:the (?:sake|purposes?) of|this (?:game|scenario|exercise|role))\b|(?:first|opening) line\b"
    rf"|{_SPEAKER}(?: \d)?:|as an ai\b"
)
PRETENDED: Final = re.compile(
    r"(?:^|[.!?,:;\n]\s{0,9}|\b(?:and|so|now|but|please|ok|okay) )(?:please )?"
    r"(?:you are (?:now )?(?:an?|the|my|going to)\b|you'?re (?:now )?(?:an?|the|my|going to)\b"
    rf"|(?-i:[Yy]ou(?: are|'?re) [A-Z])|{_PRETENDING})",
    re.MULTILINE | re.IGNORECASE,
)
_MAY_PRETEND: Final = small(rf"you are|you'?re|{_PRETENDING}")
_MAY_COME: Final = small(r"[:\n]|this|these|following|below|here| it\b")
"""What the slow rules need, in small letters: most messages have none of it."""


def own_words(text: str) -> str:
    """The message at its full length, with gaps in place of what is code, quoted, pasted, sung or pretended."""
    prose = text[:MAX_TEXT].translate(_SAME_MEANING)
    for needs, pattern in _TAKEN_OUT:
        if not needs or any(need in prose for need in needs):
            prose = pattern.sub(lambda match: _blank(match[0]), prose)
    small, cut = prose.casefold(), len(prose)
    if _MAY_PRETEND.search(small) and (match := PRETENDED.search(prose)):
        cut = match.start()
    if match := _HEADER.search(prose, 0, cut):
        cut = match.start()
    if _MAY_COME.search(small) and (match := _HERE_COMES_TEXT.search(prose, 0, cut)):
        cut = match.end()
    return _without_verse(prose[:cut] + GAP * (len(prose) - cut))


def _blank(taken: str) -> str:
    return "".join(char if char == "\n" else GAP for char in taken)


def _without_verse(prose: str) -> str:
    """The text without songs, poems and lists: three or more short lines in a row that end without punctuation."""
    lines, verse = prose.split("\n"), list[int]()
    for n, line in enumerate([*lines, ""]):
        words = line.strip(" \t\r" + GAP)
        if 0 < len(words) <= 70 and words[-1] not in ".!?:":
            verse.append(n)
            continue
        if len(verse) >= 3:
            lines[verse[0] : n] = map(_blank, lines[verse[0] : n])
        verse = []
    return "\n".join(lines)
