"""Reads names, things and lists of things from a place in a sentence: where they end, and whether there is one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from recollect.flow.days import MONTH
from recollect.flow.facts.places import PLACE
from recollect.flow.facts.wording import any_of, rule, word_set


class Phrase(NamedTuple):
    """Some words and where they end in the text they were read from."""

    text: str
    end: int


MAX_WORDS: Final = 6
LINKED: Final = word_set(
    "with for in on at from by after before during about over of to into without within between per"
)
"""Words that tie something to a thing: "chess with my son", "engineer at Acme"."""

_TOKEN: Final = re.compile(r"[^\W_](?:[\w&'/+#-]|\.(?=\w))*")
_IN_NAMES: Final = word_set("of the de del da do dos das van von der den la le el di al bin")
_ENDS_NAMES: Final = word_set("hospital university college school bank council airport")
TITLES: Final = word_set("dr mr mrs ms prof")
_BEGINS_NAMES: Final = word_set("st ft mt")
_NO_NAMES: Final = word_set(
    """i i'm i've i'd i'll monday tuesday wednesday thursday friday saturday sunday january february march april june
    july august september october november december christmas easter english god ok yes no the a an my your his her he
    she it we they you if people whoever user users that this there here what who how where when why"""
)
_MAY_BE_NAMES: Final = word_set("april june")
_SMALL_NAME: Final = re.compile(r"[a-z]{2,15}(?=\s*(?:[.,!;)]|$|(?:and|but|btw|who)\b))")
_NO_SMALL_NAMES: Final = word_set(
    """wrong misspelled misspelt spelled spelt misleading changed common unusual rare weird long short hard easy secret
    private public known unknown irrelevant unimportant mud taken missing blank hidden anonymous legion mentioned listed
    on there back nothing better worse different after english called named"""
)
_NO_PLACES: Final = word_set(
    """apt flat apartment room building unit block floor linux mac macos windows ubuntu debian python rust java
    javascript typescript vim emacs excel chapter step section part plan level page phase version hr it accounting
    marketing sales legal support engineering finance aws azure gcp kubernetes docker terraform postgres postgresql
    mysql mongodb oracle slack teams zoom jira linear notion trello asana github gitlab bitbucket gmail outlook android
    ios react vue angular april june mars venus hell heaven narnia hogwarts mordor gotham"""
)
_NO_PLACE_ENDS: Final = word_set(
    """inc inc. ltd llc gmbh ag corp corporation company bank university college hospital institute labs group team
    department office software systems technologies solutions consulting insurance airlines support agency"""
)
"""What ends the name of a firm: who is from Acme Corp works there."""
_STOPS: Final = word_set(
    """and or but because since when while if so though although as than until unless instead rather whenever
    especially particularly except then like is are was were has have had can could will would should do does did
    every each around near via such including despite whether not any"""
)
_GOES_ON: Final = word_set("it it's")
"""What begins the next sentence where no stop does: "gluten it makes me ill"."""
_TRAILERS: Final = word_set(
    """too also now lately recently nowadays currently again today tonight anymore really most best well actually btw
    please still already either personally always sometimes generally overall honestly everyday daily tho haha lol tbh
    ngl imo atm rn here much alot sadly unfortunately luckily itself themselves myself"""
)
_NARROWS: Final = word_set("that which who whom whose where how what why more less who's that's")
"""Words after which a thing is told more closely: "flights that leave early" are not flights."""
_LIGHT: Final = word_set(
    """going getting taking making doing having being trying using working learning finding looking exploring watching
    escaping moving seeing adding staying keeping starting talking thinking playing living coming spending"""
)
"""Verbs that name no activity by themselves: "going", "making"."""
_TRAILING: Final = rule(
    any_of(
        """a_lot very_much so_much the_most the_best these_days any_?more as_well at_the_moment right_now by_the_way
        of_course more_than_anything better_than above_all after_all at_all in_general a_bit quite_a_bit quite_a_lot
        lots all_day to_death with_a_passion (?:on|at)_(?:the_)?weekends? in_my_(?:free|spare)_time after_work
        in_the_evenings? last_(?:week|month|year)"""
    )
    + r"(?!\w| of\b)"
)
_NO_THING: Final = word_set(
    """it it's its this that that's these those how what when where who why you your yours you're him her hers them
    his their theirs my mine our ours me us a an one ones some any all both either neither everything nothing
    something anything everyone someone no not so being having please can could just but then also especially
    because i i'm we he she they there here if to too very more most less such is are am was were be been do does
    did need want will would should might must may let lets let's get got think know usually often always never
    recently really only even maybe which every each another other others doing making thanks thank same first
    second third last next few many much whatever whichever yourself himself herself itself themselves myself with
    for in on at from by about of as and or using seeing hearing getting knowing feeling looking trying option
    everywhere spending"""
)
_POINTERS: Final = word_set("it this that these those you your him her them me us i my his their")
_LIST: Final = re.compile(r"(,\s+(?:and\s+)?|\s+and\s+|\s*&\s*)")
_OVER: Final = rule(r"\s*(?:[.!]|$|,? (?:and|but|so) (?:i|i'm|my|we)\b)")
_ENDS: Final = rule(rf"\s*(?:[.,;!?)]|$|(?:and|but|so|now|with|for|where|at|since|in (?:{MONTH}|\d{{4}}))\b)")
_INITIAL: Final = re.compile(
    r"[A-HJ-Z]\.(?= (?!(?:It|He|She|They|We|You|The|This|That|My|But|And|So|Can|Do|Is|What|How|I\w?)\b)[A-Z])"
)
_ITS_OWN: Final = rule(r"'s(?=\s*(?:[.,;:!?)]|$|(?:and|but|so|as|in|on|for|with|since|now|where|because|last|this)\b))")


def tokens(text: str, start: int) -> Iterator[re.Match[str]]:
    """The words from a place on, while only single spaces are between them, or the dot of "Dr.", "St." or "K."."""
    place, dotted = start, TITLES | _BEGINS_NAMES
    while token := _TOKEN.match(text, place):
        yield token
        abbreviates = token[0].lower() in dotted and text[token.end() : token.end() + 1] == "."
        place = token.end() + (abbreviates or _INITIAL.match(text, token.start()) is not None)
        dotted = TITLES
        if text[place : place + 1] != " ":
            return
        place += 1


def name(text: str, start: int, most: int = 4) -> Phrase | None:
    """A proper name: words with a capital, small ones like "of" and "van" between them."""
    if text[start : start + 4].lower() == "the ":
        start += 4
    end, words = start, 0
    for token in tokens(text, start):
        word = token[0]
        if (word[0].isalpha() and word != word.lower()) or (words and word[0].isdigit()):
            plain = word.lower().removesuffix("'s")
            if (plain in _NO_NAMES and (words or plain not in _MAY_BE_NAMES)) or (
                word.lower() in _STOPS | LINKED and words
            ):
                break
            words, end = words + (word.lower() not in TITLES | _BEGINS_NAMES), token.end()
            if word.endswith("'s") or words == most:
                break
        elif words and word in _ENDS_NAMES:
            end = token.end()
            break
        elif not words or word not in _IN_NAMES:
            break
    found = text[start:end].removesuffix("'s")
    return Phrase(found, start + len(found)) if words else None


def firm(text: str, start: int) -> Phrase | None:
    """A firm, which may have a name like "Johnson & Johnson" or "McDonald's"; None for "Joe's diner"."""
    first = name(text, start)
    if first is None or not text.startswith((" & ", "'s"), first.end):
        return first
    if text.startswith("'s", first.end):
        return Phrase(f"{first.text}'s", first.end + 2) if _ITS_OWN.match(text, first.end) else None
    other = firm(text, first.end + 3)
    return Phrase(f"{first.text} & {other.text}", other.end) if other else first


def given(text: str, start: int, most: int = 5) -> Phrase | None:
    """A name after words that announce one; there it may begin with a small letter: "my name is tom"."""
    small = _SMALL_NAME.match(text, start)
    if small and small[0] not in _NO_THING | _NO_SMALL_NAMES:
        return Phrase(small[0].capitalize(), small.end())
    return name(text, start, most)


def place_name(text: str, start: int) -> Phrase | None:
    """A place, with its country or state if that is said: "Austin, Texas"."""
    if known := PLACE.match(text, start):
        return Phrase(known[1].upper() if len(known[1]) < 4 else known[1].title(), known.end())
    found = name(text, start)
    words = found.text.lower().split() if found else []
    if found is None or words[0] in _NO_PLACES or words[-1] in _NO_PLACE_ENDS:
        return None
    wider = name(text, found.end + 2, most=3) if text[found.end : found.end + 2] == ", " else None
    if wider is None or not _ENDS.match(text, wider.end):
        return found
    return Phrase(f"{found.text}, {wider.text}", wider.end)


def thing(text: str, start: int, most: int = MAX_WORDS, stops: frozenset[str] = frozenset()) -> Phrase | None:
    """A thing or an activity in a few words, up to where something else begins; None for "it", "the first one", …"""
    words, ends = list[str](), [start]
    for token in tokens(text, start):
        word = token[0].lower()
        if word in _STOPS or word in stops or word in _TRAILERS or (words and _TRAILING.match(text, token.start())):
            break
        if words and token[0] in _GOES_ON:
            break
        if word in _NARROWS:
            return None
        words.append(token[0])
        ends.append(token.end())
    found = _shortened(words, most)
    if not found or not _is_thing(found) or _goes_on(text, ends[-1], found):
        return None
    end = ends[len(found.split())]
    return Phrase(text[start:end], end)


def _shortened(words: list[str], most: int) -> str:
    """The words; if they are too many or point at someone, only the activity, without "with my son"."""
    lower = [word.lower() for word in words]
    while words and (len(words) > most or _POINTERS.intersection(lower[1:])):
        link = max((n for n, word in enumerate(lower) if n and word in LINKED), default=0)
        words, lower = words[:link], lower[:link]
        if not words or not lower[0].endswith("ing"):
            return ""
    return "" if words and (lower[-1] in LINKED or (len(words) == 1 and lower[0] in _LIGHT)) else " ".join(words)


def _is_thing(phrase: str) -> bool:
    """Whether words name something that means the same outside this conversation."""
    words = phrase.split()
    lower = [word.lower() for word in words]
    if lower[0] == "the":
        return len(words) > 1 and all(word[0].isupper() or word in _IN_NAMES for word in words[1:])
    if lower[0] == "to":
        return len(words) > 1 and lower[1] not in _NO_THING and not _POINTERS.intersection(lower)
    return lower[0] not in _NO_THING and not _POINTERS.intersection(lower) and not phrase[0].isdigit()


def _goes_on(text: str, end: int, found: str) -> bool:
    """Whether the words after "and" belong to those before: "Ori and the Blind Forest", "Classic and Simple style"."""
    if text.startswith(" and the ", end) and text[end + 9 : end + 10].isupper():
        return True
    if text.startswith(" and ", end) and found.lower().startswith("the "):
        return True
    return text[end : end + 1] == "," and (" a " in found or " an " in found)


def things(text: str, start: int) -> list[Phrase]:
    """A thing, or all of a list: "tea, coffee and cocoa"."""
    first = thing(text, start)
    if first is None or LINKED.intersection(first.text.split()):
        return [first] if first else []
    found, alike = [first], True
    while (link := _LIST.match(text, found[-1].end)) and (item := thing(text, link.end(), most=2)):
        over = _OVER.match(text, item.end) or _TRAILING.match(text, item.end + 1)
        alike = alike and _alike(first.text, item.text)
        found.append(item)
        if link[1].strip() != ",":
            return (found[1:] if _shares_noun(found) else found) if alike or over else [first]
    return [first]


def _shares_noun(found: list[Phrase]) -> bool:
    """Whether two things share the noun of the second: "electronic and rock music" do, "cats and rock music" do not."""
    return not found[0].text.endswith(("ing", "s")) and [len(slug(one.text).split()) for one in found] == [1, 2]


def _alike(one: str, other: str) -> bool:
    begins, goes_on = one.partition(" ")[0], other.partition(" ")[0]
    return begins.endswith("ing") == goes_on.endswith("ing") and not goes_on.endswith("ly")


def slug(text: str) -> str:
    """Words as part of a key: in small letters, without an article in front, with single spaces."""
    words = text.casefold().split()
    return " ".join(words[1:] if len(words) > 1 and words[0] in ("the", "a", "an") else words)
