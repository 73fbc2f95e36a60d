"""What a service is started with: arguments, else the environment or `.env` (`RECOLLECT_STORE`, …)."""

from __future__ import annotations

from typing import Any

from recollect.arguments import in_words
from recollect.errors import ConfigError, MissingExtra

try:
    from pydantic import Field, ValidationError
    from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError
except ModuleNotFoundError as error:
    raise MissingExtra("pydantic-settings", "server", "the service") from error


class Options(BaseSettings):
    """Where memory is kept, which model answers, and how much one caller may ask for."""

    model_config = SettingsConfigDict(
        env_prefix="RECOLLECT_", env_file=".env", env_ignore_empty=True, extra="ignore", frozen=True
    )

    store: str | None = Field(default=None, description="file or address of the store; without one, in the data folder")
    index: str | None = Field(
        default=None, description="another engine for vectors: chroma:///folder, chroma://host:port"
    )
    embedder: str = Field(default="auto", description="the embedder, by name; 'none' goes by keywords alone")
    model: str = Field(
        default="recall:", description="the model that answers, as 'provider:model'; recall: needs no key"
    )
    background_model: str | None = Field(
        default=None, description="a model that improves facts and summaries in the background, by name"
    )
    reranker: str | None = Field(
        default=None, description="a pulled re-ranker, or its folder, that reads the best passages of documents again"
    )
    questions: tuple[str, ...] = Field(
        default=(), description="what the page suggests to ask in a new conversation, as a JSON list"
    )
    max_body: int = Field(default=10_000_000, gt=0, description="most bytes of a request")
    max_depth: int = Field(default=64, gt=0, description="most levels of nested JSON")
    max_streams: int = Field(default=256, gt=0, description="most answers streamed at once by one process")
    rate: float = Field(default=1_000.0, gt=0, description="most requests a second of one key")
    drain_seconds: float = Field(
        default=10.0, ge=0, description="how long a stop waits for background work and open answers"
    )

    @classmethod
    def read(cls, **arguments: Any) -> Options:
        """The options in force: arguments that are not None, else the environment, else `.env`. Raises ConfigError."""
        try:
            return cls(**{name: value for name, value in arguments.items() if value is not None})
        except SettingsError:  # only one option is read as JSON
            raise ConfigError('RECOLLECT_QUESTIONS is not a JSON list: write it like ["Where do I live?"]') from None
        except ValidationError as error:
            told = (
                f"RECOLLECT_{str(e['loc'][0]).upper()} is {e['input']!r}: {in_words(e['msg'])}" for e in error.errors()
            )
            raise ConfigError("; ".join(told)) from None
