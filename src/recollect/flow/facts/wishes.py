"""What the user wants done, or not done, as a rule: "Never commit to main", "From now on use British spelling"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from recollect.answers import FactType
from recollect.flow.facts.found import Found, found
from recollect.flow.facts.prose import Clause
from recollect.flow.facts.wording import any_of, lower, rule

PREFERENCE: Final[FactType] = "preference"
CAN_YOU: Final = "(?:can|could|will|would) (?:you|u) (?:please |pls )?"

TOOLS: Final = any_of(
    """vs_?code neovim vim emacs python rust java javascript typescript django react postgres(?:ql)? mysql sqlite docker
    kubernetes aws azure gcp heroku vercel netlify linux ubuntu arch windows macos chrome firefox safari notion obsidian
    slack jira excel chatgpt copilot figma photoshop github gitlab confluence trello asana zoom tmux git terraform bash
    zsh pytest ruff mypy npm pnpm redis mongodb kafka flask fastapi node(?:\\.?js)? vue angular svelte jest vitest
    laravel ansible jenkins webpack vite (?:an_)?iphone (?:an_)?android"""
)
_OFFERS: Final = any_of("schedule book plan put arrange set_up reserve")
_REACHES: Final = any_of("call message text ping email e-mail phone remind send wake notify contact")
_BROUGHT: Final = any_of("suggest recommend order buy get send give show offer")
_AN_HOUR: Final = (
    r"(?:(?:before|after|past|until) "
    r"(?:\d+(?:[:.]\d+)?(?: ?[ap]m)?|noon|midnight|lunch|work|dinner|breakfast|school)"
    r"|(?:on|at|during) (?:\w+days|weekends|night|the weekends?))"
)
_THAT_HOLDS: Final = (
    rf"(?:(?:{_OFFERS} (?:me )?(?:anything|something|meetings?|calls?|appointments?|flights?|things)"
    rf"|{_REACHES} (?:me|us)) (?:[\w'-]+ ){{0,3}}?{_AN_HOUR})"
)
_AND_OVER: Final = (
    r"(?=\s*(?:[.!;)]|$|,(?! (?:if|unless|except)\b))| (?:please|pls|lol|thanks|because|since|as|i|i'm)\b)"
)
_CODES: Final = any_of(
    "commit push force[_-]push merge deploy release rebase squash open run write add use edit touch change"
)
_CODE: Final = (
    any_of(
        """branch pull_requests? prs? merge_requests? commits? unit_tests? tests? test_suite linter type_hints?
        docstrings? migrations? changelog tabs semicolons (?:single|double)_quotes f-strings snake_case camelcase
        (?:conventional_)?commit_messages?"""
    )
    + rf"|{TOOLS}"
    + rf"|{any_of('main master develop production prod')}(?=\s*(?:[.,!;)]|$)| (?:without|before|after)\b)"
)
_WORK_ON_CODE: Final = (
    rf"{_CODES}(?:(?!\b(?:if|unless|except|again|today|now)\b)[^.,!?;:]){{0,40}}? "
    rf"(?:{_CODE})(?![\w'-])[^.,!?;:]{{0,40}}?"
)
_ASKED: Final = rule(
    rf"(?:please )?(never|always|don't|do not) (?:ever )?({_THAT_HOLDS}){_AND_OVER}",
    rf"(?:please )?(never|always) ((?:{_OFFERS}|{_BROUGHT}) me "
    rf"(?:(?!\b(?:if|unless|when|until|except|again|today|now)\b)[^.,!?;:]){{3,60}}?){_AND_OVER}",
    rf"(?:please )?(never|always|(?:don't|do not) ever) ({_WORK_ON_CODE}){_AND_OVER}",
)
"""What is to be done or left as a rule: at some hours, for the one who asks, in code. What is true of all is none."""
_AND_ASKED: Final = rule("[,;] (?:and |but )?")
_LATER: Final = ("now on", "forward", "here on", "future")
_FROM_NOW_ON: Final = rule(
    r",? ?\b(?:from now on|going forward|from here on|in (?:the )?future)\b(?:,? (?:please|pls|ok|thanks))?,? ?"
)
_DO: Final = any_of(
    """use write answer reply respond avoid include format put add give show run check test commit push start begin end
    sign skip ask keep make name prefix send explain"""
)
_WORDS: Final = r"(?:(?!\b(?:it|this|that|these|those|if)\b)[^.,!?;:\x00\n])"
_NOT_TO: Final = "(?:never |don't |do not )"
_COMMANDED: Final = rule(
    rf"(?:{CAN_YOU})?(?:please )?(?:always )?({_NOT_TO}?(?:only )?{_DO} {_WORDS}{{3,80}}?){_AND_OVER}"
)
"""What is asked for from now on."""
_CHANGE: Final = any_of("commit push pr pull_request merge change edit release deploy(?:ment)?")
_UNASKED: Final = (
    r"(?:unless i(?:'ve)? (?:ask|asked|tell|told|say|said)(?: you)?(?: to| so| an? [\w ]{2,20}?)?"
    r"|without (?:asking|telling|my (?:ok|approval|permission))(?: me)?(?: first)?"
    r"|in (?:your|any) (?:commits|commit messages|code|prs|pull requests|answers|replies|responses))"
)
_YOU: Final = any_of(
    """write show give answer reply respond create add make edit change commit push run generate review explain use
    suggest refactor fix finish start send mention quote cite"""
)
_NOT_FOR_GOOD: Final = any_of("talking generating writing running working printing trying being making")
_BY_ITSELF: Final = any_of(
    "apologi[sz]ing guessing hallucinating repeating_yourself rambling swearing summari[sz]ing asking"
)
_EVERY_TIME: Final = rule(
    rf"(?:please )?({_DO} {_WORDS}{{3,60}}? (?:before|after) (?:each|every) (?:single )?{_CHANGE}){_AND_OVER}",
    rf"(?:please )?({_NOT_TO}{_DO}(?: {_WORDS}{{3,60}}?)? {_UNASKED}){_AND_OVER}",
    rf"(?:please )?(?:always )?(ask (?:me )?(?:first )?before (?:you |[a-z]+ing ){_WORDS}{{3,60}}?){_AND_OVER}",
    rf"(?:please )?(use {TOOLS},? (?:not|instead of|rather than|over) {TOOLS}){_AND_OVER}",
    rf"(?:please )?((?:whenever|every time|each time) you {_YOU} [^.!?;:\x00\n]{{3,60}}?,? "
    rf"{_NOT_TO}?{_DO} {_WORDS}{{3,60}}?){_AND_OVER}",
    rf"(?:{CAN_YOU})?(?:please )?(stop (?:{_BY_ITSELF}(?: all the time| so much)?"
    rf"|(?!{_NOT_FOR_GOOD}\b)[a-z]+ing (?:(?!\b(?:the|my)\b){_WORDS}){{2,60}}?)){_AND_OVER}",
)
"""What is asked for every time: "Run the linter before each commit", "Don't add comments unless I ask"."""
_NOT: Final = rule(r"(?:don't|do not) (?:ever )?")
_AS_IT_IS: Final = ("always ", "never ", "stop ", "whenever ", "every ", "each ")


def wishes(clause: Clause, again: bool) -> Iterator[Found]:
    """What a clause asks for as a rule; with `again`, also what it asks for from now on, or every time."""
    text, end, asked = clause.text, 0, False
    while match := _ASKED.match(text, end):
        group, end, asked = match.lastindex or 2, match.end(), True
        how = "always" if lower(match[group - 1]) == "always" else "never"
        yield found(clause, PREFERENCE, "asked", _FROM_NOW_ON.sub("", f"{how} {match[group]}"), end, 0.85)
        end = more.end() if (more := _AND_ASKED.match(text, end)) else len(text)
    if asked or not again:
        return
    now_on = _FROM_NOW_ON.search(text) if any(words in text.casefold() for words in _LATER) else None
    command = _FROM_NOW_ON.sub("", text) if now_on and now_on.end() >= len(text.rstrip(" .!")) else text
    commanded = _COMMANDED.match(command)
    if match := (commanded if now_on or (commanded and clause.always) else None) or _EVERY_TIME.match(text):
        wish = _NOT.sub("never ", match[match.lastindex or 1].strip(), 1)
        wish = wish[0].lower() + wish[1:]
        wish = wish if wish.startswith(_AS_IT_IS) else f"always {wish}"
        yield found(clause, PREFERENCE, "asked", wish, min(match.end(), len(text)), 0.85)
