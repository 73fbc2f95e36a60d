"""`recollect config`: every setting, its value, and where that came from."""

from __future__ import annotations

import dataclasses
import os

from recollect import settings
from recollect.cli.shell import Json, User, Where, address, login, machine, table, telling_errors
from recollect.embed import models as weights
from recollect.embed.models import data_dir
from recollect.embed.names import DEFAULT


def _embedder() -> tuple[str, str]:
    if named := os.environ.get("RECOLLECT_EMBEDDER"):
        return named, "the environment"
    if weights.folder(DEFAULT).is_dir():
        return f"onnx:{DEFAULT}", "default"
    return "none", f"keywords alone until: recollect models pull {DEFAULT}"


def config(store: Where = None, user: User = None, as_json: Json = False) -> None:
    """Show every setting with its value and where it came from: the default, providers.yaml, .env or the environment.

    Example: recollect config

    Example: RECOLLECT_CONTEXT_BUDGET=16000 recollect config --json
    """
    with telling_errors():
        places = settings.places()
        in_force = settings.load()
    rows = [
        ("store", address(store), "given" if store else "default", "where memory is kept"),
        ("user", user or login(), "given" if user else "default", "whose memory is meant"),
        ("data folder", str(data_dir()), "RECOLLECT_DATA_DIR or the platform", "where models and the store are"),
        ("embedder", *_embedder(), "what finds things by their meaning"),
    ]
    for knob in dataclasses.fields(in_force):
        set_in = [place for place, values in places.items() if knob.name in values]
        rows.append((knob.name, getattr(in_force, knob.name), (set_in or ["default"])[-1], knob.metadata["says"]))
    if as_json:
        machine([dict(zip(("name", "value", "from", "says"), row, strict=True)) for row in rows])
    else:
        table(("setting", "value", "from", "what it is"), rows, whole="setting")
