"""What is no answer to a question for a name, a place or a firm, though it is a capitalised word: "Taxes", "Rude"."""

from __future__ import annotations

import re
from typing import Final

from recollect.flow.facts.forenames import FORENAMES
from recollect.flow.facts.people import KEYS
from recollect.flow.facts.places import PLACE
from recollect.flow.facts.roles import role
from recollect.flow.facts.wording import word_set

EVASIVE: Final = word_set(
    """no nope nah never none nothing nobody nowhere not n/a na idk dunno pass skip guess why what who where when how
    huh whatever whoever wherever whenever secret private confidential classified anonymous redacted unknown
    irrelevant undecided unsure depends maybe perhaps later next stop cancel quit exit help continue back undo again
    more less sure yes yeah yep yup correct right wrong true false okay ok fine good great nice thanks thank sorry
    please hello hi hey bye lol haha hmm um uh someone somebody something somewhere anything anyone everything
    everyone both either neither all many several various different same other another some any few lots hard tough
    difficult tricky easy interesting personal first second last forget nevermind never-mind ask asking tell telling
    you your yours me mine i i'm i'd i've i'll we he she they it it's that this there here that's don't doesn't didn't
    haven't won't can't cannot refuse myself ourselves prefer rather just wait hold let's let go come say said
    stranger human person user customer guest doesnt matter dont is are was were has have had used my his her their
    our testing test and or but refund return returns order orders delivery complaint problem issue account password
    billing invoice support agent operator representative booking he's she's they're we're"""
)
"""Words that begin no name and no place, and that are in no profession, whatever they begin with."""
NO_PLACE: Final = word_set(
    """earth mars moon world space heaven hell home house apartment flat downtown uptown suburbs suburbia countryside
    village town city rural urban nearby close abroad overseas online internet bed office work school campus
    near under behind everywhere outside inside upstairs downstairs north south east west remote remotely hotel europe
    asia africa between"""
)
_NO_FIRM: Final = word_set(
    """home remote remotely freelance self self-employed unemployed retired hospital school office bank university
    college restaurant cafe library shop store supermarket church factory warehouse government council startup
    start-up retail construction healthcare tech technology finance insurance it hr marketing sales education
    hospitality logistics agriculture manufacturing engineering consulting law media farm hotel gym salon bar pub
    studio lab outside online full-time part-time student school gp clinic garage bakery mine own family"""
)
_REMARKS: Final = word_set(
    """rude creepy weird strange odd funny cute adorable sweet beautiful amazing awesome wow whoa ugh meh boring
    annoying stupid silly ridiculous brilliant perfect excellent terrible horrible awful disgusting gross scary
    terrifying harsh nosy nosey intrusive invasive pushy cheeky savage dumb lame crazy insane wild hilarious
    unbelievable incredible impossible outrageous unacceptable disappointing pathetic useless worthless broken slow
    urgent important clever smart seriously really obviously clearly absolutely totally exactly indeed naturally
    honestly literally actually basically alright certainly surely hardly barely nearly almost apparently fair
    enough true false yikes oof bruh dude bro man cringe sus based epic legit random obvious invalid error undefined
    null void blank empty missing daddy mommy mummy master sir madam captain boss king queen princess nonsense
    rubbish garbage underwater underground tired hungry bored sad happy angry sick lonely confused stressed busy
    thirsty sleepy excited nervous curious lost bonjour hola ciao salut howdy greetings aloha namaste hallo guten
    konnichiwa shalom salam chatgpt gpt gpt-4 chatbot bot robot assistant computer machine ai siri alexa cortana
    continue proceed summarize summarise translate explain restart reset start begin finish done exit repeat redo
    retry search find list show describe elaborate expand rewrite edit delete remove send open close print respond
    reply quickly slowly immediately asap today tomorrow tonight yesterday now soon always sometimes rarely usually
    often daily weekly monthly weekday weekdays weekend weekends mornings evenings nights hourly full part both half
    monday tuesday wednesday thursday friday saturday sunday omg wtf lmao rofl smh"""
)
"""What people say of a question, of themselves, or to the assistant."""
_JESTS: Final = word_set(
    """manager nurse doctor teacher student engineer developer satan god jesus santa batman superman spiderman spider-
    man voldemort gandalf dracula zeus thor yoda sherlock"""
)
_TOPICS: Final = word_set(
    """tax taxes maths math physics chemistry biology history geography algebra calculus statistics economics homework
    essay essays thesis grammar vocabulary code coding programming debugging python javascript typescript java sql
    html css excel powerpoint word spreadsheet spreadsheets recipe recipes cooking baking dinner lunch breakfast
    food pizza burger cheeseburger sandwich chocolate pasta coffee tea water beer wine music movie movies film films
    book books news weather sport sports football soccer basketball tennis travel trip trips flight flights hotel
    hotels money crypto bitcoin stocks investing mortgage loan loans budget budgeting shopping clothes shoes gift
    gifts joke poetry poem poems science politics religion health fitness exercise exercises workout workouts yoga
    diet diets sleep email emails resume résumé cv job jobs career careers interviews dating relationships gardening
    gaming games photography painting design art philosophy psychology nutrition pregnancy parenting wedding
    weddings birthday birthdays vacation holidays google gemini copilot bard llama mistral deepseek grok perplexity
    openai"""
)
"""What people ask assistants about, and other assistants."""
_LIKE_NO_NAME: Final = re.compile(
    r"\w{3,}(?:tion|tions|sion|ness|ology|ware|able|ible|ously|ally|ably|ically|ful|less|eries|ories)"
    r"|[A-Z]\w*-[a-z-]+"
)
"""Words that end as words for things and manners do, and those that go on small: "Rent-free"."""
_NO_NAMES: Final = _REMARKS | _TOPICS | _JESTS | KEYS.keys()
_ANY_WORD: Final = re.compile(r"[\w'-]+")
PET_NAMES: Final = FORENAMES | word_set(
    """rex max bella luna misty charlie cooper buddy daisy milo rocky molly bailey sadie tucker teddy bear duke
    bentley toby coco ruby pepper lola finn jasper ginger simba nala shadow smokey tiger oreo whiskers salem pumpkin
    mittens socks fluffy fido spot lucky loki thor zeus odin apollo jack otis archie winston biscuit cookie mochi miso
    tofu peanut bo"""
)


def is_remark(answer: str) -> bool:
    """Whether an answer begins with a word that answers nothing."""
    first = _ANY_WORD.search(answer)
    return first is not None and first[0].casefold() in _REMARKS


def is_no_name(answer: str) -> bool:
    """Whether an answer begins with a word that is nobody's name: a remark, a jest, or a topic."""
    first = _ANY_WORD.search(answer)
    if first is None or first[0].casefold() in FORENAMES:
        return False
    return first[0].casefold() in _NO_NAMES or _LIKE_NO_NAME.fullmatch(first[0]) is not None


def is_no_place(answer: str) -> bool:
    """Whether an answer begins with a word that is the name of no place."""
    return not PLACE.match(answer.casefold()) and is_no_name(answer)


def is_no_firm(answer: str) -> bool:
    """Whether an answer, without its article, is the name of no firm: a remark, a place, a profession."""
    small = answer.casefold()
    first = _ANY_WORD.match(small)
    trade = role(small, 0)
    return (
        is_remark(answer)
        or (first is not None and first[0] in EVASIVE | _NO_FIRM | NO_PLACE)
        or PLACE.fullmatch(small) is not None
        or (trade is not None and trade.end == len(small))
    )
