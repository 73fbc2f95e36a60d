"""OpenAI's chat completions, which most servers offer: OpenAI, DeepSeek, vLLM, llama.cpp, LM Studio …"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, ClassVar, Final, Literal

from recollect.errors import BadReply
from recollect.flow.render import render
from recollect.frozen import thaw
from recollect.llm.dialect import Ask, count, part, reply_of, shown, text
from recollect.llm.model import Delta, Reply, Usage

ANSWER = "answer"
"""The name of a schema: the wire format demands one."""


@dataclass(frozen=True, slots=True)
class OpenAI:
    """The wire format. `limit_name` is the name of the field for `max_tokens`, which OpenAI has renamed.

    A server that accepts no JSON schema is asked for JSON, with the schema in the prompt.
    """

    limit_name: str = "max_tokens"
    schemas: bool = True
    path: ClassVar[str] = "/chat/completions"
    lines: ClassVar[Literal["events", "json"]] = "events"

    def body(self, ask: Ask) -> dict[str, Any]:
        """The request."""
        body: dict[str, Any] = {"model": ask.model, **render(ask.messages, "openai").request()}
        if ask.tools:
            body["tools"] = thaw(ask.tools)
        if ask.schema is not None:
            self._ask_for_json(body, thaw(ask.schema))
        if ask.max_tokens is not None:
            body[self.limit_name] = ask.max_tokens
        return {**body, "stream": True, "stream_options": {"include_usage": True}} if ask.stream else body

    def _ask_for_json(self, body: dict[str, Any], schema: dict[str, Any]) -> None:
        if self.schemas:
            named = {"name": ANSWER, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        else:
            says = f"Answer in JSON that fits this schema: {json.dumps(schema, ensure_ascii=False)}"
            body["messages"].insert(0, {"role": "system", "content": says})
            body["response_format"] = {"type": "json_object"}

    def read(self, data: Mapping[str, Any], ask: Ask) -> Reply:
        """The first choice."""
        choice = _first(data.get("choices"))
        if not choice:
            raise BadReply("the reply holds no choices: is this a chat completions server?")
        said, finish = part(choice, "message"), text(choice.get("finish_reason"))
        wire = {key: value for key, value in said.items() if value not in (None, [], "")}
        if refused := text(wire.pop("refusal", None)):
            wire, finish = {"content": refused}, "content_filter"
        message = {"role": "assistant", "content": None, **wire}
        return reply_of(message, "openai", finish, _usage(part(data, "usage")), data)

    def pieces(self, ask: Ask) -> Chunks:
        """Chunks."""
        return Chunks()


def _first(choices: Any) -> Mapping[str, Any]:
    """The first choice of a reply; an empty one if there is none."""
    found = choices if isinstance(choices, list) else []
    return next((choice for choice in found if isinstance(choice, Mapping) and not choice.get("index")), {})


def _usage(usage: Mapping[str, Any]) -> Usage:
    cached = part(usage, "prompt_tokens_details").get("cached_tokens", usage.get("prompt_cache_hit_tokens"))
    return Usage(count(usage.get("prompt_tokens")), count(usage.get("completion_tokens")), count(cached))


_WORDS: Final = ("content", "reasoning_content", "reasoning", "refusal")
_APART: Final = frozenset({*_WORDS, "role", "tool_calls"})
_ONCE: Final = frozenset({"id", "type"})
"""Fields that some servers repeat in each piece."""


def _joined(old: Any, new: Any) -> Any:
    """A value joined from pieces: text and lists end to end, objects field by field, for all else the latest value.

    A list that it made is made longer: a model may send tens of thousands of pieces.
    """
    if isinstance(new, Mapping):
        made = dict(old) if isinstance(old, Mapping) else {}
        for key, value in new.items():
            if value is not None and not (key in _ONCE and made.get(key)):
                made[key] = _joined(made.get(key), value)
        return made
    if isinstance(old, str) and isinstance(new, str):
        return old + new
    if not isinstance(new, list):
        return new
    made_list = old if isinstance(old, list) else []
    made_list += new
    return made_list


def _another(made: Mapping[str, Any], piece: Mapping[str, Any]) -> bool:
    """Whether a piece begins another call than the one at its index: some servers number every call 0."""
    named = text(part(piece, "function").get("name")) or text(part(piece, "custom").get("name"))
    return bool(named and piece.get("id") and made.get("id") not in (None, "", piece["id"]))


def _call(made: Mapping[str, Any]) -> dict[str, Any]:
    """A complete call, of a function or of a custom tool."""
    kind, said = ("custom", "input") if isinstance(made.get("custom"), Mapping) else ("function", "arguments")
    inside = part(made, kind)
    inside |= {key: text(inside.get(key)) for key in ("name", said)}
    return {**made, "id": text(made.get("id")), "type": kind, kind: inside}


def spoken(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message of an answer; if that is a recording, its transcript takes the place of the sound."""
    words = text(part(message, "audio").get("transcript"))
    if message.get("content") or not words:
        return message
    return {**{key: message[key] for key in message if key != "audio"}, "content": words}


@dataclass(slots=True)
class Chunks:
    """Puts the chunks of a stream together."""

    head: dict[str, Any] = field(default_factory=dict)
    said: dict[str, list[str]] = field(default_factory=dict)
    calls: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    finish: str | None = None

    def add(self, piece: Mapping[str, Any]) -> Delta | None:
        """Take one chunk; what of it can be shown."""
        self.head |= {key: value for key, value in piece.items() if key != "choices" and value is not None}
        choice = _first(piece.get("choices"))
        delta = part(choice, "delta")
        self.finish = text(choice.get("finish_reason")) or self.finish
        words = {key: said for key in _WORDS if (said := text(delta.get(key)))}
        for key, said in words.items():
            self.said.setdefault(key, []).append(said)
        for place, call in enumerate(delta.get("tool_calls") or ()):
            self._add_call(call, place)
        if more := {key: delta[key] for key in delta if key not in _APART}:
            self.more = _joined(self.more, more)
        return shown(words.get("content", ""), words.get("reasoning_content") or words.get("reasoning", ""))

    def _add_call(self, call: Mapping[str, Any], place: int) -> None:
        index = index if type(index := call.get("index")) is int else place
        made = next((made for at, made in reversed(self.calls) if at == index), None)
        if made is None or _another(made, call):
            self.calls.append((index, made := {}))
        made |= _joined(made, {key: call[key] for key in call if key != "index"})

    @property
    def words(self) -> str:
        """What was said or spoken so far."""
        return text(spoken({**self.more, "content": "".join(self.said.get("content", ()))}).get("content"))

    def done(self) -> None:
        """The end mark came."""
        self.finish = self.finish or "stop"

    def whole(self) -> Mapping[str, Any] | None:
        """The completion, once it has ended."""
        if self.finish is None:
            return None
        message: dict[str, Any] = {**self.more, **{key: "".join(said) for key, said in self.said.items()}}
        if self.calls:
            message["tool_calls"] = [_call(made) for _, made in sorted(self.calls, key=itemgetter(0))]
        return {**self.head, "choices": [{"index": 0, "message": message, "finish_reason": self.finish}]}
