"""Recognises in a provider's words that the context overflowed, and which limit they name."""

from __future__ import annotations

import re
from typing import Final

from recollect.errors import ContextOverflow

LONGEST: Final = 20_000
"""How many characters are read: no error is longer, and what follows is an echo of the request."""
_OTHER_STATUS: Final = frozenset({401, 402, 403, 404, 408, 429, 529})


def detect(status: int | None, text: str) -> ContextOverflow | None:
    """The error for a text that tells of an overflow, which may be the reason why a reply ended; None if it does not.

    `status` is that of the HTTP reply: 200 for an error inside a stream, None if there was no reply.
    """
    said = " ".join(text[:LONGEST].replace("\\u003e", ">").replace("\\u003c", "<").split())
    if status in _OTHER_STATUS or re.search(_OTHER, said):
        return None
    if not re.search(_OVERFLOW, said) and not (status in (400, 413) and re.fullmatch(_NO_BODY, said)):
        return None
    limit = _number(_LIMIT, said)
    if _only_the_reply(limit, said):
        return None
    problem = f"the request is too large for the context: {text[:500]}"
    return ContextOverflow(problem, limit, _size(said), _number(_REPLY, said))


def _any(*patterns: str) -> str:
    """A pattern for any of these, compiled when needed: that takes long, and few processes ever see an overflow."""
    return f"(?i:{'|'.join(patterns)})"


_NUMBER: Final = r"(\d{1,3}(?:[,_]\d{3}){1,3}|\d{1,12})(?!\d)"
_CONTEXT: Final = r"context[ _-]?(?:length|window|size|limit)"
_SAID: Final = r"(?:prompt|input|inputs|request|messages|conversation|content)"

_OTHER: Final = _any(
    r"throttl",
    r"rate[ _-]?limit",
    r"too many requests",
    r"\btokens?[ -]per[ -](?:min|hour|day|sec)",
    r"\bTP[MD]\b",
    r"quota|billing|credit balance|usage limit|\b(?:hourly|daily|weekly|monthly)\b|\byour plan\b",
    r"please wait before",
    r"physical batch size",
    r"valid range of max_",
    r"maximum allowed number of output tokens",
    r"at most \d+ (?:completion|output) tokens",
    r"maximum tokens you requested",
    r"(?<!\+ )(?<!\+ `)\bmax_\w*tokens\W{0,2} (?:value )?(?:\(\d+\) )?(?:must|is greater|exceeds (?!context))",
)

_OVERFLOW: Final = _any(
    rf"{_CONTEXT}[ _](?:has been |was |is )?exceed",
    rf"exceed\w{{0,5}}[^.;]{{0,60}}\b{_CONTEXT}\b",
    rf"\b{_SAID}\b[^.;]{{0,40}}\bexceed\w{{0,5}} (?:the |your |model |model's )*"
    r"(?:limit of|(?:configured|token|input|model)? ?(?:limit|maximum)|maximum number of tokens)",
    r"\btokens?\b[^.;]{0,30}\bexceed\w{0,5} (?:the )?(?:configured |model |model's )*(?:limit|maximum)",
    r"(?:exceed\w{0,5}|over) (?:the )?(?:model|model's) (?:token limit|maximum)",
    r"exceed\w{0,5} the (?:maximum|available) (?:number of tokens|request size|size)\b",
    rf"\b{_SAID} (?:is |are |was )?too (?:long|large)\b(?! to process)",
    r"request_too_large",
    r"exceed_context_size",
    rf"(?:longer|larger|greater) than the (?:model's |max(?:imum)? |available |allowed )*(?:{_CONTEXT}|model length)",
    rf"(?:maximum|max) (?:context|prompt|input|sequence) (?:length|size|window) (?:is|of) {_NUMBER}",
    rf"too (?:large|long) for (?:the |this )?model with {_NUMBER}",
    r"reduce the length of the (?:messages|prompt|input)",
    r"too many total text bytes",
    rf"length is {_NUMBER} while (?:the )?limit is",
    rf"tokens`? ?\+ ?`?max_\w+`? must be <= ?{_NUMBER}",
)
_NO_BODY: Final = _any(r"|(?:400|413)?(?: status code)? ?\(no body\)")  # how Cerebras says it

_LIMIT: Final = _any(
    rf"(?:maximum|max) (?:context|prompt|input|model|sequence) (?:length|size|window)(?: is| of|:) {_NUMBER}",
    rf"{_CONTEXT}(?: is| of|:) {_NUMBER}(?! \+)",
    rf"{_CONTEXT} \({_NUMBER} tokens\)",
    rf"(?:limit|maximum) (?:of|is) {_NUMBER}",
    rf"token limit: {_NUMBER}",
    rf"tokens > {_NUMBER}",
    rf"{_CONTEXT}: \d+ \+ \d+ > {_NUMBER}",
    rf"maximum \({_NUMBER}\)",
    rf"tokens allowed \({_NUMBER}\)",
    rf"must be <= ?{_NUMBER}",
    rf"{_NUMBER} (?:token )?maximum context",
    rf'"n_ctx": ?{_NUMBER}',
)
_TOKENS: Final = _any(
    rf"total of (?:at least )?{_NUMBER} tokens",
    rf"(?:resulted in|requested|requested about|contains|contain|has) {_NUMBER} (?:input )?tokens(?! and)",
    rf"{_NUMBER} tokens >",
    rf"(?:request|input|prompt) \({_NUMBER} tokens\)",
    rf"(?:token count|tokens) \({_NUMBER}\)",
    rf"token count of {_NUMBER}",
    rf"\(length {_NUMBER}\)",
    rf"length is {_NUMBER} while",
    rf"contains {_NUMBER} tokens",
    rf"\(requested: {_NUMBER}\)",
    rf'"n_prompt_tokens": ?{_NUMBER}',
)
_SUM: Final = _any(
    rf"{_CONTEXT}: {_NUMBER} \+ {_NUMBER} >",
    rf"given: {_NUMBER} `?inputs`? tokens and {_NUMBER}",
)
_REPLY: Final = _any(
    rf"{_NUMBER} in the completion",
    rf"{_NUMBER} tokens for the completion",
    rf"requested {_NUMBER} output tokens",
    rf"{_CONTEXT}: \d+ \+ {_NUMBER} >",
    rf"tokens and {_NUMBER} `?max_new_tokens",
)
_ASKED_TO_ANSWER: Final = _any(rf"max_(?:completion_|output_|new_)?tokens\W* is too (?:large|long|high): {_NUMBER}")


def _number(pattern: str, text: str) -> int | None:
    numbers = _numbers(pattern, text)
    return numbers[0] if numbers else None


def _numbers(pattern: str, text: str) -> list[int]:
    match = re.search(pattern, text)
    found = [group for group in match.groups() if group] if match else []
    return [int(group.replace(",", "").replace("_", "")) for group in found]


def _size(text: str) -> int | None:
    return _number(_TOKENS, text) or sum(_numbers(_SUM, text)) or None


def _only_the_reply(limit: int | None, text: str) -> bool:
    """Whether the tokens asked for the answer exceed the limit alone, so that a shorter prompt would not help."""
    asked = _number(_ASKED_TO_ANSWER, text)
    return asked is not None and (limit is None or asked >= limit)
