"""Does a question ask for what is new in the world, so that a search of the web would help?"""

from __future__ import annotations

import re
from datetime import date
from typing import Final

from recollect.arguments import MAX_QUESTION

_NEW: Final = re.compile(
    r"\b(latest|newest|most recent|recently|news|headlines?|breaking|today|tonight|tomorrow|yesterday|right now"
    r"|at the moment|these days|as of now|currently|current|up[- ]to[- ]date|this (?:week|weekend|month|year|season)"
    r"|last (?:night|week|weekend)|so far this year|price of|cost of|exchange rate|stock price|share price"
    r"|weather|forecast|who (?:won|is winning|leads)|release date|come out yet|released yet|upcoming)\b",
    re.IGNORECASE,
)
_OWN: Final = re.compile(
    r"\b(my|mine|our|ours|(?:did|do|have|had|was|were|am|are) (?:i|we)|i(?:'ve| have| had| was| did| said| told)"
    r"|(?:did|have) you|you (?:said|told|mentioned|suggested))\b",
    re.IGNORECASE,
)
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")


def asks_for_news(question: str, today: date) -> bool:
    """Whether the question is about current events: it has a word such as "latest", or names this or a later year.

    A question about the user's own life ("what did I do today?") is not: memory answers that.
    """
    asked = question[:MAX_QUESTION].replace("\u2019", "'")
    if _OWN.search(asked):
        return False
    return bool(_NEW.search(asked)) or any(int(year) >= today.year for year in _YEAR.findall(asked))
