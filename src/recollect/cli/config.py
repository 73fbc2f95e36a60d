"""`recollect config`: every setting, its value, and where that came from."""

from __future__ import annotations

import dataclasses
from textwrap import fill, indent
from typing import Final

import typer

from recollect import settings
from recollect.cli.shell import EMBEDDER, INDEX, Json, User, Where, login, model_wanted, telling_errors, told, variable
from recollect.cli.terminal import SHORT, machine, out, say
from recollect.data_folder import data_dir

INDENT: Final = " " * 4
FROM: Final = {"COMMANDLINE": "given", "ENVIRONMENT": "the environment"}


def _from(called: typer.Context, name: str) -> str:
    """Where the value of an option came from."""
    source = called.get_parameter_source(name)
    unsaid = ".env" if called.params[name] else "default"
    return FROM.get(source.name, unsaid) if source else unsaid


def _embedder() -> tuple[str, str]:
    from recollect.embed.names import DEFAULT

    named, place = variable(EMBEDDER)
    if named:
        return named, place
    command = model_wanted()
    return ("none", f"keywords alone until: {command}") if command else (f"onnx:{DEFAULT}", "default")


def config(called: typer.Context, store: Where = None, user: User = None, as_json: Json = False) -> None:
    """Show every setting with its value and where it came from: the default, providers.yaml, .env or the environment.

    Example: recollect config

    Example: RECOLLECT_CONTEXT_BUDGET=16000 recollect config --json
    """
    with telling_errors():
        places = settings.places()
        in_force = settings.load()
    index, place = variable(INDEX)
    rows = [
        ("store", told(store), _from(called, "store"), "where memory is kept"),
        ("user", user or login(), _from(called, "user"), "whose memory is meant"),
        ("data folder", str(data_dir()), "RECOLLECT_DATA_DIR or the platform", "where models and the store are"),
        ("index", index or "none", place, "another engine for vectors beside the store"),
        ("embedder", *_embedder(), "what finds things by their meaning"),
    ]
    for knob in dataclasses.fields(in_force):
        set_in = [place for place, values in places.items() if knob.name in values]
        rows.append((knob.name, getattr(in_force, knob.name), (set_in or ["default"])[-1], knob.metadata["says"]))
    if as_json:
        machine([dict(zip(("name", "value", "from", "says"), row, strict=True)) for row in rows])
        return
    for name, value, source, says in rows:
        say(f"{name}: {'not set' if value is None else value} ({source})", style="bold")
        say(indent(fill(says, max(out.width - len(INDENT), SHORT), break_on_hyphens=False), INDENT))
