"""Short answers to what the assistant asked: "What's your dog called?" and "Rex" say that the dog is called Rex."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from datetime import date
from typing import Final

from recollect.flow.ahead import ahead
from recollect.flow.facts.food import DIETS
from recollect.flow.facts.forenames import FORENAMES
from recollect.flow.facts.guesses import as_confirmed
from recollect.flow.facts.people import KEYS, PETS, PLURALS
from recollect.flow.facts.phrases import thing
from recollect.flow.facts.places import PLACE
from recollect.flow.facts.profile import LANGUAGE, NO_NAME, NUMBER
from recollect.flow.facts.roles import role
from recollect.flow.facts.unfit import EVASIVE, NO_PLACE, PET_NAMES, is_no_firm, is_no_name, is_no_place, is_remark
from recollect.flow.facts.voice import PRETENDED, own_words
from recollect.flow.facts.wording import any_of, rule

MOST_ANSWERED: Final = 100
"""Characters of the longest message that is taken for a short answer."""
MOST_ADDED: Final = 150
"""Characters that may follow a question, as in "What's your name? I'll look up your order then."."""
_PLAYED: Final = rule(
    r"\b(?:role-?play\w*|pretend\w*|imagin\w+|suppos\w+|hypothetical\w*|practi[sc]\w+|rehears\w+|mock|interview\w*"
    r"|simulat\w+|quiz\w*|trivia|characters?|persona|riddle|jokes?|stor(?:y|ies)|novel|fiction|scene|screenplay|poem|lyrics"
    r"|dialogue|act (?:as|like)|exercise|for example|in (?:the|this|our) (?:game|film|movie|play)"
    r"|if you (?:were|could|had|was))\b|¿"
)
"""Talk in which answers are made up."""


def _kin(words: Iterable[str]) -> str:
    return f"(?P<kin>{'|'.join(sorted(words, key=len, reverse=True))})"


_IS: Final = "(?: is|'s)"
_TAIL: Final = (
    r"(?:,? (?:please|by the way|exactly|currently|right now|now|these days|originally|at the moment|today|again|then"
    r"|if (?:i may ask|you don't mind(?: me asking| sharing| my asking)?)))*\?"
)
_AND_MORE: Final = r"(?:,? and [^?]{1,40})?"
_WHAT_IS: Final = (
    rf"(?:what{_IS} |(?:may|can|could) i (?:please )?(?:have|get|ask(?: for)?|know) "
    r"|(?:can|could|would) you (?:please )?(?:tell me|share|give me|provide(?: me with)?|confirm) )"
)
_WORDS: Final = r"[\w-]{2,20}(?: [\w-]{2,20})??"
_WORD: Final = re.compile(r"[^\W\d_]+")
_SENTENCE: Final = re.compile(r"[^.!\n]+")
_FILLER: Final = rule(
    r"(?:(?:"
    + any_of(
        """it's it_is that's that_would_be this_is i'm i_am my_name_is my_name's he's he_is she's she_is his_name_is
        her_name_is we_named_(?:her|him|it) we_call_(?:her|him) he's_called she's_called called named in at um+ uh+
        erm oh well yes yeah yep sure ok okay haha lol just currently originally from i_live_in
        i_work_(?:at|for) on probably sorry hmm definitely about around as"""
    )
    + r")[,.:!]?\s+)+"
)
_ENDS: Final = (
    r"(?=\s*(?:[.,!;:)\n]|$|(?:and (?:i|my|we)|is (?:fine|ok|okay|good)|works|will do|here|thanks|btw|lol|haha"
    r"|by the way)\b))"
)
_CAPITAL: Final = r"(?-i:[A-Z])[\w'-]*"
_NAME: Final = rule(rf"({_CAPITAL}(?: (?:(?:van|von|de|da|del|der|la|el|bin|al) )?{_CAPITAL}){{0,3}}){_ENDS}")
_SMALL: Final = rule(rf"([a-z]{{2,12}}){_ENDS}")
_FIRM: Final = rule(rf"((?:the )?{_CAPITAL}(?: (?:&|of|and the|of the) {_CAPITAL}| {_CAPITAL}){{0,3}}){_ENDS}")
_AGE: Final = rule(rf"{NUMBER}(?: years? old| yo| y/o)?{_ENDS}")
_FOODS: Final = rule(
    r"(?:all |any |some |raw |tree )?"
    + any_of(
        """peanuts? nuts tree_nuts walnuts? almonds? cashews? hazelnuts? pistachios? shellfish prawns shrimps? crab fish
        seafood milk dairy eggs? wheat gluten soya? sesame mustard celery lupins? penicillin pollen dust cats dogs latex
        bees bee_stings wasps strawberries kiwis? tomatoes apples bananas pineapples? avocados? chocolate ibuprofen
        aspirin amoxicillin sulfa mold mould grass ragweed horses hay_fever lactose corn garlic onions? mushrooms"""
    )
    + r"(?=\s*(?:[.,!;)]|$|(?:and|&|too|lol|haha|btw)\b))"
)
_SOME: Final = rule(r"(?:an?|one|two|three|four|\d) ")
_ARTICLE: Final = rule(r"\A(?:an?|the) ")
_NAMES: Final = rule(rf"{_CAPITAL}(?:, {_CAPITAL}){{0,4}},? (?:and|&) {_CAPITAL}{_ENDS}")
_ASKS_FOR_HELP: Final = rule(
    r",? (?:can|could|would|will|help|please|tell|write|give|show|make|do|what|how|why|i need|i want|let's)\b"
)
"""What follows a name that is the assistant's: "Claude, help me"."""
_PASSING: Final = rule(
    r"\b(?:holiday|vacation|visiting|moment|for now|temporarily|week|weekend|trip|travell?ing|until|till|formerly|was"
    r"|soon|or|used|former|ex|hope|hoping|want|trying|become|aspiring|maybe|might|depends|i (?:think|guess|believe)"
    r"|not sure|joking|jk|kidding"
    r"|quit|resigned|fired|sacked|laid off|no longer|(?<=.)retired|died|lost|rip|passed away|as a (?:kid|child)"
    rf"|for (?:my|our|him|her|them)|my (?:{'|'.join(KEYS)}))\b"
)
"""Words that make an answer one for a while, one for someone else, or none at all."""
_ANY_DAY: Final = date(2000, 1, 1)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question, whether an answer fits it, and the sentence they make; an article is cut off unless `whole`."""

    question: re.Pattern[str]
    fits: Callable[[str], bool]
    says: str
    whole: bool = False


def _begins(answer: str, words: frozenset[str] = EVASIVE) -> bool:
    said = re.findall(r"[\w'/-]+", answer.casefold())
    return bool(said) and said[0] in words


def _is_name(answer: str, small_ones: Set[str] = FORENAMES) -> bool:
    small = _SMALL.match(answer)
    found = _NAME.match(answer) or (small if small and small[1] in small_ones else None)
    if found is None or NO_NAME.match(answer) or _ASKS_FOR_HELP.match(answer, found.end()):
        return False
    return not (EVASIVE | {"the"}).intersection(found[1].casefold().split())


def _is_someone(answer: str) -> bool:
    return _is_name(answer) and not is_no_name(answer)


def _is_pet(answer: str) -> bool:
    return _is_name(answer, PET_NAMES) and not is_remark(answer)


def _is_place(answer: str) -> bool:
    if PLACE.match(answer.casefold()):
        return True
    found = _NAME.match(answer)
    return (
        found is not None
        and not (NO_NAME.match(answer) or is_no_place(answer))
        and not (EVASIVE | NO_PLACE).intersection(found[1].casefold().split())
    )


def _is_firm(answer: str) -> bool:
    found = _FIRM.match(answer)
    return found is not None and not is_no_firm(_ARTICLE.sub("", found[1], 1))


def _is_role(answer: str) -> bool:
    found = role(answer, 0)
    return found is not None and not EVASIVE.intersection(found.text.casefold().split())


def _is_day(answer: str) -> bool:
    found = ahead(answer[:40], _ANY_DAY)
    return found is not None and found[0] == 0


def _is_thing(answer: str) -> bool:
    found = thing(answer, 0, most=3)
    return found is not None and re.match(_ENDS, answer[found.end :]) is not None and not _begins(answer)


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda answer: pattern.match(answer) is not None


def _question(*forms: str, more: str = "") -> re.Pattern[str]:
    """A pattern for a question in one of these forms, at the end of a text."""
    begins = r"(?:^|[,.!:;\n\u2013\u2014-]\s*|\b(?:and|so|but|also|first|then|ask|know|ok|okay|hi|hello|please)\s+)"
    return rule(rf"{begins}(?:{'|'.join(forms)}){more}{_TAIL}$")


def _named(words: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    """The questions for the name of one of these."""
    kin = _kin(words)
    ways = f"{_WHAT_IS}your {kin}(?:'s (?:first )?name| called| named)", f"{_WHAT_IS}the name of your {kin}"
    return _question(ways[0], more=_AND_MORE), _question(ways[1], more=_AND_MORE)


_ANYONE: Final = _kin(KEYS)
_THEIR_NAMES: Final = rf"what are your {_kin(PLURALS)}(?:'? names| called| named)"
_NAMES_OF_THEM: Final = rf"what are the names of your {_kin(PLURALS)}"
_SHE: Final = "(?P<she>s?he)"
_HER: Final = "(?P<her>her|his|its)"
_OF_SOMEONE: Final = (
    _Asked(_question(rf"how old(?: is|'s) {_SHE}"), _matches(_AGE), "{she} is {0}"),
    _Asked(_question(rf"where(?: does|'s| is) {_SHE} (?:live|living|based|located)"), _is_place, "{she} lives in {0}"),
    _Asked(_question(rf"what does {_SHE} do(?: for (?:work|a living))?"), _is_role, "{she} is a {0}"),
    _Asked(_question(rf"(?:where|who) does {_SHE} work(?: for)?"), _is_firm, "{she} works at {0}", whole=True),
    _Asked(_question(rf"when{_IS} {_HER} birthday"), _is_day, "{her} birthday is {0}"),
    _Asked(_question(rf"{_WHAT_IS}{_HER} (?:first )?name"), _is_pet, "{her} name is {0}", whole=True),
    _Asked(_question(rf"what(?:'s| is) {_SHE} called"), _is_pet, "{she} is called {0}", whole=True),
    _Asked(_question(rf"is {_SHE} allergic to any\w*[^?]{{0,30}}"), _matches(_FOODS), "{she} is allergic to {0}"),
)
"""Questions about someone the user told of: the statement is about "she" too."""
_ASKED: Final = (
    _Asked(
        _question(
            rf"{_WHAT_IS}your (?:full |first )?name",
            "who am i (?:speaking|talking|chatting) (?:to|with)",
            "what (?:should|can|may|do|shall) i call you",
            more=_AND_MORE,
        ),
        _is_someone,
        "My name is {0}",
        whole=True,
    ),
    _Asked(
        _question(
            "where (?:in the world )?(?:do you|are you) (?:live|living|based|located)",
            "(?:which|what) (?:city|town)(?: or (?:city|town))? (?:do you live|are you (?:based|located|living)) in",
        ),
        _is_place,
        "I live in {0}",
    ),
    _Asked(_question("where (?:are you|do you come) (?:originally )?from"), _is_place, "I'm from {0}"),
    _Asked(
        _question(
            "what do you do(?: for (?:work|a living))?",
            "what kind of work do you do",
            rf"{_WHAT_IS}your (?:current )?(?:job(?: title)?|profession|occupation|role|line of work)",
        ),
        _is_role,
        "I'm a {0}",
    ),
    _Asked(
        _question("what do you do(?: for (?:work|a living))?", "are you (?:working|employed)"),
        _matches(rule(r"(?:retired|unemployed|self-employed)\s*[.!]?$")),
        "I'm {0}",
    ),
    _Asked(
        _question(
            "where do you work",
            "who do you work for",
            "(?:which|what) (?:company|firm|organi[sz]ation) do you work (?:for|at)",
            rf"(?:who|what){_IS} your (?:current )?employer",
        ),
        _is_firm,
        "I work at {0}",
        whole=True,
    ),
    _Asked(_question("how old are you", rf"{_WHAT_IS}your age"), _matches(_AGE), "I'm {0}"),
    _Asked(
        _question(rf"(?:when{_IS} |{_WHAT_IS})your (?:birthday|bday|birth ?date|date of birth)", "when were you born"),
        _is_day,
        "My birthday is {0}",
    ),
    _Asked(
        _question(
            r"(?:(?:do you have|are there|have you got|you have) )?any (?:\w+ )?(?:\w+ or )?allergies[^?]{0,40}",
            r"(?:do you have|are there) any (?:\w+ )?allergies[^?]{0,40}",
            r"are you allergic to any\w*[^?]{0,30}",
            "what are you allergic to",
        ),
        _matches(_FOODS),
        "I'm allergic to {0}",
    ),
    _Asked(
        _question(
            r"(?:(?:do you have|are there) )?any (?:\w+ or )?(?:dietary|food) "
            r"(?:restrictions?|requirements?|preferences?|needs)[^?]{0,40}",
            r"do you follow (?:an?|any)(?: \w+){0,2} diet[^?]{0,20}",
        ),
        _matches(rule(rf"(?:strict )?{DIETS}|[\w-]+[ -](?:free|intolerant)\b")),
        "I'm {0}",
    ),
    _Asked(
        _question(rf"(?:what|who|which)(?:'s| is| are) your (?:all-time )?(?P<of>fav(?:ou?rite|e)? {_WORDS})"),
        _is_thing,
        "My {of} is {0}",
        whole=True,
    ),
    _Asked(_question("(?:what|which) languages? do you speak"), _matches(LANGUAGE), "I speak {0}"),
    _Asked(
        _question(rf"{_WHAT_IS}your e-?mail(?: address)?"),
        _matches(rule(r"[^\s@]+@[^\s@]+\w\.?$")),
        "My email is {0}",
    ),
    _Asked(
        _question(rf"{_WHAT_IS}your (?:username|user name|user id)"),
        _matches(rule(r"[\w.-]*[_\d][\w.-]*$")),
        "My username is {0}",
    ),
    _Asked(
        _question(
            "(?:do|did) you (?:have|own) (?:any |an? )?(?:pets?|dogs?|cats?|kids|children|siblings|sons?|daughters?"
            "|brothers?|sisters?|brothers or sisters)"
        ),
        _matches(_SOME),
        "I have {0}",
        whole=True,
    ),
    *(_Asked(one, _is_pet, "My {kin}'s name is {0}") for one in _named(PETS)),
    *(_Asked(one, _is_someone, "My {kin}'s name is {0}") for one in _named(KEYS)),
    *(_Asked(_question(one), _matches(_NAMES), "My {kin} are {0}") for one in (_THEIR_NAMES, _NAMES_OF_THEM)),
    *_OF_SOMEONE,
    _Asked(_question(rf"where does your {_ANYONE} live"), _is_place, "My {kin} lives in {0}"),
    _Asked(_question(rf"what does your {_ANYONE} do(?: for (?:work|a living))?"), _is_role, "My {kin} is a {0}"),
    _Asked(_question(rf"how old is your {_ANYONE}"), _matches(_AGE), "My {kin} is {0}"),
    _Asked(_question(rf"when{_IS} your {_ANYONE}'s birthday"), _is_day, "My {kin}'s birthday is {0}"),
)


def _topics(before: str) -> frozenset[str]:
    """The words of a message, in one and in many: who is asked for a place may say what they are looking for."""
    said = {word.casefold() for word in _WORD.findall(before) if len(word) > 2}
    return frozenset(said | {f"{word}s" for word in said})


def as_statement(question: str, answer: str, before: str) -> str:
    """The statement that a short answer to a question makes; "" if it is not clear.

    `question` is the assistant's message, `before` the user's message before that. If the question is about "she", the
    statement is so too.
    """
    if len(answer) > MOST_ANSWERED or _PLAYED.search(question) or _PLAYED.search(before) or PRETENDED.search(before):
        return ""
    said = answer.replace("\u2019", "'").strip()
    confirmed = "" if _PASSING.search(said) else as_confirmed(question.replace("\u2019", "'").rstrip(), said)
    return confirmed or _as_answer(question, said, before)


def _as_answer(question: str, said: str, before: str) -> str:
    asked, mark, rest = own_words(question).rstrip().partition("?")
    if not mark or "?" in rest or len(rest) > MOST_ADDED:
        return ""
    said = said[filler.end() :] if (filler := _FILLER.match(said)) else said
    first = _SENTENCE.match(said)
    if not first or "?" in first[0] or _PASSING.search(said) or _begins(said, EVASIVE | _topics(before)):
        return ""
    for one in _ASKED:
        given = said if one.whole else _ARTICLE.sub("", said, 1)
        if (match := one.question.search(f"{asked}?")) and one.fits(given):
            return one.says.format(given, **match.groupdict())
    return ""
