"""Makes the turns that must stay smaller, by a ladder of measures, each harder than the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from recollect.flow.limits import Limits
from recollect.flow.shorten import Count, only_words, shorten_results, shorten_words
from recollect.flow.turns import steps
from recollect.types import Message

OLD_RESULT_TOKENS: Final = 256
LINE_TOKENS: Final = 40
NEWEST_RESULT_SHARE: Final = 4


@dataclass(frozen=True, slots=True)
class Edit:
    """What replaces a message: one that was shortened to `limit` tokens, or nothing."""

    message: Message | None
    tokens: int
    rule: str
    limit: int = 0


STEP: Final = Edit(None, 0, "old step of a turn that stays")
LATE: Final = Edit(None, 0, "old turn that a late result kept")


@dataclass(frozen=True, slots=True)
class Rung:
    """One measure: groups of edits, each made as a whole. `drops` says that it removes messages."""

    groups: Iterator[list[tuple[int, Edit]]]
    drops: bool = False


def ladder(
    messages: Sequence[Message],
    turns: Sequence[Sequence[int]],
    limits: Limits,
    budget: int,
    count: Count,
    now: Callable[[int], Edit],
) -> Iterator[Rung]:
    """The measures for these turns (indexes into `messages`), to be taken group by group until the budget is met.

    1. Old tool results are cut to head and tail.
    2. The newest tool results are cut to a quarter of the budget.
    3. Old steps leave, except the last of each turn, pinned ones and the last `min_messages`.
    4. Every tool result is cut to a line.
    5. Old words are cut to a quarter of the budget.
    6. Old words are cut to a line.
    7. Old pictures and files of the user are replaced by a mark, unless the limits say `whole`.
    8. Turns that stayed only because of a late result leave together with it, unless the limits say `whole`; pinned
       ones, the last `min_turns` and the last `min_messages` stay.

    Old words are those before the last question, or all words if the limits say that another question `follows`. `now`
    gives what a message was already replaced by: an edit is not made twice, nor one to more tokens.
    """
    by_turn = [list(steps(messages, turn)) for turn in turns]
    shown = [index for turn in turns for index in turn]
    last = shown[-limits.min_messages :]
    newest = set(by_turn[-1][-1]) if by_turn and by_turn[-1] else set[int]()
    results = [index for index in shown if messages[index].role == "tool"]
    asked = max((index for index in shown if messages[index].role == "user"), default=0)
    old_words = [index for index in shown if (limits.follows or index < asked) and messages[index].role != "tool"]
    bound = {*last, *(index for index in shown if messages[index].pinned)}
    spare = [step for found in by_turn for step in found[:-1] if bound.isdisjoint(step)]

    def shortened(
        indexes: Iterable[int], limit: int, rule: str, how: Callable[[Message, int, Count], Message] = shorten_results
    ) -> Rung:
        def edit(index: int) -> Edit:
            if 0 < (made := now(index)).limit < limit or (made.rule, made.limit) == (rule, limit):
                return made
            short = how(messages[index], limit, count)
            return Edit(short, count(short), rule, limit)

        return Rung([(index, edit(index))] for index in indexes)

    older = [index for index in results if index not in newest and now(index).tokens > OLD_RESULT_TOKENS]
    yield shortened(older, OLD_RESULT_TOKENS, "old tool result shortened")
    quarter = max(budget // NEWEST_RESULT_SHARE, LINE_TOKENS)
    yield shortened([i for i in results if i in newest], quarter, "large tool result shortened")
    yield Rung(([(index, STEP) for index in step] for step in spare), drops=True)
    yield shortened(results, LINE_TOKENS, "tool result shortened to a line")
    yield shortened(old_words, quarter, "old words shortened", shorten_words)
    yield shortened(old_words, LINE_TOKENS, "old words shortened to a line", shorten_words)
    shown_by_user = [index for index in old_words if messages[index].role == "user" and not limits.whole]
    yield shortened(shown_by_user, LINE_TOKENS, "old pictures and files cut", only_words)
    spare = [] if limits.whole else _older(messages, [n for n in shown if now(n).message], limits)
    spare.sort(key=lambda turn: turn[-1] in last)
    yield Rung([(index, LATE) for index in turn] for turn in spare)


def _older(messages: Sequence[Message], shown: Sequence[int], limits: Limits) -> list[list[int]]:
    """What is shown, split at the user's messages, late results beside their calls; without the last and pinned."""
    parts: list[list[int]] = []
    homes: dict[str, int] = {}
    for index in shown:
        message = messages[index]
        if message.role == "user" or not parts:
            parts.append([])
        here = len(parts) - 1
        *others, home = sorted({homes.get(result.call_id, here) for result in message.tool_results} or {here})
        for other in others:  # one message answers the calls of several
            parts[home], parts[other] = [*parts[other], *parts[home]], []
            homes = {id: home if place == other else place for id, place in homes.items()}
        parts[home].append(index)
        homes.update((call.id, here) for call in message.tool_calls)
    parts = [part for part in parts if part]
    last = len(parts) - limits.min_turns
    while last > 0 and sum(map(len, parts[last:])) < limits.min_messages:
        last -= 1
    return [part for part in parts[: max(0, last)] if not any(messages[index].pinned for index in part)]
