"""Models by name: 'openai:gpt-4o-mini', 'anthropic:claude-sonnet-4-5', 'ollama:llama3.2', 'local:…', 'recall:'."""

from __future__ import annotations

import os
from typing import Final
from urllib.parse import urlsplit

from recollect.errors import ConfigError
from recollect.http import ANTHROPIC, OPENAI, RETRIES, Endpoint, Retries, sign_for_anthropic
from recollect.llm import local
from recollect.llm.anthropic import Anthropic
from recollect.llm.model import ChatModel
from recollect.llm.ollama import CONTEXT, Ollama
from recollect.llm.openai import OpenAI
from recollect.llm.overflow import detect
from recollect.llm.recall import RecallModel
from recollect.llm.remote import RemoteModel

OLLAMA: Final = "http://127.0.0.1:11434"


def open(name: str, *, url: str | None = None, context: int | None = None, retries: Retries = RETRIES) -> ChatModel:
    """The model of that 'provider:model' name.

    `url` is the server's address, in place of the one that the environment names. `context` is the size, in tokens, of
    the context that Ollama and local models are given.
    """
    provider, _, model = str(name).partition(":")
    if provider == "recall":
        return RecallModel()
    match provider if model else "":
        case "openai":
            return _openai(name, model, url, retries)
        case "anthropic":
            return _anthropic(name, model, url, retries)
        case "ollama":
            return _ollama(name, model, url, context or CONTEXT, retries)
        case "local":
            return local.local_model(model, context or local.CONTEXT, retries)
    raise ConfigError(f"model {name!r} is not known: use a name like {', '.join(EXAMPLES)}")


def check(name: str) -> None:
    """Raise ConfigError if no model has that name, and ModelUnavailable if its key is missing. Nothing is started."""
    provider, _, model = name.partition(":")
    if provider == "local" and model:
        local.file(model)
    elif isinstance(found := open(name), RemoteModel):
        found.check()


EXAMPLES: Final = (
    "openai:gpt-4o-mini", "anthropic:claude-sonnet-4-5", "ollama:llama3.2", "local:smollm2-135m", "recall:",
)  # fmt: skip
"""An example of every kind of name."""


def _openai(name: str, model: str, url: str | None, retries: Retries) -> RemoteModel:
    url = url or os.environ.get("OPENAI_BASE_URL") or OPENAI
    endpoint = Endpoint(name, url, "OPENAI_BASE_URL", "OPENAI_API_KEY", judge=detect, retries=retries)
    renamed = urlsplit(url).hostname == urlsplit(OPENAI).hostname
    return RemoteModel(model, endpoint, OpenAI("max_completion_tokens" if renamed else "max_tokens"))


def _anthropic(name: str, model: str, url: str | None, retries: Retries) -> RemoteModel:
    url, sign = url or os.environ.get("ANTHROPIC_BASE_URL") or ANTHROPIC, sign_for_anthropic
    endpoint = Endpoint(name, url, "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", sign=sign, judge=detect, retries=retries)
    return RemoteModel(model, endpoint, Anthropic())


def _ollama(name: str, model: str, url: str | None, context: int, retries: Retries) -> RemoteModel:
    url = url or os.environ.get("OLLAMA_HOST") or OLLAMA
    if "://" not in url:
        url = f"http://{url}" if ":" in url else f"http://{url}:11434"
    endpoint = Endpoint(name, url, "OLLAMA_HOST", judge=detect, retries=retries)
    return RemoteModel(model, endpoint, Ollama(context))
