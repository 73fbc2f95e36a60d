"""Settings, from arguments, the environment, `.env` and `providers.yaml`, in this order of precedence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

import yaml
from pydantic import Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from recollect.errors import ConfigError

FILE: Final = "providers.yaml"
SECTION: Final = "agent"
"""The section of the file that is read; the others belong to other programs."""
PREFIX: Final = "RECOLLECT_"


class Settings(BaseSettings):
    """Every number with its default. `load()` fills it in from all places; made directly, it takes arguments only."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_file=".env", dotenv_filtering="only_existing", extra="forbid", frozen=True
    )

    context_budget: int = Field(default=8000, gt=0, description="tokens of conversation in a prompt")
    conversation_window: int | None = Field(default=None, gt=0, description="messages in a prompt, not tokens")
    low_water: float = Field(default=0.7, gt=0, le=1, description="the part of the budget a cut goes down to")
    min_turns: int = Field(default=1, ge=0, description="newest turns that always stay")
    min_messages: int = Field(default=2, ge=0, description="newest messages that always stay")
    counter: str = Field(default="estimate", min_length=1, description="the token counter, by name")

    @property
    def limit(self) -> tuple[Literal["tokens", "messages"], int]:
        """What the window is cut to.

        A window alone counts messages. A budget that was set wins over a window; with neither, the default budget.
        """
        if self.conversation_window is not None and "context_budget" not in self.model_fields_set:
            return "messages", self.conversation_window
        return "tokens", self.context_budget

    @field_validator("*", mode="before")
    @classmethod
    def _no_yes_or_no(cls, value: Any) -> Any:
        if isinstance(value, bool):
            raise ValueError("yes or no is not a value here")
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments only; `load` reads the other places."""
        return (init_settings,)


def load(path: str | Path | None = None, **arguments: Any) -> Settings:
    """The settings in force here. A file that is named must exist; `providers.yaml` is read where there is one."""
    places = {
        f"{path or FILE}, section {SECTION}": _section(path),
        ".env": _read_dotenv(),
        "the environment": EnvSettingsSource(Settings)(),
        "the arguments": arguments,
    }
    values = {key: value for place in places.values() for key, value in place.items()}
    try:
        return Settings(**values)
    except ValidationError as error:
        raise ConfigError(_explained(error, places)) from None


def _read_dotenv() -> dict[str, Any]:
    try:
        return DotEnvSettingsSource(Settings)()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f".env can't be read: {error}") from error


def _section(path: str | Path | None) -> dict[str, Any]:
    file = Path(path or FILE)
    if path is None and not file.exists():
        return {}
    try:
        content = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{file} can't be read: {error}") from error
    return _mapping(_mapping(content, f"{file}").get(SECTION), f"{file}, section {SECTION}")


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ConfigError(f"{where}: expected names with values, got {value!r}")
    return value


def _explained(error: ValidationError, places: Mapping[str, Mapping[str, Any]]) -> str:
    lines = []
    for problem in error.errors():
        key = str(problem["loc"][0])
        where = [place for place, values in places.items() if key in values][-1]
        if problem["type"] == "extra_forbidden":
            lines.append(f"{where}: no setting {key!r}; there are {', '.join(Settings.model_fields)}")
        else:
            lines.append(f"{where}: {key} is {problem['input']!r}: {problem['msg'].removeprefix('Value error, ')}")
    return "; ".join(lines)
