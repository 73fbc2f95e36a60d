"""The built-in answerer, without model or network: it tells the facts and quotes the lines that memory has."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from datetime import datetime, timedelta
from math import fsum
from typing import Final, NamedTuple, Unpack

from recollect.answers import Fact
from recollect.arguments import messages_only
from recollect.errors import ConfigError
from recollect.flow.ahead import ahead
from recollect.flow.days import MONTH, written
from recollect.flow.facts import extract
from recollect.flow.facts.asked import MAX_QUESTION, Wanted, someone, wanted
from recollect.flow.facts.spoken import place_in_telling, sentence
from recollect.flow.facts.tell import asked_by, due, label
from recollect.flow.fence import TITLES, without_memory
from recollect.flow.talk import asks_of_assistant, asks_of_talk
from recollect.flow.when import periods
from recollect.llm.model import Delta, Options, Reply, Usage
from recollect.llm.quoting import (
    EARLIER,
    FACTS,
    HABITS,
    ONCE,
    UNKNOWN,
    Line,
    ends_of,
    facts_in,
    lines_of,
    memory_of,
    part_about,
    reply_to,
    said_before,
    said_of,
    stands_for,
)
from recollect.store.stem import stem
from recollect.store.words import COMMON, query_words, words
from recollect.tokens import count_messages, estimate
from recollect.types import Message, local_now

MOST: Final = 5
"""How many lines are quoted at most."""
MOST_FACTS: Final = 24
"""How many facts are told at most if they are asked for."""
OPENING: Final = "From memory:"
NOTHING: Final = "I have nothing in memory about that."
READ: Final = "I have read that. Ask me a question, and I quote what memory has about it."
"""The answer to a message that asks nothing. Whether that message is kept is up to the caller."""
HELP: Final = "I answer from memory alone: tell me something, and ask me about it, now or in another conversation."
ECHOES: Final = (OPENING, NOTHING, READ, HELP)
"""What every answer begins with."""
ABOUT_YOU: Final = "About you:"
_ASKS: Final = re.compile(
    r"\W|(?:.*[.!\n] ?)?(?:(?:please|and|so|but|ok|okay|hi|hello|hey),? )*"
    r"(?:whats?|wheres?|whens?|whos?|whose|whom|which|why|hows?|is|are|am|was|were|do|does|did|has|have|had|can|could|will"
    r"|would|shall|should|may|might|must|tell|show|find|list|search|remind|give|name|explain|describe"
    r"|summari[sz]e|recap|any|let me know"
    r"|wo|wer|wann|wie|warum|welche[rsmn]?|d[oó]nde|cu[aá]ndo|qui[eé]n|cu[aá]l|cómo|qué"
    r"|i (?:wonder|forgot|forget|(?:can't|cannot|don't) (?:remember|recall|know)|(?:want|need|would like) to know))\b"
    r"|.*[?\uff1f\u061f]",
    re.IGNORECASE | re.DOTALL,
)
"""What is taken for a question: by how a sentence begins, or by a question mark; or what begins with no word."""
_STATES: Final = re.compile(r"(?:i|i'm|im|i've|i'd|i'll|we|we're|we've)\b(?!$)|.*[.!]$", re.IGNORECASE | re.DOTALL)
"""What is taken for a statement if it is not a question. All else may be words to look for, and is searched for."""
_BIDS: Final = re.compile(
    r"(?:(?:please|and|so|but|ok|okay|hi|hello|hey),? )*(?:(?:can|could|will|would) you (?:please )?)?"
    r"(?:remind (?:me|us) (?:to|that)"
    r"|(?:tell|ask|remind) (?:him|her|them|my \w+|(?!(?:me|us|about)\b)(?-i:[A-Z][a-z]+)))\b[^.!?\n]*[.!?]*",
    re.IGNORECASE,
)
"""What asks for something to be done, not for an answer: "Remind me to call Bo", "Tell Anna I said hi"."""
_GREETS: Final = re.compile(
    r"(?:(?:hi|hello|hey|hallo|hola|good (?:morning|afternoon|evening|night)|thanks|thank you|thx|danke|gracias|ok|okay"
    r"|great|cool|nice|bye|goodbye|yes|no|sure)\b(?: there| again| very much| so much| a lot)?[\s!.,]*){1,5}",
    re.IGNORECASE,
)
_HELP: Final = re.compile(
    r"(?:(?:hi|hello|hey|so|ok)[,.!]? )?(?:help(?: me)?|what (?:can|do) you do(?: for me)?|(?:who|what) are you"
    r"|how do(?:es)? (?:you|this|it) work|what(?:'s| is) (?:this|your name)|what can i ask(?: you)?)\W{0,9}",
    re.IGNORECASE,
)
_QUOTES: Final = re.compile(
    f"{OPENING}(?:\n\n(?:{'|'.join(f'{title}:' for title in TITLES.values())}|{EARLIER}|{ABOUT_YOU})(?:\n[>-] .*)+)+"
)
_RECALLED: Final = f"{TITLES['episodic']}:"
_WORD: Final = re.compile(r"[^\W\d_]{3,12}")
_ASKING: Final = (
    "what", "where", "when", "who", "which", "whose", "name", "live", "birthday", "favorite", "favourite", "remember",
    "allergic", "hobbies", "language", "yesterday", "tomorrow",
)  # fmt: skip
"""Words of questions that are recognised even if misspelt."""
_ALL_COMMON: Final = frozenset(map(stem, COMMON))
_FILLERS: Final = frozenset(
    words(
        """please tell again exactly actually currently right ok okay hey hi hello remind remember recall forgot forget
        wonder show give list whats wheres whos hows whens ever far here anything everything"""
    )
)
"""Words of questions that don't say what is asked for."""
_WANTS_MORE: Final = re.compile(r"(?:.*[.!,] )?(?:and |so |but )?(?:wh|how)", re.IGNORECASE)
"""A question that can't be answered with "yes"."""
_OF_ME: Final = re.compile(r"\b(?:i|we)\b", re.IGNORECASE)
_OF_THE_PAST: Final = re.compile(r"\b(?:did|used? to|before|was|were|ever)\b", re.IGNORECASE)
_OF_BEFORE: Final = re.compile(
    r"\b(?:was|were|did|had)\b.*\b(?:before(?=\W*$)|previously|formerly)|\b(?:previous|former)\b", re.IGNORECASE
)
"""Asks for something that no longer holds, so no fact answers it."""
_MONTH: Final = re.compile(rf"\D*\b(?:months?|{MONTH}\b(?! \d\d?\b))", re.IGNORECASE)
_FOR_MONTH: Final = re.compile(rf"\bfor (?={MONTH}\b)", re.IGNORECASE)
_OF_SOMEONE: Final = re.compile(r"\b(?!(?:what|that|it|who|where|there|how|when|here|name)'s)\w+'s\b", re.IGNORECASE)
"""Tells questions about someone else from those about the user."""
_LOOSE: Final = frozenset(
    words("talk speak spoke chat discuss conversation told mention last recently time yesterday today week month ago")
)
"""Words about how and when something was said: they are ignored if a question has others."""
_SAME: Final = {
    stem(word): group.split()[0]
    for group in (
        "fly flight plane", "choose pick select decide take", "go went gone", "win won", "begin start",
        "mother mom mum", "father dad", "child kid", "doctor dr gp physician", "weigh weight", "favorite favourite",
        "color colour", "movie film", "phone telephone",
    )
    for word in group.split()
}  # fmt: skip
"""Words that mean the same in a question: "Which did I choose?" finds "I picked the red one"."""


class _Source(NamedTuple):
    """A fact, or the line at a place among the lines, with the words it is found by; `asks` if it is a question."""

    words: set[str]
    fact: Fact | None = None
    place: int = -1
    asks: bool = False


class RecallModel:
    """A `ChatModel` that answers the last question only by quoting the memory and the user's words in the prompt."""

    name = "recall:"

    def complete(self, messages: Sequence[Message], **options: Unpack[Options]) -> Reply:
        """The whole answer."""
        if options.get("schema") is not None:
            raise ConfigError("recall: only quotes and can't fill in a schema; use a model like 'openai:gpt-4o-mini'")
        text = answer(messages_only(messages))
        usage = Usage(count_messages(messages, estimate), estimate(text))
        return Reply(Message("assistant", text), usage, model=self.name)

    def stream(self, messages: Sequence[Message], **options: Unpack[Options]) -> Iterator[Delta]:
        """The answer line by line; the last piece has the whole reply."""
        reply = self.complete(messages, **options)
        yield from (Delta(line) for line in reply.text.splitlines(keepends=True))
        yield Delta(reply=reply)


def answer(messages: Sequence[Message]) -> str:
    """What memory says about the last question: facts in sentences, else the lines that share its words."""
    said = [message for message in messages if message.role == "user"]
    memory = next((found for message in reversed(said) if (found := memory_of(message.text))), "")
    question = without_memory(said[-1]) if said else None
    if not question:
        return NOTHING
    text = "\n".join(filter(None, map(str.strip, question.text.splitlines())))
    if _HELP.fullmatch(text):
        return HELP
    asked = _spelt(text)
    asks = _ASKS.match(asked or "?")
    if _GREETS.fullmatch(text) or _BIDS.fullmatch(text) or (not asks and (_STATES.match(text) or extract(text, ONCE))):
        return READ
    lines = [*lines_of(memory), *said_before(said[:-1])]
    best = _best(asked, lines, facts_in(lines, said[:-1]), question.at or local_now())
    if not best:
        return NOTHING if asks else READ
    told = [OPENING]
    for heading, line in best:
        if heading not in told:
            told += ["", heading]
        told.append(line)
    return "\n".join(told)


def echoes(text: str) -> bool:
    """Whether a text is an answer of this kind: only quotations, or that there are none. It holds nothing new."""
    return quotes(text) or text in (NOTHING, READ, HELP)


def quotes(text: str) -> bool:
    """Whether a text quotes memory and says nothing else."""
    return text.startswith(OPENING) and _QUOTES.fullmatch(text) is not None


def _spelt(question: str) -> str:
    """The question with misspelt question words corrected."""
    head, rest = question[:MAX_QUESTION], question[MAX_QUESTION:]
    return (
        _WORD.sub(lambda word: word[0] if word[0].lower() in COMMON else stands_for(word[0].lower(), _ASKING), head)
        + rest
    )


def _best(question: str, lines: Sequence[Line], facts: Sequence[Fact], at: datetime) -> list[tuple[str, str]]:
    """The lines that answer a question, each with its heading: facts it asks for, else what shares words with it."""
    facts = [fact for fact in facts if fact.valid_to is None or fact.valid_to > at]
    if _OF_BEFORE.search(question[:MAX_QUESTION]):
        facts = []
    want = wanted(question, facts)
    if want.everything:
        told = [*_told(facts), *(_quoted(line) for line in lines if line.heading == HABITS)]
        return told or [_quoted(line) for line in lines if line.text.startswith("user: ")][-MOST:]
    telling = set(query_words(question)) - _FILLERS
    fitting = [fact for fact in facts if want.fits(fact)]
    left = _same(telling.difference(words(" ".join(want.explains)), _ALL_COMMON))
    answers = [fact for fact in fitting if left & _words(f"{label(fact.key)} {fact.value}")]
    if left <= _words(" ".join(want.sorts)):
        others = [fact for fact in fitting if not left or not fact.key.startswith("favorite:")]
        answers = _due(question, answers or others, at)
    if answers:
        return _told(answers)
    if asks_of_talk(question):
        return [_quoted(line) for line in _talked(question, lines, at)]
    if not _OF_THE_PAST.search(question) and (over := _over(question, telling, lines)):
        return [_quoted(line) for line in over[-MOST:]]
    matter = left if want.keys and left else telling
    return _sharing(question, matter - _LOOSE or matter, lines, facts, want)


def _over(question: str, telling: set[str], lines: Sequence[Line]) -> list[Line]:
    """The lines in which the user said that what is asked for is over: "I quit my job" where they worked."""

    def asked_for(past: Sequence[Fact]) -> list[Fact]:
        want = wanted(question, past)
        left = telling.difference(words(" ".join((*want.explains, *want.sorts))), _ALL_COMMON)
        return [] if left else [fact for fact in past if fact.type != "action_item" and want.fits(fact)]

    return ends_of(lines, asked_for)


def _told(facts: Sequence[Fact]) -> list[tuple[str, str]]:
    """Facts in sentences, each with the day it was said."""
    told = list[tuple[str, str]]()
    for fact in sorted(facts, key=place_in_telling)[:MOST_FACTS]:
        by, how = due(fact), "said" if fact.origin == "user" else "noted"
        day = f", {written(by)}" if by else ""
        said = f" ({how} {written(fact.updated_at)})" if fact.updated_at != UNKNOWN else ""
        told.append((ABOUT_YOU, f"- {sentence(fact)}{day}{said}."))
    return told


def _quoted(line: Line, asked: Set[str] = frozenset()) -> tuple[str, str]:
    speaker = line.text.removesuffix(line.words)
    return line.heading, f"> {line.day}{speaker}{part_about(line.words, asked, _words)}"


def _due(question: str, facts: Sequence[Fact], at: datetime) -> list[Fact]:
    """The facts. If the question names a future day, plans are included only if due on it, or in its week or month.

    If it asks for what is due by or before it, plans for each day until then are.
    """
    text = _FOR_MONTH.sub("in ", question[:MAX_QUESTION])
    named = ahead(text, at.date())
    if named is None:
        return list(facts)
    first = last = named[2]
    said = text[named[0] : named[1]].lower()
    if said.startswith(("before ", "by ")):
        first = at.date()
    elif "week" in said:
        first -= timedelta(days=1 if "weekend" in said else 6)
    elif _MONTH.match(said):
        first = first.replace(day=1)
    days = [(fact, due(fact)) for fact in facts]
    return [fact for fact, day in days if fact.type != "action_item" or (day and first <= day <= last)]


def _talked(question: str, lines: Sequence[Line], at: datetime) -> list[Line]:
    """What the user said in the conversations that memory recalls, or on the days that the question names."""
    said = [line for line in lines if line.text.startswith("user: ") and not line.text.endswith("?")]
    earlier = [line for line in said if line.heading == _RECALLED]
    named = periods(question, at.date())
    if named:
        on = [(line, line.on.toordinal()) for line in said if line.on]
        within = [line for line, day in on if any(first <= day <= last for first, last in named)]
        earlier = [within[n * len(within) // MOST] for n in range(MOST)] if len(within) > MOST else within
    elif "last" in words(question) and (days := [line.on for line in earlier if line.on]):
        earlier = [line for line in earlier if line.on == max(days)]
    return earlier[:MOST] if earlier or named else said[-MOST:]


def _sharing(
    question: str, telling: set[str], lines: Sequence[Line], facts: Sequence[Fact], want: Wanted
) -> list[tuple[str, str]]:
    """The facts and lines that share words with the question, mostly rare ones, in their order, with their headings."""
    if telling <= _ALL_COMMON:
        return []
    facts, lines = _that_may_answer(question, lines, facts, want)
    of_me = _OF_ME.search(question) is not None and not _OF_THE_PAST.search(question)
    sources = [_Source(_words(_asked_by(fact, want, of_me)), fact) for fact in facts]
    sources += [_Source(_words(line.words), None, n, line.text.endswith("?")) for n, line in enumerate(lines)]
    places = Counter(word for source in sources for word in source.words)
    looked_for = {
        word if word in places or len(word) < 5 else stands_for(word, sorted(places)) for word in _same(telling)
    }
    if names := _words(" ".join(want.names)):
        about = said_of(lines, names, _words)
        sources = [one for one in sources if names & one.words or (not one.fact and about[one.place])]
        if any(not one.fact for one in sources):  # "Mila is your daughter" says nothing of her school
            sources = [one for one in sources if not one.fact or (looked_for - names) & one.words]
    found = [(worth, one) for one in sources if (worth := fsum(1 / places[word] for word in looked_for & one.words))]
    kept = _worth_most(found, lines)
    return list(dict.fromkeys(told for one in kept for told in _with_reply(question, one, looked_for, lines)))


def _that_may_answer(
    question: str, lines: Sequence[Line], facts: Sequence[Fact], want: Wanted
) -> tuple[Sequence[Fact], Sequence[Line]]:
    """The facts and lines about those whom the question is about; not the same question, unless it was answered."""
    if _OF_SOMEONE.search(question):
        facts = [fact for fact in facts if someone(fact)]
    if want.about:
        facts = [fact for fact in facts if someone(fact) not in want.people]
    quotable = [line for line in lines if line.heading not in FACTS]
    others = [line for n, line in enumerate(quotable) if not _is_same(question, line.words) or reply_to(quotable, n)]
    if want.keys and not want.of_another:
        facts = [fact for fact in facts if not someone(fact)]
        others = [line for line in others if not _only_of_others(line.words, want.keys)]
    return facts, others


def _worth_most(found: Sequence[tuple[float, _Source]], lines: Sequence[Line]) -> list[_Source]:
    """Those worth at least half of the best, in their order, `MOST` at most.

    Questions are used only if there is nothing else, or if they were answered and are worth more than what was told.
    """
    told = max((worth for worth, one in found if not one.asks), default=0.0)
    found = [
        (worth, one)
        for worth, one in found
        if not one.asks or (worth > told and (not told or reply_to(lines, one.place)))
    ]
    best = sorted(range(len(found)), key=lambda n: -found[n][0])[:MOST]
    return [found[n][1] for n in sorted(best) if found[n][0] >= found[best[0]][0] / 2]


def _only_of_others(said: str, keys: Set[str]) -> bool:
    """Whether a line says what is asked about someone else, not about the user."""
    found = extract(said, ONCE)
    of_me = any(one.key.partition(":")[0] in keys for one in found)
    return not of_me and any(someone(one) and one.key.rpartition(":")[2] in keys for one in found)


def _with_reply(question: str, said: _Source, asked: set[str], lines: Sequence[Line]) -> Iterator[tuple[str, str]]:
    """What is told, and the assistant's reply to it if that is asked for, or the user's own words are no answer.

    They are none if they ask something themselves, or have no word besides those of the question.
    """
    if said.fact:
        yield from _told([said.fact])
        return
    yield _quoted(lines[said.place], asked)
    answers = said.words - asked - _ALL_COMMON - _FILLERS and not _ASKS.match(lines[said.place].words)
    wanted = asks_of_assistant(question) or (_WANTS_MORE.match(question) and not answers)
    if wanted and (reply := reply_to(lines, said.place)):
        yield _quoted(reply, asked)


def _is_same(question: str, said: str) -> bool:
    return _ASKS.match(said) is not None and set(query_words(said)) == set(query_words(question))


def _words(text: str) -> set[str]:
    return _same(words(text))


def _same(found: Iterable[str]) -> set[str]:
    return {_SAME.get(word, word) for word in found}


def _asked_by(fact: Fact, want: Wanted, of_me: bool) -> str:
    """The words that a fact is found by; those of questions it answers only if this question may ask for it."""
    who = someone(fact)
    may_ask = who in want.people if who else of_me and not (want.of_another or want.keys)
    return asked_by(fact) if may_ask else f"{fact.key} {fact.value}"
