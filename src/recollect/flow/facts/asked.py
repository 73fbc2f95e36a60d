"""What a question asks about the user who asks it: which facts answer it, and which of its words those account for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from recollect.answers import Fact
from recollect.flow.days import MONTH
from recollect.flow.facts.found import Found
from recollect.flow.facts.people import ABOUT, FRIENDS, KEYS, PARTNERS, PEOPLE, PETS, PLURALS, SEEN
from recollect.flow.facts.remarks import readings
from recollect.flow.facts.wording import any_of, lower, rule, word_set
from recollect.recent import remembered

MAX_QUESTION: Final = 300
"""The most characters of a question: a longer text is not a question about facts."""
KEPT: Final = 4_096
"""For how many keys it is remembered whom they are about."""

_KNOW: Final = any_of(
    """know knew remember recall learn(?:ed|t)? noted? stored? kept keep saved? memori[sz]ed? tell told find found got
    have say anything everything something facts? info information stuff things"""
)
_YOU_KNOW: Final = "(?:know|remember|recall|keep|learned|learnt|noted|kept|stored)"
_SO_FAR: Final = r"(?: (?:so far|by now|now|already|please))*\W*$"
_EVERYTHING: Final = rule(
    rf"\b{_KNOW}(?: [\w']+){{0,4}} (?:about|of|on|regarding) (?:me|myself){_SO_FAR}",
    rf"\b(?:describe|summari[sz]e) (?:me|myself){_SO_FAR}",
    rf"\bdo you (?:still )?(?:know|remember|recogni[sz]e) (?:me|who i am){_SO_FAR}",
    rf"\bwhat (?:all |else )?(?:do|should|can|will|did|must|have) you (?:\w+ )??{_YOU_KNOW}{_SO_FAR}",
    rf"\bwhat (?:all |else )?have i told you{_SO_FAR}|\bwhat(?:'s| is) in (?:your|my|the) memory{_SO_FAR}",
    rf"\bmy (?:profile|facts){_SO_FAR}",
    r"\bwas wei(?:ß|ss)t du (?:alles )?(?:über|von|ueber) mi[cr]h?\W*$|\bqu[eé] sabes (?:de|sobre) m[ií]\W*$",
)
"""Asks for everything that is known; also in German and Spanish, from which no facts are read but which many speak."""
_DO_I: Final = (
    r"\b(?:do|am|are|can|might|would|must|should|may|could) (?:i|we)"
    r"(?: (?:usually|really|also|still|now|currently|actually|most))*"
)
_DAYS: Final = """monday tuesday wednesday thursday friday saturday sunday today tonight tomorrow week weekend month
    morning afternoon evening next january february march april may june july august september october november
    december"""


class Kind(NamedTuple):
    """Keys, the words of a question that they account for, and a pattern of how they are asked for.

    Every question that asks for them has one of those words or of those in `also`, which is quick to check first.
    """

    keys: str
    explains: str
    asks: re.Pattern[str]
    also: str = ""


KINDS: Final = (
    Kind("name pronouns role company place hometown age", "", rule(r"\bwho (?:am|are) (?:i|we)\b"), "who"),
    Kind(
        "name",
        "name names called call full first last real own",
        rule(r"\bmy (?:full |first |last |real |own )?name\b|\b(?:am i|i'm|i am) called\b|\bcall me\b"),
    ),
    Kind(
        "place household",
        "live living home city town country reside based address stay located",
        rule(
            rf"{_DO_I} (?:live|reside|stay|living|based|home|located|staying)\b",
            r"\bwhere am i(?: right)?(?: now)?\W*$",
            r"\b(?:what|which) (?:city|town|country|place) (?:am i|is my home)\b",
            r"\bmy (?:home|city|town|country|address|place)\W*$",
        ),
        "staying where place",
    ),
    Kind(
        "hometown",
        "come born grow grew raised hometown originally",
        rule(
            r"\bwhere (?:am i|do i come|was i|did i grow)(?: originally)? (?:from|born|raised|up)\b", r"\bmy hometown\b"
        ),
        "where",
    ),
    Kind(
        "role company teaches studies",
        """job work working profession occupation living career employer employed company role title position
        professionally""",
        rule(
            r"\bwhat do i do(?: (?:for (?:a living|work)|professionally|at work))?\W*$",
            rf"{_DO_I} (?:work(?:ing)?|employed)\b",
            r"\bmy (?:\w+ )?(?:job|profession|occupation|career|employer|company|role|work|position|(?:job )?title)"
            r"(?: at work)?\W*$",
        ),
        "do",
    ),
    Kind("age born birthday", "old age years", rule(r"\bhow old (?:am|are) (?:i|we)\b|\bmy age\b")),
    Kind(
        "birthday born",
        "birthday born birth bday date",
        rule(r"\bmy (?:birthday|bday|birth ?date|date of birth)\b|\bwhen was i born\b"),
        "birthdate",
    ),
    Kind(
        "diet allergy avoids",
        "eat drink food foods meat fish",
        rule(
            r"\b(?:i|we) (?:can't|cannot|can not|don't|do not|shouldn't|mustn't|may not|never) (?:eat|drink)\b",
            rf"(?:\b(?:can't|don't|shouldn't) i|{_DO_I})(?: not)? (?:eat|drink)\b",
        ),
    ),
    Kind(
        "allergy avoids",
        "allergic allergy allergies intolerant food foods",
        rule(rf"{_DO_I}(?: not)? (?:allergic|intolerant)\b|\bmy (?:\w+ )?allerg(?:y|ies)\b"),
    ),
    Kind(
        "diet",
        "diet vegan vegetarian pescatarian eat",
        rule(rf"{_DO_I}(?: not)? (?:an? )?(?:vegan|vegetarian|pescatarian)\b|\bmy (?:\w+ )?diet\b"),
    ),
    Kind(
        "likes favorite prefers plays",
        "like likes love enjoy prefer taste tastes interest interests interested most best",
        rule(
            rf"(?<!not ){_DO_I} (?:like|love|enjoy|prefer|into|fond of|a fan of|interested in)\b",
            r"\bthings (?:that )?i (?:like|love|enjoy)\b|\bmy (?:likes|tastes?|interests?)\b",
            r"\bwhat i (?:like|love|enjoy)\W*$",
        ),
        "into fond fan",
    ),
    Kind(
        "dislikes avoids",
        "like love enjoy hate dislike dislikes stand",
        rule(
            r"\b(?:don't|can't|cannot) i (?:really )?(?:like|love|enjoy|stand)\b",
            rf"{_DO_I} (?:not (?:like|love|enjoy)|hate|dislike)\b",
            r"\bi (?:don't|do not|can't) (?:really )?(?:like|love|enjoy|stand)\b|\bmy dislikes\b",
        ),
    ),
    Kind(
        "likes plays learning habit",
        "hobby hobbies pastime pastimes free time leisure fun spare",
        rule(r"\bmy (?:\w+ )?(?:hobby|hobbies|pastimes?)\b|\bin my (?:free|spare) time\b|\bdo i do for fun\b"),
    ),
    Kind(
        "favorite",
        "favorite favourite fav fave best",
        rule(r"\bmy (?:all-time )?fav(?:e|ou?rite)?s?\b"),
        "favs faves favorites favourites",
    ),
    Kind(
        "speaks",
        "language languages speak",
        rule(r"\b(?:do|can) i speak\b|\bmy (?:native )?languages?\b|\blanguages (?:do|can) i\b"),
    ),
    Kind(
        "citizenship",
        "passport passports nationality citizenship citizen hold country",
        rule(r"\bmy (?:nationality|citizenship|passport)\b|\bpassports? (?:do|have) i\b|\bam i an? \w+ citizen\b"),
    ),
    Kind("plays", "play instrument instruments sport sports game games", rule(rf"{_DO_I} play\b")),
    Kind("teaches", "teach subject subjects", rule(rf"{_DO_I} teach(?:ing)?\b"), "teaching"),
    Kind(
        "learning studies",
        "learn learning study studying subject language languages",
        rule(rf"(?<!where ){_DO_I} (?:learn|study)(?:ing)?\b"),
    ),
    Kind(
        "school studies",
        "study studying school university college degree",
        rule(
            r"\bwhere (?:do|did|am) i study(?:ing)?\b|\bmy (?:university|college)\b",
            r"\bdid i go to (?:school|university|college)\b",
        ),
    ),
    Kind(
        "drives",
        "car drive vehicle",
        rule(rf"{_DO_I} drive\b|\bmy car\W*$|\b(?:car|vehicle) do i (?:have|own|drive)\b"),
    ),
    Kind(
        "habit",
        "habit habits routine routines usually normally morning",
        rule(r"\bmy (?:\w+ )?(?:habits?|routines?)\b|\bdo i (?:usually|normally) do\b"),
    ),
    Kind("email", "email mail address", rule(r"\bmy e-?mail\b")),
    Kind("phone", "phone number mobile cell", rule(r"\bmy (?:phone|mobile|cell|number)\b")),
    Kind("username", "user name id username handle login account", rule(r"\bmy (?:user|username|handle|login)\b")),
    Kind("timezone", "time zone timezone", rule(r"\bmy time ?zone\b")),
    Kind(
        "answer_length answer_style language units prefers",
        "answer answers reply replies respond talk speak write preference preferences",
        rule(
            r"\bhow (?:should|do|must|will|would) you (?:answer|reply|respond|talk|speak|write)\b|\bmy preferences\b",
            r"\bhow do i (?:like|want|prefer) (?:your |my |the )?answers\b",
        ),
    ),
    Kind(
        "todo",
        f"""plan plans planned todo todos list agenda calendar schedule scheduled reminder reminders appointment
        appointments meetings exams task tasks remind reminded due coming upcoming deadline deadlines need ask asked
        anything forget {_DAYS}""",
        rule(
            r"\bmy (?:\w+ )?(?:plans?|to-?dos?|to-?do list|list|agenda|calendar|schedule|reminders?|appointments?"
            r"|tasks?|deadlines?)\b",
            r"\bdo i have (?:\w+ ){0,2}(?:planned|plans?|appointments?|reminders?|scheduled|due|coming up"
            rf"|(?:on |in |for )?(?:this |next )?(?:\w+day|tomorrow|week|weekend|month|{MONTH}))\b",
            r"\b(?:plans|appointments|meetings|reminders|deadlines|exams) (?:do|have) (?:i|we) (?:have|got)\b",
            r"\bwhat (?:do i (?:still )?(?:have|need) to do|must i do)\b",
            r"\bwhat(?:'s| is) (?:coming up|due|on (?:my|for|next|this|\w+day|tomorrow))\b",
            r"\b(?:(?:to|should you|must you) remind me|i be reminded) (?:of|about)\W*$",
            r"\b(?:should|must) i not forget\b",
        ),
        "do dos on",
    ),
)
TELLING: Final = tuple((frozenset(f"{kind.explains} {kind.also}".split()), kind) for kind in KINDS)
_WORD: Final = re.compile(r"\w+")
_SORTS: Final = word_set(
    """music food foods drink drinks sport sports movie movies film films book books game games activity activities kind
    kinds sort sorts type types genre day days"""
)
"""Words for sorts of things, which the liked things themselves don't have: "what music do I like?", "I like jazz"."""
_PETS: Final = " ".join(sorted({*PETS.values()}))
_GROUPS: Final = {
    **dict.fromkeys(("kid", "kids", "child", "children"), "child son daughter"),
    **dict.fromkeys(("sibling", "siblings"), "brother sister"),
    **dict.fromkeys(("pet", "pets", "animal", "animals"), _PETS),
    **dict.fromkeys(("boss", "manager", "supervisor"), "boss manager"),
    **dict.fromkeys(("wife", "husband", "spouse", "partner"), " ".join(sorted(PARTNERS))),
    "parents": "mother father parents",
    "family": " ".join(sorted(PEOPLE - {*PETS.values(), *FRIENDS.values(), *SEEN.values(), "boss", "manager"})),
}
"""Words for people that mean more than one key."""
_ALL_KIN: Final = "|".join(sorted({*KEYS, *PLURALS, *_GROUPS}, key=len, reverse=True))
_KIN: Final = rule(
    r"\b(?:my|our|how many|(?:what|which)(?= \w+ (?:do|have) (?:i|we)\b)"
    rf"|(?:do|have) (?:i|we) (?:have|got)(?: an?| any)?)(?: (?:\w+ )??)({_ALL_KIN})(?:'s|s'|s)?\b"
)
_OF_KIN: Final = {
    "place": (
        rule(r"\bwhere\b(?!.*\bwork)|\blives?\b|\bliving\b|\bcity\b|\bhome\b"),
        "live living city town country home",
    ),
    "company": (rule(r"\bwork(?:s|ing)?\b|\bemployer\b"), "work working company employer"),
    "role": (
        rule(r"\bjob\b|\bprofession\b|\bfor a living\b|\bdoes [\w' -]{1,40} do\W*$|\bwork as\b"),
        "job profession work living",
    ),
    "age": (rule(r"\bold\b|\bage\b"), "old age years"),
    "birthday": (rule(r"\bbirthday\b|\bborn\b"), "birthday born"),
    "diet": (rule(r"\beat\b|\bdiet\b|\bvegan\b|\bvegetarian\b"), "eat diet vegan vegetarian"),
    "allergy": (rule(r"\ballerg|\beat\b"), "allergic allergy allergies eat"),
}
"""What may be asked about someone: how it is asked, and the words of a question that it accounts for."""
_THEY: Final = rule(r"\b(?:he|she|they|his|her|hers|their|him|them)\b")
_WHO: Final = rule(
    r"\bwho(?:s|m|se|'s)?\b|\bnames?\b|\bcalled\b|\bhow many\b|\b(?:do|have) (?:i|we)\b",
    r"\babout (?:my|our)\b|\btell me about\b",
)
_NAMES_ONLY: Final = rule(r"\bnames?\b|\bcalled\b|\bhow many\b")
_NAMING: Final = "name names called named call many people member members"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a question is about: everything, what is known under some `keys`, or about some `people`.

    - `about`: what is asked about these people, "" for who they are; if it is empty, everything.
    - `explains`: the words of the question that such facts account for; `sorts`: words that only name a sort of things.
    - `of_another`: it is about someone else, known or not; `names`: the words by which they may be called.
    """

    everything: bool = False
    keys: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()
    about: frozenset[str] = frozenset()
    explains: frozenset[str] = frozenset()
    sorts: frozenset[str] = frozenset()
    of_another: bool = False
    names: frozenset[str] = frozenset()

    def fits(self, fact: Fact) -> bool:
        """Whether a fact is of a kind that the question asks for."""
        if not (self.everything or self.keys or self.people):
            return False  # as most questions ask for none, and there may be hundreds of facts
        return any(self._fits(key) for key, _ in readings(fact))

    def _fits(self, key: str) -> bool:
        first, *rest = key.split(":")
        if first not in PEOPLE:
            return self.everything or first in self.keys
        about = rest[-1] if rest and rest[-1] in ABOUT else ""
        return self.everything or (_someone(key) in self.people and (not self.about or about in self.about))

    def prefers(self, fact: Fact) -> bool:
        """Whether a fact comes before others: it fits or, if everything is asked for, is about the user."""
        return not someone(fact) if self.everything else self.fits(fact)


def someone(fact: Fact | Found) -> str:
    """Whom a fact is about, if not the user: "wife", "sister:nadia"."""
    return _someone(fact.key)


@remembered(KEPT)
def _someone(key: str) -> str:
    who, _, about = key.rpartition(":")
    if key.partition(":")[0] not in PEOPLE:
        return ""
    return who if who and about in ABOUT else key


def asks_for_all(question: str) -> bool:
    """Whether a question asks for everything known about the user: "What do you know about me?"."""
    asked = question.replace("\u2019", "'")
    return len(question) <= MAX_QUESTION and _EVERYTHING.search(asked) is not None


def wanted(question: str, known: Sequence[Fact]) -> Wanted:
    """What a question asks about the user or their people; known people may be asked for by name."""
    if len(question) > MAX_QUESTION:
        return Wanted()
    text = question.replace("\u2019", "'")
    people, named, names = _people(text, known)
    about = {what for what, (asks, _) in _OF_KIN.items() if people and asks.search(text)}
    if people and not about and not _WHO.search(text):
        people = set()
    if not about and _NAMES_ONLY.search(text):
        about = {""}
    words = set(_WORD.findall(text.lower()))
    asked = [kind for telling, kind in TELLING if not telling.isdisjoint(words) and kind.asks.search(text)]
    kinds = [kind for kind in asked if not named or kind.keys == "todo"]
    keys = word_set(" ".join(kind.keys for kind in kinds))
    explains = {word for kind in kinds for word in kind.explains.split()}
    if people:
        explains.update((*named, *_NAMING.split()), *(_OF_KIN[what][1].split() for what in about if what))
    return Wanted(
        asks_for_all(question),
        keys,
        frozenset(people),
        frozenset(about),
        frozenset(explains),
        _SORTS if "likes" in keys or "dislikes" in keys else frozenset(),
        bool(named),
        frozenset(names),
    )


def _people(text: str, known: Sequence[Fact]) -> tuple[set[str], set[str], set[str]]:
    """The known people whom a question means, the words that name them in it, and all words that may name them."""
    said = {lower(match[1]) for match in _KIN.finditer(text)}
    kin = {key for word in said for key in (_GROUPS.get(word) or KEYS.get(word) or PLURALS[word]).split()}
    words = {word.removesuffix("'s") for word in text.casefold().replace("?", " ").replace(",", " ").split()}
    others = [(key, value, who) for fact in known for key, value in readings(fact) if (who := _someone(key))]
    names = {who: name for key, value, who in others if (name := _name(key, value, who))}
    by_name = {who for who, name in names.items() if words.issuperset(name.split())}
    if not by_name and not said and (they := _THEY.search(text)):
        return {who for *_, who in others}, {lower(they[0])}, set()
    people = by_name or {who for *_, who in others if who.partition(":")[0] in kin}
    named = said.union(*(names[who].split() for who in by_name))
    if not named:
        return people, named, set()
    kin.update(who.partition(":")[0] for who in by_name)
    called = named.union(*(names.get(who, "").split() for who in people))
    called.update(word for word, key in {**KEYS, **PLURALS}.items() if key in kin)
    return people, named, called


def _name(key: str, value: str, who: str) -> str:
    return who.partition(":")[2] or (value.casefold() if who == key else "")
