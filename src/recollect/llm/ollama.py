"""Ollama's own chat format. Ollama silently cuts a prompt that is too long, so that has to be noticed here."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any, ClassVar, Final, Literal

from recollect.errors import ContextOverflow
from recollect.flow.render import render
from recollect.flow.shapes.wire import arguments_object
from recollect.flow.shorten import unshown
from recollect.frozen import thaw
from recollect.llm.dialect import Ask, count, part, reply_of, shown, text
from recollect.llm.model import Delta, Reply, Usage
from recollect.tokens import count_messages, count_tools, estimate
from recollect.types import Image, Message, ToolCall

CONTEXT: Final = 8_192
"""The size of the context if the caller names none; a larger one takes more memory."""
FEWER: Final = 0.8
"""If the server saw a smaller share of the prompt than this, it was cut."""
_log = logging.getLogger("recollect.llm")


@dataclass(frozen=True, slots=True)
class Ollama:
    """The wire format; `context` is the size of the context that the server is asked for."""

    context: int = CONTEXT
    path: ClassVar[str] = "/api/chat"
    lines: ClassVar[Literal["events", "json"]] = "json"

    def body(self, ask: Ask) -> dict[str, Any]:
        """The request."""
        options = {"num_ctx": self.context}
        if ask.max_tokens is not None:
            options["num_predict"] = ask.max_tokens
        messages = [wire for message in ask.messages for wire in _write(message)]
        body: dict[str, Any] = {"model": ask.model, "messages": messages, "stream": ask.stream, "options": options}
        if ask.tools:
            body["tools"] = thaw(ask.tools)
        if ask.schema is not None:
            body["format"] = thaw(ask.schema)
        return body

    def read(self, data: Mapping[str, Any], ask: Ask) -> Reply:
        """The reply; raises ContextOverflow if the model did not see all of the prompt."""
        said = part(data, "message")
        made = said.get("tool_calls") if isinstance(said.get("tool_calls"), list) else []
        wire: dict[str, Any] = {"role": "assistant", "content": text(said.get("content")) or None}
        if thinking := text(said.get("thinking")):
            wire["reasoning"] = thinking
        if made:
            wire["tool_calls"] = [_call(call) for call in made]
        usage = Usage(count(data.get("prompt_eval_count")), count(data.get("eval_count")))
        self._check_seen(ask, usage.prompt)
        return reply_of(wire, "openai", text(data.get("done_reason")), usage, data)

    def pieces(self, ask: Ask) -> Lines:
        """Lines."""
        return Lines()

    def _check_seen(self, ask: Ask, seen: int) -> None:
        sent = count_messages([*map(_sendable, ask.messages)], estimate) + count_tools(ask.tools, estimate)
        if not seen or seen >= FEWER * sent:
            return
        problem = f"the model saw {seen} of about {sent} tokens of the prompt; the requested context was {self.context}"
        if sent > self.context:
            raise ContextOverflow(f"Ollama cut the prompt silently: {problem}", self.context)
        _log.warning("Ollama may have cut the prompt: %s", problem)


def _call(call: Any) -> dict[str, Any]:
    """A call in OpenAI's form, with a new id, as Ollama gives none."""
    function = part(call, "function")
    given = function.get("arguments")
    arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    named = {"name": function.get("name"), "arguments": arguments}
    return {"id": f"call_{token_hex(8)}", "type": "function", "function": named}


def _sendable(message: Message) -> Message:
    """The message with marks in place of files and of pictures that only have a URL: Ollama accepts neither."""
    if message.role not in ("user", "tool") or isinstance(message.content, str):
        return message
    sent = (part if isinstance(part, Image) and part.data else unshown(part) for part in message.parts)
    return message.replace(content=tuple(sent))


def _write(message: Message) -> list[dict[str, Any]]:
    """A message as Ollama takes it: plain text, pictures beside it, arguments as objects, no developer role."""
    out, message = list[dict[str, Any]](), _sendable(message)
    images = [part.data for part in message.parts if isinstance(part, Image) and part.data]
    for wire in render([message], "openai"):
        content = wire.get("content")
        plain = content if isinstance(content, str) else "\n".join(p.get("text", "") for p in content or ())
        role = message.role if message.role == "system" else wire["role"]
        fields: dict[str, Any] = {"role": role, "content": plain}
        if wire["role"] == "user" and images:
            fields["images"] = images
        if message.tool_calls:
            fields["tool_calls"] = [_written(call) for call in message.tool_calls]
        if wire["role"] == "tool" and wire.get("name"):
            fields["tool_name"] = wire["name"]
        out.append(fields)
    return out


def _written(call: ToolCall) -> dict[str, Any]:
    return {"function": {"name": call.name, "arguments": arguments_object(call)}}


@dataclass(slots=True)
class Lines:
    """Puts the lines of a stream together."""

    head: dict[str, Any] = field(default_factory=dict)
    said: dict[str, list[str]] = field(default_factory=lambda: {"content": [], "thinking": []})
    calls: list[Any] = field(default_factory=list)

    def add(self, piece: Mapping[str, Any]) -> Delta | None:
        """Take one line; what of it can be shown."""
        message = part(piece, "message")
        self.head = {key: value for key, value in piece.items() if key != "message"}
        for key, said in self.said.items():
            said.append(text(message.get(key)))
        if isinstance(made := message.get("tool_calls"), list):
            self.calls += made
        return shown(text(message.get("content")), text(message.get("thinking")))

    def done(self) -> None:
        """There is no end mark but the last line."""

    def whole(self) -> Mapping[str, Any] | None:
        """The reply, once it has ended."""
        if not self.head.get("done"):
            return None
        message = {key: "".join(said) for key, said in self.said.items()}
        return {**self.head, "message": {"role": "assistant", **message, "tool_calls": self.calls}}
