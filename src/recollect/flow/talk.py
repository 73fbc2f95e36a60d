"""What a question is about beside its topic: the talk itself, what the assistant said, the user, or several things."""

from __future__ import annotations

import re
from typing import Final

from recollect.flow.days import DAY, MONTH, WEEKDAYS
from recollect.flow.facts.wording import word_set

MAX_WORDS: Final = 20
_WORD: Final = re.compile(r"[^\W_]+")
_DATE: Final = re.compile(
    rf"\b(?:(?:{DAY} (?:of )?)?{MONTH}(?: {DAY})?(?:,? (?:19|20)\d\d)?|in (?:19|20)\d\d|(?:19|20)\d\d-\d\d-\d\d)\b"
)
_TALK: Final = word_set(
    """talk talked talking speak spoke spoken chat chatted chatting discuss discussed discussing conversation
    conversations topic topics tell told say said mention mentioned ask asked"""
)
_TIME: Final = word_set(
    """yesterday today tonight morning afternoon evening night day days week weeks weekend month months year ago earlier
    before last previous latest recent recently lately first time past most two three few couple since 2 3"""
)
_HAPPENED: Final = word_set(
    "happened happen remember recall recap summary overview summarise summarize summarised summarized"
)
"""Words that ask for the talk only where they name a time: "What do you remember from yesterday?"."""
_DONE: Final = re.compile(
    r"\b(?:did (?:i|we) (?:do|work on|get up to)|(?:was|were) (?:i|we) (?:doing|working on|up to)"
    r"|have (?:i|we) (?:done|worked on|been (?:doing|working on|up to)))\b(?! before)"
)
"""Words that do so, too: "What did I do in July?"."""
_LITTLE: Final = word_set(
    """what whats s which who did do does have has had we i you us me my our your was were is are been the a an of in on
    at about with each other to so and please again all else thing things that this it can could would remind know
    from just here then now back there any anything everything something ok hey hi give for"""
)
_ALL: Final = _TALK | _TIME | _HAPPENED | _LITTLE | WEEKDAYS.keys()

_ASKS_ASSISTANT: Final = re.compile(
    r"\b(our (last |previous |earlier |past |prior )?(conversation|chat|discussion|session)"
    r"|(previous|earlier|last) (conversation|chat)|remind me"
    r"|you (said|told|mentioned|recommended|suggested|gave|provided|listed|wrote|explained|described|shared|named"
    r"|created|made|advised)|did you|your (answer|suggestion|recommendation|advice|list|reply|response))\b",
    re.IGNORECASE,
)
_OF_OWN: Final = re.compile(
    r"\b(?:my|mine|ours?|we|(?-i:us)|(?:did|have|had|was|am|were) i|(?<!how )do i)\b", re.IGNORECASE
)
_AUXILIARY: Final = (
    r"(?:do|does|did|is|are|am|was|were|have|ha[sd]|can|could|should|would|will|must|might|may)(?:n['\u2019]t)?\b"
)
_SEVERAL: Final = re.compile(
    r"\b(?:how (?:many|often)|all|every|each|list|altogether|in total|so far)\b"
    rf"|\b(?:which|what) (?:(?:kinds?|types?|sorts?) of )?(?!{_AUXILIARY})(?:\w+ )?(?!{_AUXILIARY})\w+[^\Wsui]s"
    rf"(?: (?:of|for|or|and|in|by|from)(?: \S+){{1,4}}?)? {_AUXILIARY}",
    re.IGNORECASE,
)
"""Words that ask for several things, the last of them a plural: "Which books have I read?", not "What comes next?"."""


def asks_of_talk(question: str) -> bool:
    """Whether a question asks what was said, at a certain time or in general, and names no topic."""
    text = question[:1_000].lower()
    undated = _DATE.sub("", text)
    words = _WORD.findall(_DONE.sub("", undated))
    happened = not _HAPPENED.isdisjoint(words) or _DONE.search(undated)
    timed = undated != text or not (_TIME | WEEKDAYS.keys()).isdisjoint(words)
    asks = not _TALK.isdisjoint(words) or (happened and timed)
    return bool(asks) and len(words) <= MAX_WORDS and _ALL.issuperset(words)


def asks_of_assistant(question: str) -> bool:
    """Whether a question asks for what the assistant said: "Which wine did you recommend?"."""
    return _ASKS_ASSISTANT.search(question) is not None


def asks_of_own(question: str) -> bool:
    """Whether a short question is about the user: "What is my address?", but not "How do I bake bread?"."""
    text = question[:1_000]
    return len(_WORD.findall(text)) <= MAX_WORDS and _OF_OWN.search(text) is not None


def asks_for_several(question: str) -> bool:
    """Whether the answer may be spread over many conversations: "How many books have I read?"."""
    return _SEVERAL.search(question[:1_000]) is not None
