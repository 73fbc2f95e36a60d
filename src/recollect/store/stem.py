"""English word stems by Porter's algorithm with his two later rules, so that 'moved' finds 'moving'.

Irregular forms are in a list, so that 'bought' finds 'buying'.
"""

from __future__ import annotations

import re
from typing import Final

from recollect.recent import that_forgets

_C: Final = "(?:[^aeiouy]|(?<![^aeiou])y|^y)"
_V: Final = "(?:[aeiou]|(?<=[^aeiou])y)"
_MEASURE_0: Final = re.compile(f"^{_C}*{_V}+{_C}")
_MEASURE_1: Final = re.compile(f"^{_C}*{_V}+{_C}+{_V}+{_C}")
_EXACTLY_1: Final = re.compile(f"^{_C}*{_V}+{_C}+{_V}*$")
_HAS_VOWEL: Final = re.compile(_V)
_DOUBLE: Final = re.compile(r"([^aeiouy])\1$")
_CVC: Final = re.compile(f"{_C}[aeiouy][^aeiouwxy]$")

_FORMS: Final = """
arise arose arisen, awake awoke awoken, beat beaten, become became, begin began begun, bend bent, bleed bled, blow
blew blown, break broke broken, breed bred, bring brought, build built, burn burnt, buy bought, catch caught, choose
chose chosen, cling clung, come came, creep crept, cry cries cried, deal dealt, dig dug, draw drew drawn, dream
dreamt, drink drank drunk, drive drove driven, dry dries dried, eat ate eaten, fall fell fallen, feed fed, feel felt,
fight fought, find found, flee fled, fly flies flew flown, forbid forbade forbidden, forget forgot forgotten, forgive
forgave forgiven, freeze froze frozen, fry fries fried, give gave given, grow grew grown, hang hung, hear heard, hide
hid hidden, hold held, keep kept, kneel knelt, lay laid, lean leant, leap leapt, learn learnt, leave left, lend lent,
lose lost, mean meant, meet met, mistake mistook mistaken, overcome overcame, pay paid, prove proven, rebuild rebuilt,
rewrite rewrote rewritten, ride rode ridden, ring rang rung, rise risen, run ran, seek sought, sell sold, send sent,
shake shook shaken, shine shone, shoot shot, show shown, shrink shrank shrunk, sing sang sung, sink sank sunk, sleep
slept, slide slid, speak spoke spoken, spell spelt, spend spent, spin spun, stand stood, steal stole stolen, stick
stuck, sting stung, strike struck, swear swore sworn, sweep swept, swim swam swum, swing swung, take took taken, teach
taught, tear tore torn, tell told, throw threw thrown, try tries tried, undergo underwent undergone, understand
understood, wake woke woken, wear wore worn, weep wept, withdraw withdrew withdrawn, write wrote written, child
children, man men, woman women, foot feet, tooth teeth, mouse mice, goose geese, wife wives, knife knives, shelf
shelves, half halves, wolf wolves, analysis analyses, diagnosis diagnoses, crisis crises, sky skies
"""
_IRREGULAR: Final = {form: base for base, *forms in map(str.split, _FORMS.split(",")) for form in forms}
"""Irregular forms with their base forms, without those that are as often another word ("rose", "a bit", "won't")."""

MAX_WORD: Final = 64
KNOWN: Final = 50_000
"""How many words are cached with their stems. Words longer than `MAX_WORD` are not: they could be a megabyte."""


def _by_last_letters(endings: dict[str, str]) -> dict[str, list[tuple[str, str]]]:
    """Endings with their replacements, longest first, grouped by the last two letters of the ending."""
    found: dict[str, list[tuple[str, str]]] = {}
    for ending in sorted(endings, key=len, reverse=True):
        found.setdefault(ending[-2:], []).append((ending, endings[ending]))
    return found


_STEP_2: Final = _by_last_letters({
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "logi": "log",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate",
    "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
})  # fmt: skip
_STEP_3: Final = _by_last_letters({
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
})  # fmt: skip
_STEP_4: Final = _by_last_letters({
    "al": "", "ance": "", "ence": "", "er": "", "ic": "", "able": "", "ible": "", "ant": "", "ement": "", "ment": "",
    "ent": "", "ion": "", "ou": "", "ism": "", "ate": "", "iti": "", "ous": "", "ive": "", "ize": "",
})  # fmt: skip


class _Known(dict[str, str]):
    """Stems by word, computed at the first lookup."""

    cache_clear = dict.clear

    def __missing__(self, word: str) -> str:
        if len(word) > MAX_WORD:
            return _stem(word)
        if len(self) >= KNOWN:
            self.clear()
        found = self[word] = _stem(word)
        return found


stem: Final = that_forgets(_Known()).__getitem__
"""The stem of a lower-case English word. Other words, and words with digits, come back unchanged, cut if very long."""


def _stem(word: str) -> str:
    if len(word) < 3 or not word.isascii() or not word.isalpha():
        return word[:MAX_WORD]
    word = _IRREGULAR.get(word, word)[:MAX_WORD]
    word = _past_and_gerund(_plural(word))
    if word.endswith("y") and _HAS_VOWEL.search(word[:-1]):
        word = word[:-1] + "i"
    word = _swap(word, _STEP_2, _MEASURE_0)
    word = _swap(word, _STEP_3, _MEASURE_0)
    word = _swap(word, _STEP_4, _MEASURE_1)
    return _last_e(word)


def _plural(word: str) -> str:
    if word.endswith("sses") or word.endswith("ies"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_and_gerund(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _MEASURE_0.match(word[:-3]) else word
    for ending in ("ed", "ing"):
        if word.endswith(ending) and _HAS_VOWEL.search(word[: -len(ending)]):
            return _repaired(word[: -len(ending)])
    return word


def _repaired(root: str) -> str:
    if root.endswith(("at", "bl", "iz")):
        return root + "e"
    if _DOUBLE.search(root) and root[-1] not in "lsz":
        return root[:-1]
    return root + "e" if _EXACTLY_1.match(root) and _CVC.search(root) else root


def _swap(word: str, endings: dict[str, list[tuple[str, str]]], enough: re.Pattern[str]) -> str:
    for ending, other in endings.get(word[-2:], ()):
        if word.endswith(ending):
            root = word[: -len(ending)]
            stays = not enough.match(root) or (ending == "ion" and not root.endswith(("s", "t")))
            return word if stays else root + other
    return word


def _last_e(word: str) -> str:
    root = word[:-1]
    if word.endswith("e") and (_MEASURE_1.match(root) or (_EXACTLY_1.match(root) and not _CVC.search(root))):
        word = root
    return word[:-1] if word.endswith("ll") and _MEASURE_1.match(word[:-1]) else word
