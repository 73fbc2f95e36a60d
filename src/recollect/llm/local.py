"""A GGUF model on this machine's CPU: xllamacpp runs llama.cpp's own server inside this process."""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path
from typing import Any, Final

from recollect.embed import models
from recollect.errors import ConfigError, MissingExtra, ModelUnavailable
from recollect.http import Endpoint, Retries
from recollect.llm.openai import OpenAI
from recollect.llm.overflow import detect
from recollect.llm.remote import RemoteModel

CONTEXT: Final = 4_096
_starting = threading.Lock()


def local_model(model: str, context: int, retries: Retries) -> RemoteModel:
    """A model, by its file or by the name it was pulled under. It runs until this process ends."""
    name = f"local:{model}"
    with _starting:
        server = _server(name, str(file(model)), context)
    endpoint = Endpoint(name, f"{server.listening_address}/v1", name, judge=detect, retries=retries)
    return RemoteModel(model, endpoint, OpenAI())


def file(model: str) -> Path:
    """The file of a model; if there is none, raises ConfigError, which says what to do."""
    known = models.KNOWN.get(model)
    found = models.folder(model) / next(iter(known.files)) if known else Path(model).expanduser()
    if found.suffix != ".gguf":
        raise ConfigError(f"local:{model} is not a GGUF file; give the path of one, or a name that was pulled")
    if not found.is_file():
        how = f"python -m recollect.embed.models pull {model}" if known else "give the path of a GGUF file"
        raise ConfigError(f"the model {model} is not here: {how}")
    return found


@cache
def _server(name: str, file: str, context: int) -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        raise MissingExtra("xllamacpp", "local-llm", name) from error
    settings = xllamacpp.CommonParams()
    settings.model.path, settings.n_ctx, settings.n_parallel = file, context, 1
    settings.port, settings.ui, settings.verbosity = 0, False, -1
    try:
        return xllamacpp.Server(settings)
    except RuntimeError as error:
        raise ModelUnavailable(f"{name} can't be started: {error}", passing=False) from error
