"""What the writer of a message asserts: clauses in their own words that are not questions, what-ifs or jokes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

from recollect.flow.facts.voice import DO_WITH_TEXT, FICTION, NOTES, own_words
from recollect.flow.facts.wording import any_of, rule

MAX_CLAUSE: Final = 300

_Found = TypeVar("_Found")
_SAYS: Final = any_of(
    """said says sang sings wrote shouted whispered replied cried claimed claims told_(?:me|us|him|her|them|the)
    used_to_say"""
)
_WORK: Final = any_of(
    "song slogan sentence title lyric line quote book film movie novel thriller comedy poem phrase series"
)
_NOT_MEANT: Final = rule(
    r"^\W*(?:oh,? (?:great|sure|yeah|wonderful|joy|yes|boy|right)|yeah,? right|wow,? (?:so|i'm such)|as if)\b",
    r"^\W*(?:sure,|just what i (?:needed|wanted)\b|because i just\b|of course i (?:love|enjoy|adore)\b)",
    r"/s\s*$|[🙄🙃]|\bsaid no ?(?:one|body)\b",
    r"\bi (?:just|totally|absolutely|so) (?:love|adore|enjoy) "
    r"(?:it|when|how|being|waiting|sitting|getting|paying|having)\b",
    rf",\s(?:(?:he|she|they|(?:the|my|our|an?) [\w-]+|(?-i:[A-Z]\w+)) )?{_SAYS}\b"
    r"(?! (?:that|i|it|it's|to|hi|hello|yes|no)\b)",
    r", (?:as|or so) (?:the|my|they|people)\b[^,.!?]{0,30} (?:goes|says?|claims?|thinks?)\b",
    r"[,(] ?(?:well|or)(?:,? at least)?,? (?:\w+ )?(?:was|were|used to|did)(?=\s*(?:[.,!;)]|$|until\b|till\b))",
    r", (?:according to|if you can call|as (?:he|she|they) puts? it)\b",
    rf"\bin (?:my|the|this|our) (?:[\w&]+ )?{FICTION}(?=\s*[,.!;]|$| (?:lives|works|is|i|i'm|we|we're)\b)",
    r"^\W*(?:i|my|we)\b(?:(?!\b(?:and|but|which|it|that|favou?rite)\b)[^,.;]){1,60} (?:is|was) (?:an?|the) "
    rf"(?:[\w-]+ ){{0,3}}{_WORK}(?=\s*[.,!;]|$| (?:by|from|of|on)\b)",
)
_TAKEN_BACK: Final = rule(r"\b(?:just kidding|only kidding|jk|just joking|only joking)\b")
_ANNOUNCED: Final = rule(
    rf"\b{NOTES}$",
    r"^\W*(?:i|we)(?:'ve| have)?(?: just)? (?:start(?:ed)?|have|got|found) (?:an? |my )?new (?:job|position|role)\b"
    r"[^:.!?]{0,25}$",
)
_GONE_BY: Final = rule(r"\b(?:i|we) used to [^,;:]*(?:,? but|,)(?: now,?)? $")
_HEDGED: Final = rule(
    r"\b"
    + any_of(
        r"""if unless whether suppos\w+ imagin\w+ pretend\w* would wouldn't could might wish\w* hope hoping maybe
        perhaps possibly hypothetical\w* in_case as_if once when whenever until one_day someday ideally? ideal_world
        dream\w* used_to back_then as_a_kid as_a_child as_a_teenager years_ago said says? saying told tells claim\w*
        wrote writes written asked asks think(?!ing_(?:about|of)\b)\w* thought believes? whisper\w* reply replie[sd]
        shout\w* according_to quot\w+ lyrics sings? sang reads? titled entitled sentence phrase character
        protagonist narrator didn't doesn't isn't aren't never not_true don't_think doubt lied? joke joking kidding
        example story novel poem song simulation between instead_of rather_than at_heart"""
    )
    + r"\b"
)
_DENIED: Final = rule(r"\b(?:didn't|doesn't|isn't|aren't|never)\b")
_AND: Final = rule(r"\s(?:and|but|so|plus)\s+$")
_BREAK: Final = rule(
    r"(?:[,:(\u2013\u2014]|\s-{1,2})\s*",
    r"\s(?:and|but|because|since|so|as|though|although|while|plus|cause|cuz)\s+"
    r"(?=(?:now )?(?:i|i'm|i've|my|we|we're|our)\b)",
)
_ELIDED: Final = rule(
    r",\s+(?=(?:(?:currently|now) )?(?:work (?:at|for|as)|live in)\s)",
    r"\s(?:and|but)\s+(?=(?:(?:currently|now|also|still|really|mostly|later|then|recently|just) )?"
    r"(?:work (?:at|for|as)|live in|hate|enjoy|prefer|am|moved|speak|play|teach|drive|grew up in|have an?|don't like"
    r"|can't stand)\s)",
)
_NOT_OF_ANOTHER: Final = r"(?![^.!?]*, (?:(?-i:[A-HJ-Z]|I\w)|(?:he|she|it|they|the)\b))"
"""Not "Obsessed with power, Macbeth …"."""
_NO_SUBJECT: Final = {
    "I ": rule(
        r"(?:(?:(?:just|recently|finally) )?(?:moved|relocated|switched) (?:to|from)"
        r"|(?:just|recently|finally) (?:started|joined|turned|got|renamed)|turned \d\d"
        r"|(?:quit|lost) my job|started (?:at|as)"
        rf"|got (?:laid off|fired|let go|made redundant|promoted|engaged|married|hired|the job))\b{_NOT_OF_ANOTHER}",
        r"(?:can't|cannot) (?:stand|eat|drink|have)\b|(?:really )?(?:need|have) to [a-z]|prefer [a-z]",
        r"(?:called|booked|paid|bought|sent|renewed|picked up|finished) [^.!?\n]{2,40} already\b",
        r"already (?:called|booked|paid|bought|sent|renewed|picked up|finished)\b",
    ),
    "I was ": rule(r"born (?:and raised )?(?:in|on) "),
    "I've ": rule(r"been (?:playing|learning|living in|working (?:at|for|as|in))\b"),
    "I'm ": rule(
        r"not (?:really |that |too )?(?:into|keen on) ",
        r"(?:flying|moving|heading|travell?ing|going|off) to |leaving for |getting married ",
        r"(?:(?:not )?(?:an? )?(?:(?:big|huge|massive) )?fan of"
        rf"|(?:absolutely |totally )?obsessed with|allergic to)\b{_NOT_OF_ANOTHER}",
    ),
    "I'm a ": rule(
        r"(?!(?:i|we|you|they|the|my|our|your|his|her|another|every|no|any|some|it's|this)\b)"
        r"(?:[a-z-]+ ){1,4}here\s*[.,!]"
    ),
}
"""What is left out before words that a sentence begins with."""
_SUBJECT: Final = rule(r"(?:i|i'm|we)\b")
_MINE: Final = rule(r"\s*(?:i|i'm|i've|my|we)\b")
_BECAUSE: Final = rule(
    r"(?:because|since|as(?! i said)|cause|so|(?:even )?though|although|while|(?:given|considering)(?: that)?)\s+"
    r"(?=(?:i|i'm|my|we)\b)"
)
_SOME_TIME_AGO: Final = rule(
    r"(?:yesterday|last (?!time)\w+|since (?!i\b)[\w ]{3,20}?|in (?:19|20)\d\d|\w+ (?:days|weeks?|months?) ago"
    r"|after (?!i\b)(?:(?! i\b)[^,.;!?]){3,40}?),? (?=(?:i|i've|we|we've) (?:just )?"
    r"(?:moved|relocated|joined|started|switched|became|got|adopted|bought|quit|work|live|turned)\b)"
)
"""When something began, which may stand before it: "Last year I moved to Rome"."""
_OPENING: Final = rule(
    r"(?:"
    + any_of(
        r"""actually well ok okay so also and but no(?!_need\b) nope wait ugh um scratch_that basically tbh ngl
        for_context yes yeah yep btw by_the_way fyi just_so_you_know for_the_record to_be_honest honestly hi hello
        hey hi_there hello_there hey_there good_morning good_afternoon good_evening thanks(?!_(?:a|so|very|for)\b)
        thank_you(?!_(?:so|very|for)\b) please sorry oops correction (?:quick_|small_)?update
        (?:please_)?(?:remember|note|know|be_aware)(?:_that)? as_you_know in_fact i_mean(?:t)? hmm oh right anyways?
        originally (?:it_)?turns_out(?:_that)? unfortunately fortunately sadly luckily now nowadays these_days
        recently lately personally in_general generally by_now today additionally don't_forget(?:_that)?
        just_to_let_you_know as_of_(?:now|today|last_\w+) by_(?:profession|trade) from_now_on going_forward
        in_(?:the_)?future next(?=,?_(?:i|i'm|we|we're)\b) i_should(?:_also|_probably)?_(?:mention|add|say)(?:_that)?
        (?:keep|bear)_in_mind(?:_that)? (?:as|like)_i_said(?:_before)? (?:the_)?thing_is(?:_that)?
        (?:i_(?:already_)?told_you|you_(?:keep_forgetting|always_forget|forgot))(?:_that)?(?=_(?:i|i'm|my|we)\b)"""
    )
    + r"(?:\s*[,:!.\u2013\u2014-]+\s*|\s+))+"
)
_FROM_NOW_ON: Final = rule(r"\b(?:from now on|going forward|in (?:the )?future)\b(?! (?!please|pls|always)\w)")
_REQUEST: Final = rule(
    r"(?:can|could|will|would) (?:you|u) (?:please |pls )?(?:(?:remind me|stop [a-z]+ing|always|keep your)\b"
    r"|(?=[^?]{0,80}\bfrom now on\b))"
)
"""A question that asks for something to be done, from now on or on a day."""
_ASKS: Final = rule(
    r"\W*(?:(?:so|and|but|or) )?"
    + any_of(
        """what what's where where's who who's whom whose why when how how's which is isn't are aren't am was were do
        don't_you does doesn't did didn't can can't could couldn't should shouldn't would wouldn't will won't
        have_i have_you have_we has any may might shall suggest recommend tell show give help"""
    )
    + r"\b"
)
_ASKS_FOR: Final = rule(r"\W*(?:any )?(?:[\w'-]+ ){0,4}?(?:ideas|recs|recommendations|suggestions|tips|advice)\b")
_TAG: Final = rule(
    r"\W*(?:[\w']+(?: [\w']+)?|(?=[^?]*\b(?:i|you|we|he|she|it|they|that|this|there)\b)[\w']+(?: [\w']+){2})\W*$"
)
"""A few words that ask about all that stands before them: "right?", "don't I?"."""
_AGREED: Final = rule(r",? (?:ok|okay|alright|please|pls)\?+\s*$")
"""What asks for assent to what is said, not whether it is so."""
_GREETED: Final = rule(
    r"(?:^|[\s,.!])"
    r"(?:hi|hiya|hello|hey|hola|yo|(?:good )?(?:morning|afternoon|evening)|greetings|let me introduce myself)"
    r"(?: there| all| sir| madam| everyone| team| guys)?[\s,.:!\u2013-]*$"
)
_WRITE: Final = rule(
    r"\W*(?:please |can you |could you |now |help me )*"
    rf"(?:{DO_WITH_TEXT}|tell (?:me )?a|make up|sing|come up with)\b"
)
_SENTENCE: Final = re.compile(r"[^.!?\n;]+(?:[.!?;](?![\s\"')\]]|$)[^.!?\n;]*)*[.!?;]*")
NAMES_THEM: Final = (
    r"(?:(?:his|her|its|their) name(?: is|'s)|(?:he|she|it)(?: is|'s) (?:called|named)|(?:i|we) named (?:him|her|it))"
)
_NAMED_NEXT: Final = rule(
    rf"\s{{1,9}}(?:{NAMES_THEM} |s?he(?:'s| is|(?: just)? turned) \d|starting )(?![^.!?\n]{{0,200}}\?)"
)
"""What tells the name or age of whom the sentence before it told of, or when that begins: both are read as one."""
_ABBREVIATED: Final = rule(r"(?:^|[\s(])(?:mr|mrs|ms|dr|st|ft|mt|prof|sr|jr|vs|inc|ltd|e\.g|i\.e|approx|no|[A-Z])\.$")


@dataclass(frozen=True, slots=True)
class Clause:
    """The part of a sentence that starts where someone may assert something, up to the end of the sentence.

    `offset` is where it starts in the message; `before` is what comes before it in the sentence, and before that
    sentence. If the subject was left out ("and work at …", "Big fan of …"), "I " or "I'm " is put in front of the text;
    `added` is how many characters that is.
    """

    text: str
    offset: int
    at: datetime
    before: tuple[str, str] = ("", "")
    added: int = 0

    @property
    def greeted(self) -> bool:
        """Whether a greeting comes before it."""
        return any(_GREETED.search(words) for words in self.before)

    @property
    def first(self) -> bool:
        """Whether it begins its sentence, apart from words like "well" and "by the way"."""
        return not _OPENING.sub("", self.before[0].lstrip(), 1)

    @property
    def always(self) -> bool:
        """Whether "from now on" comes before it."""
        return _FROM_NOW_ON.search(self.before[0]) is not None


def told(text: str, at: datetime, find: Callable[[Clause], list[_Found]]) -> list[_Found]:
    """What `find` finds at each place of a message where the writer may say something about themselves, in order.

    Whether it is meant seriously is checked last, because mostly nothing is found.
    """
    prose = own_words(text)
    said: list[_Found] = []
    for start, sentence in _sentences(prose):
        head = sentence[: 2 * MAX_CLAUSE]
        here = _in_sentence(sentence, start, at, prose[max(0, start - 30) : start], find)
        if here and not _NOT_MEANT.search(head):
            said += here
    return said if said and not _TAKEN_BACK.search(prose) else []


def _sentences(prose: str) -> Iterator[tuple[int, str]]:
    start: int | None = None
    for match in _SENTENCE.finditer(prose):
        start = match.start() if start is None else start
        sentence = prose[start : match.end()]
        short = len(sentence) < MAX_CLAUSE
        ends_word = prose[match.end() : match.end() + 1] == " " and short and sentence[-1] == "."
        if ends_word and _ABBREVIATED.search(sentence, max(0, len(sentence) - 9)):
            continue
        if short and sentence[-1] in ".!" and _NAMED_NEXT.match(prose, match.end()):
            continue
        yield start, sentence
        start = None


def _in_sentence(
    sentence: str, start: int, at: datetime, earlier: str, find: Callable[[Clause], list[_Found]]
) -> list[_Found]:
    said: list[_Found] = []
    head = sentence[: 2 * MAX_CLAUSE]
    opened = _skip(head, len(head) - len(head.lstrip()))
    if sentence.rstrip().endswith("?") and not _AGREED.search(head):
        if _REQUEST.match(head, opened):
            said += find(Clause(head[opened:].rstrip("? "), start + opened, at))
        head = _told(head, opened)
    unsure = list[str]()
    for place, subject in [(opened, _left_out(head, opened)), *_breaks(head, opened)]:
        unsure.append(head[opened:place])
        begin = _skip(head, place)
        words = subject + head[begin : begin + MAX_CLAUSE]
        if here := find(Clause(words, start + begin - len(subject), at, (head[:begin], earlier), len(subject))):
            if any(_HEDGED.search(_doubts(before)) or _WRITE.match(before) for before in unsure):
                return said
            unsure.clear()
            said += here
    return said


def _doubts(before: str) -> str:
    """The words before a clause that may cast doubt on it; "I used to …, but" and "she doesn't … and" do not."""
    before = _GONE_BY.sub("", before)
    return _DENIED.sub("", before) if _AND.search(before) else before


def _left_out(head: str, opened: int) -> str:
    """The subject that is missing at the start of a sentence: "Moved to Rome", "Big fan of jazz"; "" if none is."""
    return next((subject for subject, begins in _NO_SUBJECT.items() if begins.match(head, opened)), "")


def _told(head: str, opened: int) -> str:
    """What a question asserts before it starts to ask; nothing if a mere "right?" at its end asks about all of it."""
    if _ASKS.match(head, opened):
        return ""
    for place, _ in _breaks(head, opened):
        if _ASKS_FOR.match(head, place):
            return head[:place]
        if _ASKS.match(head, place):
            return "" if _TAG.match(head, place) else head[:place]
    return ""


def _skip(head: str, place: int) -> int:
    """Where the clause at a place really begins, after words like "well", "by the way" and "because"."""
    if because := _BECAUSE.match(head, place):
        place = because.end()
    if opening := _OPENING.match(head, place):
        place = opening.end()
    since = _SOME_TIME_AGO.match(head, place)
    return since.end() if since else place


def _opens(head: str, break_: re.Match[str]) -> bool:
    """Whether a clause begins after a break; after a colon it does only if the words before that announce one."""
    return break_[0][0] != ":" or _ANNOUNCED.search(head[: break_.start()]) is not None


def _breaks(head: str, opened: int) -> list[tuple[int, str]]:
    """The places where a clause may begin, each with "I " if it shares that subject with the clause right before it."""
    breaks = [(match, _opens(head, match)) for match in _BREAK.finditer(head, opened)]
    quoted = (match.start() for match, opens in breaks if not opens and _MINE.match(head, match.start() + 1))
    head = head[: next(quoted, len(head))]
    found = {match.end(): "" for match, opens in breaks if opens and match.end() <= len(head)}
    for match in _ELIDED.finditer(head, opened):
        before = max((place for place in found if place <= match.start()), default=opened)
        if found.get(before) or _SUBJECT.match(head, before):
            found[match.end()] = "I "
    return sorted(found.items())
