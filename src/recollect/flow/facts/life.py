"""The user's daily life: what they play, teach, learn and drive, with whom they live, their habits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from recollect.answers import FactType
from recollect.flow.facts.found import Found, found
from recollect.flow.facts.likes import INTEREST
from recollect.flow.facts.phrases import name
from recollect.flow.facts.profile import AM, LANGUAGES, NATIONS, PROFILE
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.wishes import PREFERENCE
from recollect.flow.facts.wording import EMOJI, any_of, rule, small

_INSTRUMENTS: Final = any_of(
    """cello violin viola double_bass piano keyboards? (?:(?:bass|lead|acoustic|electric|classical|rhythm)_)?guitar
    bass drums percussion flute clarinet saxophone sax trumpet trombone tuba french_horn oboe bassoon harp ukulele
    banjo mandolin accordion harmonica organ recorder sitar tabla theremin bagpipes fiddle synth"""
)
_GAMES: Final = any_of(
    """tennis table_tennis ping_pong football soccer basketball volleyball badminton squash golf cricket rugby
    (?:ice_|field_)?hockey baseball softball handball netball lacrosse padel pickleball water_polo ultimate_frisbee
    darts snooker pool billiards chess poker bridge backgammon scrabble mahjong d&d dnd dungeons_(?:and|&)_dragons
    minecraft valorant fortnite overwatch roblox league_of_legends video_games board_games"""
)
_SUBJECTS: Final = any_of(
    """biology chemistry physics math maths mathematics history geography economics econ philosophy psychology
    sociology law nursing medicine architecture (?:computer|data|political|materials|environmental)_science
    (?:mechanical|electrical|civil|software|chemical|aerospace)_engineering engineering linguistics literature
    english_literature art_history music theology journalism accounting marketing statistics astronomy anthropology
    archaeology dentistry pharmacy veterinary_medicine graphic_design film_studies business_administration"""
)
_TAUGHT: Final = any_of("yoga pilates swimming ballet dance judo karate drama art ceramics pottery cooking")
_CODE: Final = any_of(r"python rust java javascript typescript golang kotlin swift haskell sql c\+\+ react django")
_SKILL: Final = "to " + any_of(
    "drive swim cook code program sew knit crochet paint draw ski surf sail dance sing juggle weld"
)
_A_LANGUAGE: Final = f"(?:Brazilian |sign )?(?:{LANGUAGES}|Latin|Sanskrit|Esperanto|ASL)"
_CARS: Final = any_of(
    """Audi BMW Buick Cadillac Chevrolet Chevy Chrysler Citro[eë]n Cupra Dacia Dodge Fiat Ford Genesis GMC Honda Hyundai
    Jaguar Jeep Kia Lexus Lincoln Mazda Mercedes Mini Mitsubishi Nissan Opel Peugeot Polestar Porsche Renault Rivian
    Saab Seat Skoda Škoda Smart Subaru Suzuki Tesla Toyota Vauxhall Volkswagen Volvo VW BYD"""
)
_SINCE: Final = r"(?=[^.;!?]{2,50} (?:for|since)\b)"
_OFTEN: Final = (
    f"(?: {any_of('also still currently now mostly mainly just sometimes often regularly actually usually')})*"
)
_WE: Final = f"(?:i|we){_OFTEN}"
_NO_MORE: Final = "i(?: no longer {0}|(?:'ve| have)? (?:stopped|quit|gave up|given up) {1})"
_DROPPED: Final = r"i (?:don't|do not) {0} (?=[^.,;!?]{{2,40}} any ?more\b)"
_KINDS: Final[tuple[tuple[FactType, str, re.Pattern[str], re.Pattern[str], re.Pattern[str]], ...]] = (
    (
        INTEREST,
        "plays",
        rule(
            f"{_WE} play (?:the |a (?:bit|little) of )?",
            "i(?:'ve| have) been playing (?:the )?",
            f"i(?:'ve| have) played (?:the )?{_SINCE}",
        ),
        rule(f"{_NO_MORE.format('play', 'playing')} (?:the )?", f"{_DROPPED.format('play')}(?:the )?"),
        rule(rf"({_INSTRUMENTS}|{_GAMES})(?!\w)"),
    ),
    (
        PROFILE,
        "teaches",
        rule(f"i{_OFTEN} teach ", f"{AM} teaching ", f"i(?:'ve| have) (?:been teaching|taught) {_SINCE}"),
        rule(f"{_NO_MORE.format('teach', 'teaching')} ", _DROPPED.format("teach")),
        rule(f"({_SUBJECTS}|{_TAUGHT}|{_A_LANGUAGE}|{_INSTRUMENTS})(?!\\w)"),
    ),
    (
        INTEREST,
        "learning",
        rule(
            f"{AM} (?:learning|studying|trying to learn|teaching myself) (?:the )?(?:how )?",
            "i(?:'ve| have)(?: just| recently)? (?:been learning|started learning|started to learn) (?:the )?(?:how )?",
            "i (?:just |recently )?started (?:learning|to learn) (?:the )?(?:how )?",
        ),
        rule(f"{_NO_MORE.format('learn', 'learning')} (?:the )?", f"{AM} (?:no longer|not) learning (?:the )?"),
        rule(f"({_A_LANGUAGE}|{_CODE}|{_INSTRUMENTS}|chess|{_SKILL})(?!\\w)"),
    ),
    (
        PROFILE,
        "studies",
        rule(f"i{_OFTEN} study ", f"{AM} (?:studying|majoring in) "),
        rule(f"{_NO_MORE.format('study', 'studying')} ", _DROPPED.format("study")),
        rule(rf"({_SUBJECTS})(?!\w)"),
    ),
)
"""Of each kind: type, key, the words before it, those before what is over, and a pattern for what it may be."""
_WHOLE: Final = (
    rf"(?=\s*(?:[.,!;:){EMOJI}]|$|"
    + any_of(
        """and & any but so because since for in at on with by to as twice once three every now btw lol rn part-?time
        part_time last mostly lately myself n cuz online too professionally competitively"""
    )
    + r"\b|& ))"
)
_ENDS: Final = rule(_WHOLE)
_PASSING: Final = rule(
    r"[^.,;!?]{0,30}\b(?:today|tonight|tomorrow|right now|this (?:week|weekend|morning|evening|afternoon)|with fire"
    r"|(?:on|next) \w+day\b|in (?:this|the|my) (?:game|video|movie|film|story|dream|scene))\b"
)
_MORE: Final = rule(r"(?:, (?:and )?| and | & )(?:the )?")
_AT_SCHOOL: Final = rule(
    rf"i (?:studied|study|did my (?:degree|phd|master's|bachelor's|masters))(?: {_SUBJECTS})? at ",
    rf"{AM} (?:studying|doing (?:an?|my) (?:phd|master's|masters|msc|bachelor's|degree))(?: in)?"
    r"(?: (?!at\b)[\w-]+){0,3} at ",
    r"i (?:have )?graduated(?: in \w+)? from ",
    r"i went to (?=(?:the )?(?-i:[A-Z])[^.,;!?]{1,40}\b(?-i:University|College|Polytechnic|State)\b)"
    r"(?!.*\b(?:for|to)\b)",
)
_LOOKS: Final = "(?:(?:old|used|second-?hand|new|red|blue|black|white|silver|grey|gray|green) )?"
_DRIVE: Final = rule(rf"(?:{_WE} drive|(?:my|our) (?:(?:new|current|family) )?car(?: is|'s)) (?:an? |the )?{_LOOKS}")
_DRIVE_NO_MORE: Final = rule(
    f"(?:{_NO_MORE.format('drive', 'driving')} |{_DROPPED.format('drive')})(?:an? |the )?",
    rf"(?:i|we)(?:'ve| have)?(?: (?:just|finally|now))? (?:sold|scrapped|traded in|got rid of) (?:my|our|the) {_LOOKS}",
)
_I_NOW: Final = rule(rf"i now\b|i{_OFTEN} drive [^.,;!?]{{2,40}} (?:now|these days|instead)\b")
_SOLD: Final = rule(
    r"(?:i|we)(?:'ve| have)?(?: (?:just|finally|now))? (?:sold|scrapped|traded in|got rid of) "
    rf"(?:(?:my|our|the) (?:old )?car|(?P<it>it)){_WHOLE}"
)
_NO_OTHER: Final = r"(?:(?!\b(?:my|our|his|her|an?|(?:and|but) the)\b)[^.!?\n])*"
_HAPPENED: Final = any_of(
    "is was got gets kept keeps broke breaks died failed had has needed needs started stopped wouldn't didn't cost"
)
_BOUGHT_A: Final = (
    r"(?:i|we)(?:'ve| have)?(?: (?:just|finally|recently))? bought (?:ourselves |myself )?an? (?:new car, an? )?"
    + _LOOKS
)
_THE_CAR: Final = rule(
    rf"(?:^|[.!?\n])\s*(?P<words>(?:(?:my|our) {_LOOKS}(?:car is an? {_LOOKS}{_CARS}\b"
    rf"|(?:car|(?P<car>(?-i:{_CARS}(?: [A-Z0-9][\w-]*){{0,2}}))) {_HAPPENED}\b)"
    rf"|{_BOUGHT_A}(?P<new>(?-i:{_CARS}(?: [A-Z0-9][\w-]*){{0,2}}))\b){_NO_OTHER}[.!,]?\s*(?:(?:and|but|so) )?)$"
)
"""A car in the words right before, which "it" means: "My Skoda kept breaking down. I sold it"."""
_LINKS: Final = any_of(
    "and but so n for with to that in on at through into over past like from around up down any anymore"
)
_BOUGHT: Final = rule(
    rf"{_BOUGHT_A}(?!(?:Mini|Smart|Seat|Genesis|Lincoln|Tesla Powerwall)\b)"
    rf"((?-i:{_CARS}(?: [A-Z0-9][\w-]*){{0,3}}(?: (?:hybrid|estate))?))"
    r"(?=\s*(?:[.!]|$|(?:last|this) (?:week|month|year|weekend)\b|yesterday\b|today\b|,? (?:and|so|but) (?:i|we)\b))"
)
"""A car that someone bought, and so drives; not one for parts, or for a daughter."""
_CAR: Final = rule(rf"((?:(?:19|20)\d\d )?{_CARS}\b(?: (?!{_LINKS}\b)[\w-]+){{0,3}}?)(?! in (?!(?-i:[A-Z]))){_WHOLE}")
_BORN: Final = rule(r"i was born (?:in|back in) ((?:19|20)\d\d)\b(?!s)")
_COUNT: Final = any_of("two three four five six 2 3 4 5 6 both")
_HOME: Final = any_of(
    """parents mum mom mother dad father folks family wife husband spouse partner girlfriend boyfriend gf bf fianc[eé]e?
    kids? children child baby sons? daughters? brothers? sisters? siblings twins grandma grandpa nan gran grandmother
    grandfather grandparents in-?laws mother-in-law father-in-law roommates? room-mates? flatmates? housemates? friends?
    cousins? aunt uncle dogs? cats?"""
)
_ONE_AT_HOME: Final = (
    rf"(?:(?:my|our|an?|some) )?(?:{_COUNT} )?(?:(?:little|older|younger|elderly|best|teenage|small|other|young) )?"
    rf"{_HOME}(?: (?-i:[A-Z])\w+(?<!\bI))?"
)
_LIVE_WITH: Final = rule(
    rf"(?:{_WE} live|{AM}(?: still| currently)* living) with (?:my |our )?"
    rf"({_ONE_AT_HOME}(?:(?:, | and |, and | & ){_ONE_AT_HOME})*)"
    rf"(?=\s*(?:[.,!;:){EMOJI}]|$|(?:and (?:i|i'm|we|it|it's|my|he|she|they|have|work|need|am|that)"
    r"|but|so|in|at|near|now)\b))",
    rf"{_WE} live (alone|by myself|on my own)(?=\s*(?:[.,!;:){EMOJI}]|$|(?:and|but|so|in|now)\b))",
)
_DAYS: Final = any_of(
    "day morning evening night week weekend afternoon weekday monday tuesday wednesday thursday friday saturday sunday"
)
_HOW_OFTEN: Final = (
    rf"(?:(?:every(?: single| other)?|each) {_DAYS}(?: (?:morning|afternoon|evening|night))?(?:(?:, |,? and ){_DAYS})*"
    r"|(?:once|twice|(?:two|three|four|five|six|\d)(?:x| times)) "
    r"(?:a|per) (?:day|week|month)|on (?:\w+days(?:(?:, |,? and )\w+days)*|weekends)"
    r"|in the (?:mornings?|evenings?|afternoons?)|before work|after work)"
)
_BY_ITSELF: Final = any_of(
    """run jog walk swim cycle bike exercise work_out train meditate do_yoga stretch lift_weights journal wake_up get_up
    go_(?:for_a_(?:run|walk|swim|jog|ride)|to_the_gym|to_bed|to_church|to_mass|to_sleep|running|jogging|swimming)
    go_(?:climbing|hiking|cycling|dancing) skip_(?:breakfast|lunch|dinner) work_from_home walk_the_dog
    eat_(?:breakfast|lunch|dinner|out) cook_dinner read"""
)
_WITH_MORE: Final = (
    r"(?:have (?:[\w-]+ ){1,3}for (?:breakfast|lunch|dinner)|drink (?:my )?(?:coffee|tea)(?: (?:black|with milk))?)"
)
_WHEN: Final = (
    rf"(?:{_HOW_OFTEN}|(?:at|around|before|after|until|by) (?:like )?(?:\d+(?:[:.]\d\d)?(?: ?[ap]m)?|(?:five|six|seven"
    r"|eight|nine|ten|eleven|midnight|noon)|work|school|lunch|dinner|breakfast|bed|sunrise|sunset)"
    r"|to (?:work|school)|early|late|alone|outdoors|\d+ ?(?:k|km|miles)"
    r"|for (?:an hour|\d+ minutes)|at (?:home|the gym|night))"
)
_HABIT_ENDS: Final = rf"(?=\s*(?:[.,!;){EMOJI}]|$|(?:and|but|so|because|since)\b(?! (?:leave|go)\b)))(?<! run late)"
_HABIT: Final = rule(
    rf"(?:i|we) (?:usually|normally|typically|generally|always|mostly) "
    rf"({_BY_ITSELF}(?: {_WHEN})+|{_WITH_MORE}(?: {_WHEN})*|skip (?:breakfast|lunch|dinner)|work from home)"
    rf"{_HABIT_ENDS}",
    rf"(?:i|we)(?: also| still)? ({_BY_ITSELF}(?: {_WHEN})*? {_HOW_OFTEN}(?: {_WHEN})*){_HABIT_ENDS}",
)
_A_NATION: Final = rf"\b(?:{NATIONS}|US|UK|EU)\b"
_NATIONS: Final = rf"{_A_NATION}(?:(?:, | and (?:an? )?|/|-){_A_NATION})*"
_ADDRESS: Final = r"([\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
_EMAIL: Final = rule(
    rf"my (?:(?:work|new|personal|private) )?e-?mail(?: address)?(?: is|'s|:) {_ADDRESS}",
    rf"you can (?:reach|contact|e-?mail) me (?:at|on|via) {_ADDRESS}",
)
_PHONE: Final = rule(
    r"(?:my (?:(?:work|new|home|personal|private|cell|mobile) )?(?:phone|mobile|cell|telephone|number)(?: number)?"
    r"(?: is|'s|:)|(?:you can )?(?:call|reach|text) me (?:at|on|under)) (\+?\(?\d[\d ()/.-]{5,20}\d)(?![\d@])"
)
_USERNAME: Final = rule(
    r"my (?:[\w-]+ )?(?:user ?name|user ?id|handle|login|account (?:id|name)) (?:is|:) "
    r"(@?(?=[\w.@-]*[\d_@])[\w.@-]{3,40}\w)"
)
_PRONOUNS: Final = rule(r"my (?:preferred )?pronouns are ((?:he|she|they|ze|xe|it)(?:/\w+){1,2})\b")
_ZONE: Final = (
    r"((?:UTC|GMT)(?:[+-]\d{1,2}(?::\d\d)?)?|(?:[ECMP][SD]T|CES?T|WES?T|EES?T|BST|IST|JST|SGT|HKT|A[CEW][SD]T|KST|NZ[SD]T)"
    r"|(?-i:[A-Z])[a-z]+/(?-i:[A-Z])\w+|Pacific|Eastern|Central|Mountain)"
)
_TIMEZONE: Final = rule(
    rf"my time ?zone is (?:the )?{_ZONE}\b(?! (?:in|on) the\b)",
    rf"{AM} (?:in|on) (?:the )?{_ZONE} time(?: ?zone)?\b",
    rf"{AM} (?:in|on) (?-i:(UTC|GMT|EST|CST|MST|PST|CET|BST|IST|JST)\b)(?=\s*(?:[.,!;]|$|(?:btw|so|and|but)\b))",
)


_CITIZEN: Final = rule(
    rf"i(?:'ve got| have got|{_OFTEN} (?:have|hold|travel on)) ((?:(?:an?|both|dual|valid) )*{_NATIONS}) "
    rf"(?:passports?|citizenships?|nationality){_WHOLE}",
    rf"{AM} (an? {_NATIONS}) citizen{_WHOLE}",
)
_NO_CITIZEN: Final = rule(
    rf"i(?: no longer have|(?:'ve| have)? (?:gave up|given up|renounced)) (?:an?|my) ({_NATIONS}) "
    rf"(?:passport|citizenship|nationality){_WHOLE}",
)
_NATION: Final = rule(_A_NATION)
_MAY_TELL: Final = small(
    "play|teach|taught|learn|stud|driv|car is|car'?s |born|liv|mail|pronoun|zone| time|graduat|went to|major|degree|phd"
    "|master| (?:in|on) (?:utc|gmt|[ecmp]st|cet|bst|ist|jst)|passport|citizen"
    "|nationality|bachelor|(?:reach|contact|call|text) me|phone|mobile|number|user|handle|login|bought|sold|scrapped"
    "|traded|rid of"
)


def life(clause: Clause) -> Iterator[Found]:
    """What a clause says the user plays, teaches, learns, studies, drives, does as a habit, or lives with."""
    if _MAY_TELL.search(clause.text.casefold()):
        yield from _told(clause)
    if match := _HABIT.match(clause.text):
        habit = match[match.lastindex or 1]
        yield found(clause, PREFERENCE, "habit", habit, match.end(), 0.8)


def _told(clause: Clause) -> Iterator[Found]:
    text = clause.text
    for type, key, now, past, what in _KINDS:
        over = past.match(text)
        if words := over or now.match(text):
            yield from _each(clause, type, key, what, words.end(), ended=over is not None)
    yield from _had(clause)
    over = _NO_CITIZEN.match(text)
    if belongs := over or _CITIZEN.match(text):
        group = belongs.lastindex or 1
        for nation in _NATION.finditer(text, *belongs.span(group)):
            name_of = nation[0] if nation[0].isupper() else nation[0].title()
            yield found(clause, PROFILE, "citizenship", name_of, belongs.end(), ended=over is not None)
    if (match := _AT_SCHOOL.match(text)) and (school := name(text, match.end(), most=5)):
        yield found(clause, PROFILE, "school", school.text, school.end)
    for key, one in (
        ("born", _BORN),
        ("household", _LIVE_WITH),
        ("email", _EMAIL),
        ("phone", _PHONE),
        ("username", _USERNAME),
        ("pronouns", _PRONOUNS),
        ("timezone", _TIMEZONE),
    ):
        if match := one.match(text):
            group = match.lastindex or 1
            yield found(clause, PROFILE, key, match[group], match.end(group))


def _each(
    clause: Clause, type: FactType, key: str, what: re.Pattern[str], start: int, *, ended: bool
) -> Iterator[Found]:
    """Each thing of a list, if only the end of the sentence, a place or a time follows it."""
    text = clause.text
    while one := what.match(text, start):
        if (not ended and not _ENDS.match(text, one.end())) or _PASSING.match(text, one.end()):
            return
        yield found(clause, type, key, one[1], one.end(), ended=ended)
        if not (more := _MORE.match(text, one.end())):
            return
        start = more.end()


def _had(clause: Clause) -> Iterator[Found]:
    """What someone drives or has sold. "I drive … now" replaces the car that is known, if it is the only one."""
    text = clause.text
    over = _DRIVE_NO_MORE.match(text)
    if (sold := _SOLD.match(text)) and sold["it"]:
        yield from _sold_it(clause, sold.end())
    elif sold:
        yield found(clause, PROFILE, "drives", "", sold.end(), ended=True)
    elif new := _BOUGHT.match(text):
        yield found(clause, PROFILE, "drives", new[1], new.end(1))
    elif (words := over or _DRIVE.match(text)) and (car := _CAR.match(text, words.end())):
        if _I_NOW.match(text):
            yield found(clause, PROFILE, "drives", "", car.end(1), ended=True)
        yield found(clause, PROFILE, "drives", car[1], car.end(1), ended=over is not None)


def _sold_it(clause: Clause, end: int) -> Iterator[Found]:
    before = "".join(reversed(clause.before))
    if car := _THE_CAR.search(before):
        back = len(before) - car.start("words")
        here = replace(clause, offset=clause.offset + clause.added - back, added=0)
        which = car["car"] or car["new"] or ""
        yield found(here, PROFILE, "drives", which, back + end - clause.added, ended=True)
