"""`recollect chat`: talk with a model that remembers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from recollect.cli.shell import (
    DEFAULT,
    MARK,
    Json,
    Talk,
    Tokens,
    User,
    Where,
    named,
    read_in,
    remembering,
    telling_errors,
    words,
)
from recollect.cli.terminal import err, machine, note, out, printable, tell
from recollect.errors import BudgetTooSmall, ModelError

if TYPE_CHECKING:
    from recollect.llm import ChatModel, Reply
    from recollect.session import Session

QUOTES: Final = "recall:"
ModelName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model",
        envvar="RECOLLECT_MODEL",
        callback=named,
        help="Who answers, like openai:gpt-4o-mini; recall: quotes from memory and needs no key.",
        show_default=QUOTES,
    ),
]


def chat(
    message: Annotated[
        str | None,
        typer.Argument(help="What to say; - reads it from stdin.", show_default="a conversation, line by line"),
    ] = None,
    *,
    model: ModelName = None,
    budget: Tokens = None,
    system: Annotated[str | None, typer.Option(help="The system text.")] = None,
    store: Where = None,
    user: User = None,
    session: Talk = DEFAULT,
    as_json: Json = False,
) -> None:
    """Talk with a model; what both say is remembered, and what was said before is recalled. Ctrl-D ends it.

    Example: recollect chat

    Example: recollect chat "Where does my sister live?" --model recall: --budget 2000
    """
    from recollect import llm

    with telling_errors():
        asked = None if message is None else words(read_in(message))
        llm.check(model or QUOTES)
    with remembering(store, user, session, must_exist=False) as talk:
        answerer = llm.open(model or QUOTES)
        talk.facts()  # what the last commands said is learned first
        if asked is not None:
            _turn(talk, answerer, asked, budget, system, as_json)
            return
        if sys.stdin.isatty():
            note(f"Talking with {answerer.name} as {talk.scope.user}, session {session}. Ctrl-D ends it.")
        for line in _lines():
            try:
                _turn(talk, answerer, line, budget, system, as_json)
            except (ModelError, BudgetTooSmall) as error:
                tell(error)
            except KeyboardInterrupt:
                note("Stopped. What you said is kept, the answer is not.")


def _lines() -> Iterator[str]:
    """The lines of the input that are not empty; at a terminal they can be edited with the arrow keys."""
    asking = sys.stdin.isatty()
    edited = asking and sys.stdout.isatty()
    if edited:
        with suppress(ImportError):  # Windows edits lines by itself
            import_module("readline")
    while True:
        if asking and not edited:
            err.print("you ", style="bold", end="")
        try:
            line = f"{input('you ')}\n" if edited else sys.stdin.readline()
        except (EOFError, KeyboardInterrupt):
            line = ""
        if not line:
            if asking:
                err.print()
            return
        if said := line.removeprefix(MARK).strip():
            yield said


def _turn(talk: Session, answerer: ChatModel, said: str, budget: int | None, system: str | None, as_json: bool) -> None:
    """Keep what was said, show the answer as it is made, and keep it."""
    from recollect.layers.answer import stream_fitting
    from recollect.session import add_answers

    question = talk.add("user", said)
    context = talk.context(None, budget, system=system)
    reply: Reply | None = None
    for piece in stream_fitting(answerer, context.prompt, counter=talk.memory.counter):
        if piece.text and not as_json:
            out.file.write(printable(piece.text))
            out.file.flush()
        reply = piece.reply or reply
    if reply is None:
        raise ModelError(f"{answerer.name} gave no answer; what you said is kept, ask again")
    add_answers(talk, question.id, [reply.message])
    if not as_json:
        out.print()
        return
    usage = {"prompt": reply.usage.prompt, "completion": reply.usage.completion, "cached": reply.usage.cached}
    machine(
        {
            "answer": reply.text,
            "model": answerer.name,
            "tokens": context.tokens,
            "budget": context.budget,
            "usage": usage,
        }
    )
