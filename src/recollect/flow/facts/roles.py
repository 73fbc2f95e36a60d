"""What people are by profession: a role ends in a word that names one."""

from __future__ import annotations

from typing import Final

from recollect.flow.facts.phrases import Phrase, tokens

_HEADS: Final = frozenset(
    """accountant actor actress actuary administrator advisor adviser advocate agent analyst animator anthropologist apprentice
    archaeologist architect archivist artist assistant astronomer attorney auditor author baker banker barber barista bartender
    biologist blacksmith bookkeeper botanist broker builder butcher caregiver caretaker carer carpenter cashier ceo cfo
    chairman chef chemist chiropractor choreographer cio civil-servant cleaner clerk coach cofounder co-founder columnist comedian
    composer conductor consultant contractor controller cook coordinator copywriter counselor counsellor courier cto curator
    dancer dean dentist dermatologist designer detective developer dietitian director diplomat dj doctor driver ecologist
    economist editor educator electrician engineer entrepreneur epidemiologist estimator executive farmer filmmaker
    firefighter fisherman florist founder freelancer gardener geographer geologist geophysicist goldsmith graduate grocer
    guard guide gynecologist hairdresser handyman head historian housekeeper housewife homemaker illustrator inspector instructor
    intern interpreter investor janitor jeweler journalist judge juggler lab-technician laborer lawyer lecturer librarian
    linguist locksmith logistician machinist magistrate maid manager marketer masseuse mathematician mechanic mediator medic
    merchant meteorologist microbiologist midwife miner minister model mortician musician nanny neurologist neuroscientist
    notary novelist nurse nutritionist officer operator optician optometrist organist paediatrician painter paralegal
    paramedic pastor pathologist pediatrician pharmacist philosopher photographer physician physicist physiotherapist pianist
    pilot planner plumber podiatrist poet policeman policewoman politician postdoc postman potter priest principal
    producer professor programmer psychiatrist psychologist psychotherapist publisher rabbi radiographer radiologist ranger
    realtor receptionist recruiter registrar reporter representative researcher restaurateur roofer sailor salesman salesperson
    saleswoman scholar scientist screenwriter sculptor seamstress secretary shepherd singer social-worker sociologist soldier
    solicitor specialist statistician stewardess strategist student sublieutenant superintendent supervisor surgeon surveyor
    tailor teacher technician technologist telemarketer teller therapist trader trainee trainer translator treasurer trucker
    tutor undergraduate undertaker upholsterer urologist valet vet veterinarian vicar vp waiter waitress warden watchmaker
    weaver welder woodworker worker writer yoga-teacher zoologist freshman sophomore senior-lecturer beekeeper brewer
    bricklayer joiner mason glazier plasterer""".split()
)
_NOT_HEADS_ALONE: Final = frozenset("head model guide senior guard agent principal minister judge assistant worker graduate".split())
_ENDS: Final = frozenset(
    """at for with from in and but who that or based living working by on to specializing specialising studying with, so as because
    which where currently now here though while if than""".split()
)
_NEVER: Final = frozenset(
    """bad good terrible great better lousy big slow fast natural born aspiring wannabe would-be former ex- future
    potential self-proclaimed not ex frequent heavy keen avid amateur hobby armchair""".split()
)
MAX_WORDS: Final = 6


def role(text: str, start: int) -> Phrase | None:
    """The profession named from a place on: "software developer", "head of marketing"; None where it is none."""
    words = list[str]()
    end = start
    for token in tokens(text, start):
        if token[0].lower() in _ENDS:
            break
        words.append(token[0].lower())
        end = token.end()
    if not words or len(words) > MAX_WORDS or _NEVER.intersection(words):
        return None
    head = words[words.index("of") - 1] if "of" in words[1:] else words[-1]
    if head not in _HEADS or (len(words) == 1 and head in _NOT_HEADS_ALONE):
        return None
    return Phrase(text[start:end], end)
