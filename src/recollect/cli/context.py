"""`recollect context`: the prompt for a question, and the receipt as a table with a bar of the budget."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.columns import Columns
from rich.table import Table
from rich.text import Text

from recollect.cli.shell import DEFAULT, At, Json, Talk, Tokens, User, Where, asked, numbered, remembering
from recollect.cli.terminal import LEAST, SHORT, drawn, machine, out, printable, say
from recollect.types import spelt_out

if TYPE_CHECKING:
    from recollect.flow.context import Context
    from recollect.flow.receipt import ContextReceipt, Line

COLOURS: Final = {
    "overhead": "bright_black",
    "system": "magenta",
    "summary": "blue",
    "profile": "green",
    "facts": "bright_magenta",
    "hints": "yellow",
    "episodic": "cyan",
    "tools": "bright_red",
    "documents": "bright_blue",
    "working": "default",
    "question": "red",
    "free": "bright_black",
}
FILLS: Final = "\u2588\u2593\u2592"
"""The marks of neighbours in a bar, in turn, so that they differ even without colour."""
FREE: Final = "\u00b7"
NEWEST: Final = 6
"""How many of the newest messages a receipt shows one by one."""
NARROW: Final = 35
"""The width that the narrow columns and the lines of a receipt take; its text shares the rest."""
LONGEST: Final = 120
"""How many characters of a text a receipt shows, at most."""


def context(
    question: Annotated[
        str | None,
        typer.Argument(callback=asked, help="What is asked.", show_default="the last user message of the session"),
    ] = None,
    *,
    budget: Tokens = None,
    system: Annotated[str | None, typer.Option(help="The system text.")] = None,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print the prompt itself too.")] = False,
    at: At = None,
    replay: Annotated[
        str | None,
        typer.Option(
            help="As it was for the user message with that number or id (id:12 where it is digits), as in `history`.",
            show_default=False,
        ),
    ] = None,
    store: Where = None,
    user: User = None,
    session: Talk = DEFAULT,
    as_json: Json = False,
) -> None:
    """Show the best prompt for a budget: what is in it, what is not, and why. Nothing is kept.

    Example: recollect context "Where does my sister live?" --budget 2000

    Example: recollect context "Where does my sister live?" --prompt

    Example: recollect context --replay 3 --session trip
    """
    from recollect.absent import begun

    if replay is not None and (question is not None or at is not None):
        raise typer.BadParameter("--replay takes the question and the time from the message: leave both out")
    with remembering(store, user, session) as chat:
        if question is None:
            begun(chat, "give a question, or name another with --session")
        chat.facts()  # what the last commands said is learned first
        if replay is None:
            made = chat.context(question, budget, system=system, at=at)
        else:
            made = chat.replay(numbered(chat, replay), budget, system=system)
    if as_json:
        machine(made.to_dict())
        return
    if prompt:
        _show_prompt(made)
    show(made.receipt)


def _show_prompt(made: Context) -> None:
    for message in made.prompt:
        say(f"{message.role}:", style="bold")
        say(f"{spelt_out(message)}\n")


def show(receipt: ContextReceipt) -> None:
    """Print a receipt: each thing that was considered, and a bar of where the tokens go."""
    rows = [(_row(line), "" if line.kept else "dim") for line in shortened(receipt.lines)]
    if out.width < LEAST:
        for (*about, what), style in rows:
            out.print(Text("  ").join(filter(None, about)), what, style=style, sep="\n", end="\n\n")
    else:
        out.print(_table(rows))
    out.print(budget_bar(receipt.sections, out.width))
    out.print(_legend(receipt.sections, receipt.budget))
    out.print(f"{receipt.tokens:,} of {receipt.budget:,} tokens are used.")


def _table(rows: Sequence[tuple[tuple[Text, ...], str]]) -> Table:
    shown = Table(expand=True)
    shown.add_column("section", no_wrap=True)
    shown.add_column("tokens", no_wrap=True, justify="right")
    shown.add_column("score", no_wrap=True, justify="right")
    shown.add_column("why", max_width=max((out.width - NARROW) // 2, SHORT))
    shown.add_column("what", ratio=1, overflow="fold")
    for row, style in rows:
        shown.add_row(*row, style=style)
    return shown


def shortened(lines: Sequence[Line]) -> list[Line]:
    """The lines, with a single one for all messages of the newest turns but the last few."""
    older = [n for n, line in enumerate(lines) if line.rule == "newest turns"][:-NEWEST]
    if len(older) < 2:
        return list(lines)
    tokens, shown = (sum(getattr(lines[n], name) for n in older) for name in ("tokens", "shown"))
    told = dataclasses.replace(
        lines[older[0]], tokens=tokens, shown=shown, text=f"{len(older):,} messages before these"
    )
    gone = set(older[1:])
    return [told if n == older[0] else line for n, line in enumerate(lines) if n not in gone]


def _row(line: Line) -> tuple[Text, ...]:
    from recollect.flow.receipt import CONVERSATION

    score = "" if line.section in CONVERSATION else f"{line.score:.2f}"
    tokens = f"{line.shown:,}" if line.kept else f"({line.tokens:,})"
    what = printable(" ".join(line.text.split()))
    what = what if len(what) <= LONGEST else drawn(f"{what[: LONGEST - 1]}\u2026")
    return (Text(line.section, COLOURS[line.section]), *map(Text, (tokens, score, line.rule, what)))


def budget_bar(sections: Mapping[str, int], width: int) -> Text:
    """A line of `width` characters in which each section has its share, at least one if it has a token."""
    line = Text()
    for n, (name, places) in enumerate(places_of(sections, width).items()):
        line.append(_mark(n, name) * places, COLOURS[name])
    return line


def _mark(place: int, section: str) -> str:
    """The character that draws a section at its place in a bar."""
    return drawn(FREE if section == "free" else FILLS[place % len(FILLS)])


def places_of(sections: Mapping[str, int], width: int) -> dict[str, int]:
    """How many of `width` places each section gets; those without a token get none."""
    there = {name: tokens for name, tokens in sections.items() if tokens > 0}
    room, total = max(width - len(there), 0), sum(there.values()) or 1
    places = {name: 1 + room * tokens // total for name, tokens in there.items()}
    if there:
        places[max(there, key=lambda name: there[name])] += max(width - sum(places.values()), 0)
    return places


def _legend(sections: Mapping[str, int], budget: int) -> Columns:
    there = {name: tokens for name, tokens in sections.items() if tokens > 0}
    return Columns(
        [
            Text(f"{_mark(n, name)} {name} ", COLOURS[name]).append(f"{tokens:,} ({tokens / budget:.0%})", "default")
            for n, (name, tokens) in enumerate(there.items())
        ],
        padding=(0, 3, 0, 0),
    )
