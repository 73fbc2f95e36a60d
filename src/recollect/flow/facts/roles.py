"""Professions: a role ends in a word that names one."""

from __future__ import annotations

from typing import Final

from recollect.flow.facts.phrases import MAX_WORDS, Phrase, tokens
from recollect.flow.facts.wording import rule, word_set

_HEADS: Final = word_set(
    """accountant actor actress actuary administrator adviser advisor advocate agent anaesthetist analyst
    anesthesiologist anesthetist animator anthropologist apprentice archaeologist architect archivist artist assistant
    astronomer attorney auditor author baker banker barber barista barrister bartender beekeeper biologist blacksmith
    bookkeeper botanist brewer bricklayer broker builder butcher caregiver carer caretaker carpenter childminder
    cashier ceo cfo chairman chef chemist chiropractor choreographer cio cleaner clerk co-founder coach cofounder
    columnist comedian composer conductor consultant contractor controller cook coordinator copywriter counsellor
    counselor courier cto curator dancer dean dentist dermatologist designer detective dev developer dietitian diplomat
    director dj doctor driver ecologist economist editor educator electrician engineer entrepreneur epidemiologist
    estimator executive farmer filmmaker firefighter fisherman florist founder freelancer freshman gardener geographer
    geologist geophysicist glazier goldsmith grocer guard guide gynecologist hairdresser handyman head historian
    homemaker housekeeper housewife illustrator inspector instructor intern interpreter investor janitor jeweler joiner
    journalist judge laborer lawyer lead lecturer librarian lifeguard linguist locksmith machinist magistrate maid
    manager marketer mason mathematician mechanic mediator medic merchant meteorologist microbiologist midwife miner
    minister model mortician musician nanny neurologist neuroscientist notary novelist nurse nutritionist officer
    operator optician optometrist organist paediatrician painter paralegal paramedic pastor pathologist pediatrician
    pharmacist philosopher photographer physician physicist physio physiotherapist pianist pilot planner plasterer
    plumber podiatrist poet policeman policewoman politician postdoc postman potter priest principal producer professor
    programmer psychiatrist psychologist psychotherapist publisher rabbi radiographer radiologist ranger realtor
    receptionist recruiter registrar reporter representative researcher restaurateur roofer sailor salesman salesperson
    saleswoman scholar schoolteacher scientist screenwriter sculptor seamstress secretary shepherd singer sociologist
    soldier solicitor sommelier sophomore specialist statistician strategist student superintendent supervisor surgeon
    surveyor sysadmin tailor teacher technician technologist teller therapist trader trainee trainer translator
    treasurer trucker tutor undergraduate undertaker upholsterer urologist vet veterinarian vicar vp waiter waitress
    warden watchmaker weaver welder woodworker worker writer zoologist"""
)
_NOT_ALONE: Final = word_set("head lead model guide guard agent principal minister judge assistant worker")
PEOPLE: Final = _HEADS - _NOT_ALONE - {"cook"}
"""Words for people by their profession, which mean nothing else."""
_ENDS: Final = word_set(
    """at for with from in and but who that or based living working by on to specializing specialising studying so as
    because last yesterday today this which where currently now here though while if than i i'm my until till during
    unless when whenever any anymore"""
)
_OF_SOME: Final = rule(r"of (?:an?|my|our)\b")
_NO_ROLE: Final = word_set(
    """language bad good terrible great better lousy big slow fast natural born aspiring wannabe would-be former
    future potential self-proclaimed not ex worst best only frequent heavy keen avid amateur hobby armchair"""
)


def role(text: str, start: int) -> Phrase | None:
    """The profession that is named from a place on: "software developer", "head of marketing"; None if none is."""
    words = list[str]()
    end = start
    for token in tokens(text, start):
        if token[0].lower() in _ENDS or _OF_SOME.match(text, token.start()):
            break
        words.append(token[0].lower())
        end = token.end()
    if not words or len(words) > MAX_WORDS or _NO_ROLE.intersection(words):
        return None
    head = words[words.index("of") - 1] if "of" in words[1:] else words[-1]
    if not (head in _HEADS or head.endswith("ologist")) or (len(words) == 1 and head in _NOT_ALONE):
        return None
    return Phrase(text[start:end], end)
