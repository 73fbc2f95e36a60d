"""Every number with its default: `Settings`. `load` fills them in from the environment, `.env` and `providers.yaml`."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import operator
import re
import reprlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, wraps
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_type_hints

from recollect.arguments import MAX_WHOLE, in_words, meant
from recollect.errors import ConfigError, MissingExtra

FILE: Final = "providers.yaml"
SECTION: Final = "agent"
"""The section of the file that is read; other sections belong to other programs."""
PREFIX: Final = "RECOLLECT_"
BUDGET: Final = 8_000


def _knob(default: Any, says: str, env: str | None = None, **bounds: float) -> Any:
    return field(default=default, metadata={"says": says, "env": env, "bounds": bounds})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every number with its default; a value that can't be used raises ConfigError."""

    context_budget: int | None = _knob(None, "most tokens of a prompt; 8,000 unless conversation_window is set", gt=0)
    conversation_window: int | None = _knob(None, "most messages of a prompt, instead of a budget in tokens", gt=0)
    low_water: float = _knob(0.7, "when a window is cut, the share of the budget that stays", gt=0, le=1)
    min_turns: int = _knob(1, "newest turns that always stay in a window", ge=1)
    min_messages: int = _knob(2, "newest messages that always stay in a window", ge=1)
    old_messages: Literal["drop", "summarise"] = _knob(
        "drop", "what happens to messages that leave a Strands agent's list: drop, or summarise"
    )
    counter: str = _knob("estimate", "the token counter, by name")

    layout: Literal["tail-first", "memory-first"] = _knob(
        "tail-first", "where memory stands: after the conversation (tail-first) or before it (memory-first)"
    )
    reply_tokens: int = _knob(0, "tokens of the budget kept free for the reply", ge=0)
    system_tokens: int | None = _knob(None, "most tokens of a context's system text; a longer one is refused", ge=0)
    profile_tokens: int | None = _knob(2_000, "most tokens of the profile: what the user is", ge=0)
    facts_tokens: int | None = _knob(200, "most tokens of other facts", ge=0)
    facts_share: float = _knob(0.06, "share of a prompt that profile and facts get before everything else", ge=0, le=1)
    hints_tokens: int | None = _knob(100, "most tokens of hints about habits", ge=0)
    documents_tokens: int | None = _knob(800, "most tokens of document passages", ge=0)
    episodic_tokens: int | None = _knob(400, "most tokens of recalled turns", ge=0)
    tools_tokens: int | None = _knob(200, "most tokens of tool excerpts", ge=0)
    memory_tokens: int | None = _knob(
        800,
        "most tokens of memory and tools together, documents apart",
        env="RAG_PER_TURN_MEMORY_BUDGET_TOKENS",
        ge=0,
    )
    working_tokens: int | None = _knob(None, "most tokens of the conversation itself; 4,000 in memory-first", gt=0)
    working_turns: int | None = _knob(None, "most turns of the conversation itself; 10 in memory-first", gt=0)
    working_min_turns: int = _knob(5, "newest turns that other sections can't push out", ge=1)

    episodic_top_k: int | None = _knob(
        4, "most recalled conversations in a context; more where the question asks for several things or a time", ge=0
    )
    episodic_min_score: float = _knob(7.0, "messages scored lower are not recalled")
    episodic_floor: float = _knob(
        0.5,
        "share of a question that may be new; beyond it, a recalled turn must be nearer; 1 turns this off",
        ge=0,
        le=1,
    )
    episodic_recency_weight: float = _knob(0.3, "how much newer turns are preferred", ge=0)
    facts_top_k: int | None = _knob(None, "most facts in a context besides the profile", ge=0)
    facts_every_turns: int = _knob(5, "turns between two extractions of facts", ge=1)
    patterns_every_sessions: int = _knob(100, "conversations between two analyses of habits", ge=1)
    summary_every_messages: int = _knob(
        12, "messages folded into the summary at a time", env="CONVO_SUMMARY_EVERY_N_MESSAGES", ge=1
    )
    summary_tokens: int = _knob(400, "most tokens of the summary", env="CONVO_SUMMARY_MAX_TOKENS", ge=0)

    chunk_tokens: int = _knob(300, "most tokens of a document's chunk", env="RAG_CHUNK_SIZE", ge=20)
    chunk_overlap: int = _knob(50, "most tokens that two neighbouring chunks share", env="RAG_CHUNK_OVERLAP", ge=0)
    documents_search_k: int = _knob(
        5, "passages that a search returns, and a context chooses from", env="RAG_TOP_K_MAX", ge=0
    )
    documents_threshold: float = _knob(
        0.25, "how near to the question a chunk must be", env="RAG_SIMILARITY_THRESHOLD", ge=0, le=1
    )
    documents_rerank_n: int = _knob(20, "chunks re-ranked, if there is a re-ranker", env="RAG_RE_RANK_TOP_N", ge=0)
    documents_top_k: int = _knob(3, "most passages of documents in a context", env="RAG_FINAL_TOP_K", ge=0)
    tools_top_k: int = _knob(2, "most tool excerpts in a context", ge=0)
    tools_days: float = _knob(7.0, "days after which a tool excerpt expires", gt=0, le=36_500)
    embeddings_device: str = _knob("cpu", "where sentence-transformers runs", env="EMBEDDINGS_DEVICE")

    model_calls_a_day: int = _knob(500, "most calls of a tenant's background model in a day", ge=0)
    model_tokens_a_day: int = _knob(500_000, "most tokens of a tenant's background model in a day", ge=0)

    alert_budget: float = _knob(0.9, "alert when a context uses more than this share of its budget", gt=0)
    alert_retrieval_ms: float = _knob(500.0, "alert when retrieval takes more milliseconds", gt=0)
    alert_memory_bytes: int = _knob(10**9, "alert when the process uses more bytes of memory", gt=0)
    alert_cache_hits: float = _knob(0.7, "alert when a smaller share of fact reads comes from memory", ge=0, le=1)

    def __post_init__(self) -> None:
        if self.chunk_overlap * 2 > self.chunk_tokens:
            raise ConfigError(
                f"chunk_overlap is {self.chunk_overlap}; at most half of chunk_tokens, which is {self.chunk_tokens},"
                " can be shared"
            )

    @property
    def budget(self) -> int:
        """The tokens of a prompt."""
        return self.context_budget or BUDGET

    @property
    def limit(self) -> tuple[Literal["tokens", "messages"], int]:
        """What the window is cut to.

        A window alone counts messages. A budget that was set wins over a window; with neither, the default budget.
        """
        if self.conversation_window is not None and self.context_budget is None:
            return "messages", self.conversation_window
        return "tokens", self.budget

    @property
    def options(self) -> dict[str, Any]:
        """The limit and the rest as arguments for `fit`: `fit(messages, **settings.options)`."""
        kind, number = self.limit
        return {
            "budget" if kind == "tokens" else "last_messages": number,
            "counter": self.counter,
            "low_water": self.low_water,
            "min_turns": self.min_turns,
            "min_messages": self.min_messages,
        }

    def __repr__(self) -> str:
        """Only what is not the default, so that signatures with settings in them stay readable."""
        given = [(one.name, getattr(self, one.name), one.default) for one in dataclasses.fields(self)]
        return f"Settings({', '.join(f'{name}={value!r}' for name, value, default in given if value != default)})"

    @property
    def hash(self) -> str:
        """A hash of these settings: the same values, the same hash."""
        return _hash(self)


@cache
def _hash(settings: Settings) -> str:
    told = json.dumps(dataclasses.asdict(settings), sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


_KNOBS: Final = {knob.name: knob for knob in dataclasses.fields(Settings)}
_HINTS: Final = get_type_hints(Settings)
_WITHIN: Final[dict[str, tuple[Callable[[float, float], bool], str]]] = {
    "gt": (operator.gt, "greater than"),
    "ge": (operator.ge, "at least"),
    "le": (operator.le, "at most"),
}


def _problem(name: str, value: Any) -> str:
    """What is wrong with the value of a setting, as the end of a sentence; empty if nothing is."""
    allowed = get_args(_HINTS[name]) or (_HINTS[name],)
    if value is None and type(None) in allowed:
        return ""
    if isinstance(allowed[0], str):
        return "" if value in allowed else f"; use {' or '.join(allowed)}"
    kind = float if float in allowed else int if int in allowed else str
    if type(value) not in ((int, float) if kind is float else (kind,)):
        return f": expected {'text' if kind is str else 'a number'}"
    if value == "" or (kind is float and not abs(value) <= sys.float_info.max):
        return ": that is no value"
    most = {"le": MAX_WHOLE} if kind is int else {}
    bounds = [(*_WITHIN[bound], number) for bound, number in (most | _KNOBS[name].metadata["bounds"]).items()]
    return next((f": it must be {says} {number}" for holds, says, number in bounds if not holds(value, number)), "")


def _no_setting(name: str) -> str:
    there = f"there are {', '.join(_HINTS)}"
    return f"no setting {name!r}: {meant(name, _HINTS, there)}"


def _told(init: Callable[..., None]) -> Callable[..., None]:
    """The same `__init__`, with a ConfigError that lists every wrong name and value."""

    @wraps(init)
    def told(self: Settings, **given: Any) -> None:
        wrong = [_no_setting(name) for name in given if name not in _HINTS]
        known = ((name, value) for name, value in given.items() if name in _HINTS)
        if wrong := wrong + [f"{name} is {value!r}{why}" for name, value in known if (why := _problem(name, value))]:
            raise ConfigError("; ".join(wrong))
        init(self, **given)

    return told


type.__setattr__(Settings, "__init__", _told(Settings.__init__))

DEFAULTS: Final = Settings()


def load(path: str | Path | None = None, **arguments: Any) -> Settings:
    """The settings in force here. A file that is named must exist; otherwise `providers.yaml` is read if it exists."""
    written = {**_written(path), "the arguments": arguments}
    origins = {_setting(name): (place, name) for place, names in written.items() for name in names}
    values, wrong = dict[str, Any](), list[str]()
    for setting, (place, name) in origins.items():
        try:
            values[setting] = _read(setting, name, written[place][name])
        except ConfigError as error:
            wrong.append(f"{place}: {error}")
    if wrong:
        raise ConfigError("; ".join(wrong))
    try:
        return Settings(**values)
    except ConfigError as error:  # two settings do not go together: name them, and their places, as they were written
        named = {word: origins[word] for word in re.findall(r"\w+", str(error)) if word in origins}
        where = " and ".join(place for place in written if place in {place for place, _ in named.values()})
        says = re.sub(r"\w+", lambda word: named.get(word[0], ("", word[0]))[1], str(error))
        raise ConfigError(f"{where}: {says}") from None


def _read(setting: str, name: str, written: Any) -> Any:
    """The value of a setting, from what was written under one of its names; text that is a number becomes one."""
    from pydantic import TypeAdapter, ValidationError

    if setting not in _HINTS:
        raise ConfigError(_no_setting(name))
    if isinstance(written, bool):
        raise ConfigError(f"{name} is {_brief(written)}: yes or no is not a value here")
    none = isinstance(written, str) and written.lower() == "none"
    try:
        value = TypeAdapter[Any](_HINTS[setting]).validate_python(None if none else written)
    except ValidationError as error:
        raise ConfigError(f"{name} is {_brief(written)}: {in_words(error.errors()[0]['msg'])}") from None
    if why := _problem(setting, value):
        raise ConfigError(f"{name} is {_brief(written)}{why}")
    return value


def places() -> dict[str, dict[str, Any]]:
    """What is set in each place, by the names of the settings; later places override earlier ones."""
    written = _written(None).items()
    return {place: {_setting(name): value for name, value in values.items()} for place, values in written}


def _written(path: str | Path | None) -> dict[str, dict[str, Any]]:
    """What is set in each place, by the names that are written there."""
    try:
        from pydantic_settings import BaseSettings, DotEnvSettingsSource, EnvSettingsSource
    except ImportError as error:
        raise MissingExtra("pydantic-settings", "settings", "reading settings") from error
    try:
        dotenv = DotEnvSettingsSource(BaseSettings, env_file=".env").env_vars
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f".env can't be read: {error}") from error
    return {
        f"{path or FILE}, section {SECTION}": _section(path),
        ".env": _ours(dotenv),
        "the environment": _ours(EnvSettingsSource(BaseSettings).env_vars),
    }


def _ours(variables: Mapping[str, str | None]) -> dict[str, Any]:
    """The variables that are settings; of two names for one setting, the first."""
    found: dict[str, Any] = {}
    for knob in dataclasses.fields(Settings):
        if name := next((name for name in _env_names(knob) if variables.get(name.lower())), None):
            found[name] = variables[name.lower()]
    return found


def _env_names(knob: dataclasses.Field[Any]) -> list[str]:
    return [name for name in (PREFIX + knob.name.upper(), knob.metadata["env"]) if name]


_SETTING: Final = {
    name.lower(): knob.name for knob in dataclasses.fields(Settings) for name in (knob.name, *_env_names(knob))
}


def _setting(name: str) -> str:
    """The setting that a name stands for: its own name, or that of a variable."""
    return _SETTING.get(name.lower(), name)


def _section(path: str | Path | None) -> dict[str, Any]:
    file = Path(path or FILE)
    if path is None and not file.exists():
        return {}
    try:
        import yaml
    except ImportError as error:
        raise MissingExtra("pyyaml", "settings", f"reading {file}") from error
    try:
        content = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, ValueError, LookupError, AttributeError, RecursionError, yaml.YAMLError) as error:
        # no UTF-8, a number of 5,000 digits, a tag such as !!int that its value does not fit, …
        raise ConfigError(f"{file} can't be read: {error}") from error
    sections = _mapping(content, f"{file}")
    if SECTION not in sections and (ours := [name for name in sections if name.lower() in _SETTING]):
        raise ConfigError(f"{file}: {', '.join(ours)} must be in the section {SECTION}: indent them below `{SECTION}:`")
    return _mapping(sections.get(SECTION), f"{file}, section {SECTION}")


def _brief(value: Any) -> str:
    """A value as errors show it, shortened: a few lines of YAML can stand for a list of billions of items."""
    return reprlib.repr(value)[:200] if isinstance(value, (list, dict)) else repr(value)


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ConfigError(f"{where}: expected names with values, got {_brief(value)}")
    return value
