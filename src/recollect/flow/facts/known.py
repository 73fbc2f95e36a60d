"""What is known about a user from everything they ever said: the newest value of each key, and the earlier ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeAlias

from recollect.answers import Fact, FactOrigin, FactType
from recollect.flow.facts.people import ABOUT, CALLED, FEW, OTHERS_IN_TIME, PEOPLE, PETS, is_someone
from recollect.flow.facts.phrases import TITLES, slug
from recollect.flow.facts.wording import HOUR, word_set

MOST_RESTS: Final = 20
"""How many statements that say the same are cited; few, as they are looked up when a question is asked again."""
_LITTLE: Final = word_set("the a an my our to with")
"""Words that don't tell plans apart: "write a report" is done by "I wrote the report"."""
_SAME: Final = {"fly": "flight", "meet": "meeting", "travel": "trip"}
"""What a plan may be called later: "We fly to Rome on Friday", "The flight was moved to Sunday"."""
_RULED_OUT: Final = {
    **dict.fromkeys(("meat", "chicken", "beef", "pork", "bacon", "steak"), ("vegetarian", "vegan", "pescatarian")),
    **dict.fromkeys(("fish", "seafood"), ("vegetarian", "vegan")),
    **dict.fromkeys(("dairy", "eggs", "cheese", "milk"), ("vegan",)),
    "carbs": ("keto",),
}
"""The diets that someone has given up if they no longer avoid this food."""
_OPPOSITE: Final = {"likes": "dislikes", "dislikes": "likes", "avoids": "likes"}
_CARRIES_OUT: Final = {
    ("place", False): ("move to",), ("company", False): ("start at", "join", "first day at"),
    ("company", True): ("last day at",),
}  # fmt: skip
"""The plans carried out when a key gets a value (False) or ends (True): who moved to Rome no longer plans to."""
_WITHOUT_NAME: Final = frozenset(f"{who}:{about}" for who in FEW for about in ABOUT)
"""What is known about someone, where only "my sister" is said."""
ADDS_UP: Final = ":allergy"
"""The end of keys, about other people, whose value collects everything that was said instead of being replaced."""
_Cited: TypeAlias = dict[tuple[str, str], None]
"""The messages that say a fact, in order, by session and id."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Something said about a key; `order` is its place among everything said: by time, then by position in the log.

    `ended` means that the value no longer holds or, without a value, nothing under the key does; `then` is what holds
    instead. A plan with a `then` that has not ended replaces the one plan that it fits, if there is exactly one.
    `speaker` is the name under which it was said, if there was one. `says` is what a note says, see `Fact`; `apart` is
    as in `Found`.
    """

    id: str
    order: tuple[datetime, int, int]
    type: FactType
    key: str
    value: str
    confidence: float
    at: datetime
    session: str = ""
    sources: tuple[str, ...] = ()
    span: tuple[int, int] = (0, 0)
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    ended: bool = False
    then: str = ""
    origin: FactOrigin = "user"
    speaker: str = ""
    says: tuple[tuple[str, str], ...] = ()
    apart: bool = False


@dataclass(slots=True)
class Voices:
    """Who speaks in which session. Where several do, nobody knows which of them is the user."""

    names: dict[str, str] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)

    def hear(self, statements: Iterable[Statement]) -> bool:
        """Note who made these statements; returns whether earlier ones now turn out to be of several people."""
        before = len(self.shared)
        for one in statements:
            if one.speaker and self.names.setdefault(one.session, one.speaker) != one.speaker:
                self.shared.add(one.session)
        return len(self.shared) > before

    def own(self, statements: Iterable[Statement]) -> list[Statement]:
        """Those of the statements that the user made."""
        return [one for one in statements if not (one.speaker and one.session in self.shared)]


@dataclass(frozen=True, slots=True)
class Known:
    """Facts that hold, and past ones, both in the order they were said.

    `rests` has, for each key, the ids of the statements that its fact is based on, or that ended it. `renamed` has the
    keys that were others before a pet got another name.
    """

    standing: tuple[Fact, ...] = ()
    past: tuple[Fact, ...] = ()
    rests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)

    def of(self, key: str) -> list[Fact]:
        """Everything ever known under a key, oldest first."""
        return [fact for fact in (*self.past, *self.standing) if fact.key == key]


class _Standing(dict[str, Fact]):
    """The facts that hold, by their keys.

    Plans are indexed by their words, people by name and by who they are, notes by what they say.
    """

    def __init__(self) -> None:
        super().__init__()
        self._by_word: dict[str, set[str]] = {}
        self._by_name: dict[str, set[str]] = {}
        self._by_kind: dict[str, set[str]] = {}
        self._by_saying: dict[str, set[str]] = {}

    def __setitem__(self, key: str, fact: Fact) -> None:
        super().__setitem__(key, fact)
        for word in _words(key) if fact.type == "action_item" else ():
            self._by_word.setdefault(word, set()).add(key)
        if is_someone(key):
            self._by_name.setdefault(fact.value.casefold(), set()).add(key)
            self._by_kind.setdefault(key.partition(":")[0], set()).add(key)
        for says, _ in fact.says:
            self._by_saying.setdefault(says, set()).add(key)

    def plans(self, words: frozenset[str]) -> list[str]:
        """The keys of the plans that have all of these words; there must be at least one word."""
        near = min((self._by_word.get(word, set()) for word in words), key=len, default=set[str]())
        return [key for key in near if key in self and self[key].type == "action_item" and words <= _words(key)]

    def called(self, name: str) -> list[str]:
        """The keys of everyone who has that name."""
        return [key for key in self._by_name.get(name, ()) if key in self and self[key].value.casefold() == name]

    def named(self, kind: str) -> list[str]:
        """The keys of everyone of a kind, such as sister, who is known by name."""
        return [key for key in self._by_kind.get(kind, ()) if key in self and key != kind]

    def notes_against(self, said: Statement) -> list[str]:
        """The keys of the notes that say nothing but what this statement rules out."""
        near = {key for about in (said.key, opposite(said.key)) for key in self._by_saying.get(about, ())}
        return [key for key in sorted(near) if key in self and all(_rules_out(said, *one) for one in self[key].says)]


def known(statements: Iterable[Statement]) -> Known:
    """What is known from these statements, given in any order."""
    said, voices = sorted(statements, key=order_of), Voices()
    voices.hear(said)
    return Knowing().with_more(voices.own(said))


def order_of(said: Statement) -> tuple[tuple[datetime, int, int], str]:
    """The place of a statement among all statements, to sort by."""
    return said.order, said.id


class Knowing:
    """What is known, updated as more is said without going over everything before."""

    def __init__(self) -> None:
        self._standing, self._past = _Standing(), list[Fact]()
        self._rests, self._repeated = dict[str, tuple[str, ...]](), dict[str, _Cited]()
        self._renamed = dict[str, str]()

    def with_more(self, statements: Iterable[Statement]) -> Known:
        """What is known with these further statements, each of which comes after all earlier ones."""
        for one in statements:
            if (said := _of_whom(one, self._standing)) is not None:
                self._hear(said, one.key)
        facts = (_citing(fact, self._repeated.get(key)) for key, fact in self._standing.items())
        return Known(tuple(facts), tuple(self._past), dict(self._rests), dict(self._renamed))

    def about(self, statements: Iterable[Statement]) -> dict[str, str]:
        """The key that each statement is about, by its id, but for those that mean nobody who is known."""
        found = dict[str, str]()
        for one in statements:
            if (said := _of_whom(one, self._standing)) is not None:
                found[one.id] = said.key
                self._hear(said, one.key)
        return found

    def telling(
        self, statements: Iterable[Statement], keys: Collection[str], called: tuple[str, ...]
    ) -> dict[str, list[Fact]]:
        """The ids of the statements that say something under these keys, each with the other facts that it ended.

        A statement that only gives a name counts if its key begins with one of `called` and nobody is known by it.
        """
        found = dict[str, list[Fact]]()
        for one in statements:
            said, before = _of_whom(one, self._standing), None
            about = _may_mean(said, self._standing) if said else {one.key}
            if not about.isdisjoint(keys) or (one.key in about and f"{one.key}:".startswith(called)):
                before = dict(self._standing)
            if said is not None:
                self._hear(said, one.key)
            if before is not None:
                found[one.id] = [before[key] for key in before.keys() - self._standing.keys() - set(keys)]
        return found

    def _hear(self, said: Statement, under: str) -> None:
        """Take in what was said under a key, which may name nobody: `said` then has the key of the one who is meant."""
        standing, past, rests, repeated = self._standing, self._past, self._rests, self._repeated
        key, old = said.key, standing.get(said.key)
        self._end([*standing.notes_against(said), *([under] if under != key and under in standing else [])], said)
        if said.then and key.startswith("todo:") and not (said.ended or old) and _ends(said, standing):
            said = replace(said, ended=True)
        if said.ended:
            for gone in _ends(said, standing):
                before = _citing(standing.pop(gone), repeated.pop(gone, None))
                past.append(_ended(before, said))
                if not said.then:
                    rests[gone] = (said.id,)
                    continue
                now = _then(before, said)
                self._end([now.key] if now.key in standing else [], said)
                standing[now.key], rests[now.key] = now, (*rests.get(gone, ()), said.id)
                if now.key != gone:
                    self._renamed[now.key] = gone
        elif old and (_same(old, said) or _adds_up(said)):
            standing[key], rests[key] = _again(old, said), (*rests.get(key, ()), said.id)[-MOST_RESTS:]
            if key not in repeated:
                repeated[key] = dict.fromkeys(zip(old.sessions, old.sources, strict=True))
            repeated[key].update(dict.fromkeys((said.session, id) for id in said.sources))
        else:
            theirs = [f"{key}:{about}" for about in sorted(ABOUT)] if old and _is_another(old, said) else []
            self._end([one for one in (key, opposite(key), *theirs, *_carried_out(said)) if one in standing], said)
            standing[key], rests[key] = _fact(said), (said.id,)

    def _end(self, keys: Iterable[str], by: Statement) -> None:
        for key in keys:
            self._past.append(_ended(_citing(self._standing.pop(key), self._repeated.pop(key, None)), by))
            self._rests[key] = (by.id,)


def _of_whom(said: Statement, standing: _Standing) -> Statement | None:
    """The statement; if it only gives a name, with the key of the one person who has it, or None if there isn't one.

    "My sister" is the one sister who is known, if there is one. If it says that someone is gone, or that something of
    them is over, it stays as it is: `_fits` finds out who that is.
    """
    if said.key in _WITHOUT_NAME and said.sources and not (said.ended or said.apart):
        return _of_the_one(said, standing)
    if not said.key.startswith(f"{CALLED}:"):
        return said
    who, _, about = said.key.removeprefix(f"{CALLED}:").rpartition(":")
    if said.ended and not who:
        return said
    known = standing.called(who)
    return replace(said, key=f"{known[0]}:{about}") if len(known) == 1 else None


def _of_the_one(said: Statement, standing: _Standing) -> Statement:
    """The statement with the key of the one person of that kind, if one is known of whom it can be true."""
    kind, _, about = said.key.partition(":")
    known = standing.named(kind)
    key = f"{known[0]}:{about}" if len(known) == 1 else said.key
    old = standing.get(key)
    return said if old and not _may_become(old, said, about) else replace(said, key=key)


def _may_become(old: Fact, said: Statement, about: str) -> bool:
    """Whether the same person can be what was said later: birthdays stay, and nobody grows younger or fast older."""
    if about == "birthday":
        return old.value.casefold() == said.value.casefold()
    if about != "age" or not (old.value.isdecimal() and said.value.isdecimal()):
        return True
    return 0 <= int(said.value) - int(old.value) <= (said.at - old.updated_at).days / 365 + 1


def _is_another(old: Fact, said: Statement) -> bool:
    """Whether someone else now has this role, and it is not the same name in a longer or shorter form ("Tom Berg")."""
    return said.key in OTHERS_IN_TIME and _first_name(old.value) != _first_name(said.value)


def _first_name(name: str) -> str:
    """The first word of a name that is not a title: two dentists may both be "Dr."."""
    return next((word for word in name.casefold().split() if word.rstrip(".") not in TITLES), "")


def opposite(key: str) -> str:
    """The key that can't hold together with this one: who likes jazz does not dislike it."""
    verb, colon, what = key.partition(":")
    if verb == "asked":
        how, _, wish = what.partition(" ")
        return f"asked:{'never' if how == 'always' else 'always'} {wish}"
    return f"{_OPPOSITE[verb]}:{what}" if colon and verb in _OPPOSITE else ""


def _ends(said: Statement, standing: _Standing) -> list[str]:
    """The keys that a statement ends: for a person, everything about them too; for a job, also the boss."""
    meant = _meant(said, standing)
    left_job = said.key == "company" and said.sources and (meant or not said.value)
    people = [meant] if meant and is_someone(meant) else ["boss", "manager"] if left_job else []
    also = [key for who in people for key in (who, *(f"{who}:{about}" for about in sorted(ABOUT)))]
    avoids, _, food = said.key.partition(":")
    if avoids == "avoids" and "diet" in standing and _diet(standing["diet"]) in _RULED_OUT.get(food, ()):
        also.append("diet")
    return [key for key in dict.fromkeys((meant, *also, *_carried_out(said))) if key in standing]


def _diet(fact: Fact) -> str:
    """The diet without its exceptions: "vegetarian except for fish"."""
    return fact.value.casefold().partition(" ")[0]


def _carried_out(said: Statement) -> list[str]:
    """The keys of the plans that a statement shows to be carried out."""
    return [f"todo:{plan} {said.value.casefold()}" for plan in _CARRIES_OUT.get((said.key, said.ended), ())]


def _meant(said: Statement, standing: _Standing) -> str:
    """The key that a statement means: its own, or that of the only fact it fits; "" if there is none."""
    old = standing.get(said.key)
    if old and (
        _of_day(said, old)
        if said.type == "action_item"
        else said.value.casefold() in ("", old.value.casefold(), old.key == "diet" and _diet(old))
    ):
        return said.key
    fits = list(_fits(said, standing))
    return fits[0] if len(fits) == 1 else ""


def _rules_out(said: Statement, key: str, value: str) -> bool:
    """Whether what a note says under a key can't hold together with a statement that came later."""
    if said.ended:
        return key == said.key and said.value.casefold() in ("", value.casefold())
    other = key == said.key and value.casefold() != said.value.casefold() and not _adds_up(said)
    return other or key == opposite(said.key)


def _may_mean(said: Statement, standing: _Standing) -> set[str]:
    """The key that a statement means; if that is not clear, all that it may mean."""
    if not (said.ended or said.then):
        return {said.key}
    meant = _meant(said, standing)
    return {meant, _new_key(meant, said)} if meant else {said.key, *_fits(said, standing)}


def _fits(said: Statement, standing: _Standing) -> Iterator[str]:
    """The keys that a statement may mean although it says less: a plan or car in fewer words, a person without name."""
    words, of_all = _words(said.key), not said.value and said.key in PEOPLE
    for key in standing.plans(words) if said.type == "action_item" else ():
        plan = standing[key]
        if (plan.valid_to is None or said.at < plan.valid_to) and _of_day(said, plan):
            yield key
    others = (key for key, fact in standing.items() if not fact.type == said.type == "action_item")
    if said.key.startswith("drives:"):
        yield from (key for key in others if key.startswith("drives:") and words <= _words(key))
    elif said.key.startswith(f"{CALLED}:"):
        called = standing.called(said.value.casefold())
        yield from (key for key in called if not said.then or key.partition(":")[0] in PETS.values())
    elif said.ended and said.key in _WITHOUT_NAME:
        who, about = said.key.split(":")
        theirs = (key for key in others if key.startswith(f"{who}:") and key.endswith(f":{about}"))
        yield from (key for key in theirs if said.value.casefold() in ("", standing[key].value.casefold()))
    elif of_all and said.key in FEW:
        yield from standing.named(said.key)
    if of_all and any(f"{said.key}:{about}" in standing for about in ABOUT):
        yield said.key


def _words(plan: str) -> frozenset[str]:
    return frozenset(_SAME.get(word, word) for word in HOUR.sub("", plan).partition(":")[2].split()) - _LITTLE


def _of_day(said: Statement, plan: Fact) -> bool:
    """Whether a plan is on the day that a statement names; True if that names none, or only a new day for it."""
    return bool(said.then) or said.valid_to is None or plan.valid_to in (None, said.valid_to)


def _begin(said: Fact | Statement) -> datetime:
    return said.valid_from or said.at


def _same(old: Fact, said: Statement) -> bool:
    same_day = said.type != "action_item" or said.valid_to in (None, old.valid_to)
    return old.value.casefold() == said.value.casefold() and same_day


def _adds_up(said: Statement) -> bool:
    """Whether a message adds to the value instead of replacing it: who can't eat nuts may not eat prawns either."""
    return said.key.endswith(ADDS_UP) and bool(said.sources)


def _together(old: str, new: str) -> str:
    """Two lists of things as one, each thing once."""
    return ", ".join({one.casefold(): one for one in (*old.split(", "), *new.split(", "))}.values())


def _again(old: Fact, said: Statement) -> Fact:
    return replace(
        old,
        value=_together(old.value, said.value) if _adds_up(said) else old.value,
        confidence=max(old.confidence, said.confidence),
        updated_at=max(old.updated_at, said.at),
        valid_to=said.valid_to or old.valid_to,
        origin=said.origin if said.origin == "user" else old.origin,
    )


def _citing(fact: Fact, cited: _Cited | None) -> Fact:
    if not cited:
        return fact
    return replace(fact, sources=tuple(id for _, id in cited), sessions=tuple(session for session, _ in cited))


def _ended(old: Fact, by: Statement) -> Fact:
    end = max(_begin(by), _begin(old))
    return replace(old, valid_to=min(end, old.valid_to) if old.valid_to else end)


def _then(old: Fact, said: Statement) -> Fact:
    """What holds instead of something that ended: another value, name or, for a plan, another day and hour.

    What is known about a pet stays as it is under its new name.
    """
    key, value = _new_key(old.key, said), said.then
    if said.type == "action_item":
        hour = HOUR.search(said.then)
        value = HOUR.sub("", old.value) + (hour[0] if hour else "")
    elif key != old.key:
        new = replace(_fact(said), value=value) if is_someone(key) else old
        both = [*zip(old.sessions, old.sources, strict=True), *((said.session, id) for id in said.sources)]
        return _citing(replace(new, key=key), dict.fromkeys(both))
    return replace(_fact(said), key=old.key, value=value)


def _new_key(key: str, said: Statement) -> str:
    """The key under which something holds after a statement: another one if that gives someone another name."""
    kind, _, rest = key.partition(":")
    of_someone = is_someone(said.key) or said.key.startswith(f"{CALLED}:")
    if not (said.then and of_someone and kind in PEOPLE):
        return key
    about = rest.rpartition(":")[2]
    return ":".join([kind, slug(said.then), *([about] if about in ABOUT else [])])


def _fact(said: Statement) -> Fact:
    return Fact(
        said.type,
        said.key,
        said.value,
        said.confidence,
        said.at,
        said.at,
        said.session,
        said.sources,
        said.span,
        said.valid_from,
        said.valid_to,
        (said.session,) * len(said.sources),
        said.origin,
        said.says,
    )
