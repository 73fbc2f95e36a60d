"""The people and pets that a user may call "my": their keys, and what may be known about each."""

from __future__ import annotations

from typing import Final

from recollect.flow.facts.wording import word_set

_CLOSE: Final = {
    "wife": "wife", "husband": "husband", "spouse": "spouse", "partner": "partner", "girlfriend": "girlfriend",
    "boyfriend": "boyfriend", "hubby": "husband", "gf": "girlfriend", "bf": "boyfriend",
    "fiancé": "fiance", "fiancée": "fiance", "fiance": "fiance", "fiancee": "fiance",
    "mother": "mother", "mom": "mother", "mum": "mother", "father": "father", "dad": "father", "boss": "boss",
    "manager": "manager", "supervisor": "manager", "mother-in-law": "mother-in-law", "father-in-law": "father-in-law",
}  # fmt: skip
SEEN: Final = {
    "dentist": "dentist", "doctor": "doctor", "gp": "doctor", "therapist": "therapist", "vet": "vet",
    "hairdresser": "hairdresser", "landlord": "landlord", "landlady": "landlord", "lawyer": "lawyer",
    "accountant": "accountant",
}  # fmt: skip
"""People whom users see for their profession; a user has one of each, and they are not family."""
ONE: Final = {**_CLOSE, **SEEN}
SEVERAL: Final = {
    "sister": "sister", "brother": "brother", "son": "son", "daughter": "daughter", "cousin": "cousin", "aunt": "aunt",
    "uncle": "uncle", "niece": "niece", "nephew": "nephew", "grandmother": "grandmother", "grandma": "grandmother",
    "gran": "grandmother", "granny": "grandmother", "nan": "grandmother", "grandfather": "grandfather",
    "grandpa": "grandfather", "granddad": "grandfather", "grandad": "grandfather",
    "grandson": "grandson", "granddaughter": "granddaughter",
    "baby girl": "daughter", "baby boy": "son", "kid": "child", "child": "child",
    "sister-in-law": "sister-in-law", "brother-in-law": "brother-in-law",
}  # fmt: skip
PETS: Final = {
    "dog": "dog", "cat": "cat", "puppy": "dog", "kitten": "cat", "horse": "horse", "parrot": "parrot",
    "rabbit": "rabbit", "bunny": "rabbit", "pony": "pony", "guinea pig": "guinea-pig", "hamster": "hamster",
    "tortoise": "tortoise", "turtle": "turtle", "goldfish": "goldfish", "budgie": "budgie", "parakeet": "parakeet",
    "ferret": "ferret", "gecko": "gecko", "snake": "snake", "lizard": "lizard", "hedgehog": "hedgehog",
    **dict.fromkeys(
        ("golden retriever", "labrador", "german shepherd", "border collie", "poodle", "beagle", "dachshund", "corgi",
         "greyhound", "husky", "pug", "spaniel", "whippet", "chihuahua"),
        "dog",
    ),
}  # fmt: skip
FRIENDS: Final = {
    "friend": "friend", "mate": "friend", "colleague": "colleague", "coworker": "colleague", "co-worker": "colleague",
    "neighbor": "neighbour", "neighbour": "neighbour", "roommate": "roommate", "flatmate": "roommate",
}  # fmt: skip
COUPLES: Final = {
    "parents": "parents", "grandparents": "grandparents", "in-laws": "in-laws", "inlaws": "in-laws",
}  # fmt: skip
"""Couples: known together, and not by name."""
MANY: Final = {**FRIENDS, **PETS}
"""Friends and pets: a user may have many, so nothing is known of one without a name."""
PLURALS: Final = {
    **{f"{word}s": key for word, key in {**SEVERAL, **MANY}.items() if word not in ("child", "puppy")},
    "children": "child", "puppies": "dog", "boys": "son", "girls": "daughter", "twins": "child",
}  # fmt: skip
KEYS: Final = {**ONE, **SEVERAL, **MANY, **COUPLES}
PEOPLE: Final = frozenset(KEYS.values())
FEW: Final = frozenset({"sister", "brother", "son", "daughter", "roommate", *PETS.values()})
"""Those of whom users mostly have one or two: if only one is known, that one is meant even without a name."""
PARTNERS: Final = word_set("wife husband spouse partner girlfriend boyfriend fiance")
AT_WORK: Final = word_set("boss manager colleague")
OTHERS_IN_TIME: Final = word_set("boss manager girlfriend boyfriend partner") | {*SEEN.values()}
"""People who may be replaced by someone else: what was known about the first does not hold for the next."""
ABOUT: Final = word_set("place company role age birthday diet allergy")
"""What may be known about someone, each under a key of its own: "sister:nadia:place"."""
CALLED: Final = "called"
"""The key for someone who is only named; earlier facts tell who that is."""


def is_someone(key: str) -> bool:
    """Whether a key is that of a person or pet, and not of something known about them."""
    parts = key.split(":")
    return parts[0] in PEOPLE and parts[-1] not in ABOUT
