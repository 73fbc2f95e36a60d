"""Pydantic AI: `Remember`, a capability that gives an agent a memory.

agent = Agent(model, capabilities=[Remember(memory, user="ada", session="trip")])
"""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from itertools import groupby
from typing import Any, Final, TypeAlias

from recollect.aio import done
from recollect.errors import ConfigError, MissingExtra
from recollect.flow.shapes.wire import Word, result_parts, words_of
from recollect.frozen import EMPTY, FrozenDict, thaw
from recollect.history import Asking, Histories, History, Sent
from recollect.llm.model import PARTIAL
from recollect.memory import Memory
from recollect.types import Image, Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult

try:
    from pydantic import TypeAdapter
    from pydantic_ai.capabilities.abstract import AbstractCapability, WrapRunHandler
    from pydantic_ai.exceptions import RetryModelRequest
    from pydantic_ai.messages import (
        BinaryContent,
        CachePoint,
        ImageUrl,
        ModelMessage,
        ModelRequest,
        ModelRequestPart,
        ModelResponse,
        ModelResponsePart,
        RetryFeedbackPart,
        SystemPromptPart,
        TextContent,
        TextPart,
        ThinkingPart,
        ToolCallPart,
        ToolReturnPart,
        UserContent,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.tools import RunContext
except ImportError as error:
    raise MissingExtra("pydantic-ai-slim", "pydantic-ai", "memory for Pydantic AI") from error

SHAPE: Final = "pydantic-ai"
Prompt: TypeAlias = str | Sequence[UserContent]
CONTENT: Final = TypeAdapter[UserContent](UserContent)


@dataclass
class Remember(AbstractCapability[Any]):
    """Keeps what is said, fits each request into a budget, and puts what memory knows in front of the question.

    The session is the one named here, else the run's `conversation_id`. Pass `message_history`, or only the new
    prompt: the session has the past. The run's own messages are not changed. Each model request has at most `budget`
    tokens; one that can't be met raises BudgetTooSmall.
    """

    memory: InitVar[Memory]
    user: InitVar[str]
    session: str | None = None
    tenant: InitVar[str] = "default"
    budget: InitVar[int | None] = None
    histories: Histories = field(init=False, repr=False)
    _asking: dict[str | None, Asking[list[ModelMessage]]] = field(init=False, repr=False, default_factory=dict)
    _again: dict[str | None, list[ModelMessage]] = field(init=False, repr=False, default_factory=dict)
    _running: dict[str | None, Sequence[ModelMessage]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self, memory: Memory, user: str, tenant: str, budget: int | None) -> None:
        self.histories = Histories(memory, user, tenant, budget)

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """The request with what fits, and with memory."""
        self._running[ctx.run_id] = ctx.messages
        messages = self._again.pop(ctx.run_id, None)
        if messages is None:
            asking = self._asking[ctx.run_id] = _asking(self._history(ctx), request_context, ctx.prompt)
            messages = await asyncio.to_thread(asking.first)
        return replace(request_context, messages=messages)

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Ask again with less where the model says that its context overflowed, or without what it refused."""
        if ctx.run_id not in self._asking:
            raise error
        self._again[ctx.run_id] = await asyncio.to_thread(self._asking[ctx.run_id].after, error)
        raise RetryModelRequest from error

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Keep the response, and return it."""
        await self._keep(ctx, *_heard(response))
        return response

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Keep what the last calls of the run returned, as that of a structured output does; returns the result."""
        last = result.all_messages()[-1]
        if isinstance(last, ModelRequest):
            await self._keep(ctx, *(piece.message for piece in _pieces(0, last)))
        return result

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Run; keep what was streamed before an error or a cancellation cut it short."""
        try:
            return await handler()
        except BaseException:
            last = next(reversed(self._running.get(ctx.run_id, ())), None)
            if isinstance(last, ModelResponse) and last.state == "interrupted":
                await self._keep(ctx, *_heard(last))
            raise
        finally:
            for of_run in (self._running, self._asking, self._again):
                of_run.pop(ctx.run_id, None)

    async def _keep(self, ctx: RunContext[Any], *messages: Message) -> None:
        if asking := self._asking.get(ctx.run_id):
            await done(asking.keep, *messages)

    def _history(self, ctx: RunContext[Any]) -> History:
        name = self.session or ctx.conversation_id
        if name is None:
            raise ConfigError("the run has no conversation: pass Remember(…, session='a name'), or conversation_id")
        return self.histories.of(name)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part or some of a message, as one of ours: the place of the message, its parts, and what they say."""

    place: int
    native: ModelMessage
    parts: Sequence[Any]
    message: Message


def _asking(history: History, request: ModelRequestContext, prompt: Prompt | None) -> Asking[list[ModelMessage]]:
    """What a request asks, with what fits and with memory."""
    parameters = request.model_request_parameters
    pieces = [piece for place, message in enumerate(request.messages) for piece in _pieces(place, message, prompt)]
    instructions = "\n\n".join(part.content for part in parameters.instruction_parts or ())
    system = [Message("system", instructions)] if instructions else []

    def made(sent: Sequence[Sent]) -> list[ModelMessage]:
        return list(_natives(sent[len(system) :], pieces, len(system)))

    return Asking(history, [*system, *(piece.message for piece in pieces)], _tools(parameters), made)


def _natives(sent: Sequence[Sent], pieces: Sequence[_Piece], skipped: int) -> Iterator[ModelMessage]:
    """What is sent as Pydantic AI's messages: pieces of one message together, those from memory alone new."""

    def home(line: Sent) -> int:
        return -1 if line.place is None else pieces[line.place - skipped].place

    for place, lines in groupby(sent, home):
        if place < 0:
            for line in lines:
                yield to_pydantic(line.message)
            continue
        found = [(line, pieces[(line.place or 0) - skipped]) for line in lines]
        parts = [part for line, piece in found for part in _parts(line, piece)]
        yield _with_parts(found[0][1].native, parts)


def _with_parts(message: ModelMessage, parts: list[Any]) -> ModelMessage:
    if list(message.parts) == parts:
        return message
    fields: dict[str, Any] = {"parts": parts}
    return replace(message, **fields)


def _parts(line: Sent, piece: _Piece) -> Sequence[Any]:
    """The parts of a piece, with the content that they now have."""
    if not line.changed:
        return piece.parts
    if isinstance(piece.native, ModelResponse):
        return _reworded(piece.parts, piece.message, line.message) or to_pydantic(line.message).parts
    before = piece.message.tool_results
    results = {result.call_id: result for result in line.message.tool_results if result not in before}
    changed: list[Any] = []
    for part in piece.parts:
        if isinstance(part, ToolReturnPart) and part.tool_call_id in results:
            changed.append(replace(part, content=_returned(results[part.tool_call_id])))
        elif isinstance(part, UserPromptPart) and not isinstance(part.content, str):
            items = _reworded(part.content, piece.message, line.message)
            changed += [replace(part, content=items)] if items else to_pydantic(line.message).parts
        elif isinstance(part, (UserPromptPart, RetryFeedbackPart)):
            changed.append(UserPromptPart(line.message.text, timestamp=part.timestamp))
        else:
            changed.append(part)
    return changed


def _reworded(natives: Sequence[Any], before: Message, now: Message) -> list[Any]:
    """Parts or items with the words that they now have, memory in front of them; none where they are not the same."""
    more = len(now.parts) - len(before.parts)
    if more not in (0, 1):
        return []
    front = [part.text for part in now.parts[:more] if isinstance(part, Text)]
    pairs = zip(natives, before.parts, now.parts[more:], strict=True)
    return [*front, *(_with_words(native, part) if part != was else native for native, was, part in pairs)]


def _with_words(native: Any, part: Part) -> Any:
    if not isinstance(part, Text):
        return native
    return replace(native, content=part.text) if isinstance(native, (TextPart, TextContent)) else part.text


def _pieces(place: int, message: ModelMessage, prompt: Prompt | None = None) -> Iterator[_Piece]:
    """The message in pieces of one speaker each; what follows the returns of tools is theirs, but for the prompt.

    Each return is one: those that come later, as after an approval, stand in the same message from then on.
    """
    if isinstance(message, ModelResponse):
        yield _Piece(place, message, message.parts, _answer(message))
        return
    groups: list[list[Any]] = []
    for part in message.parts:
        if groups and not _spoken(part):
            groups[-1].append(part)
        else:
            groups.append([part])
    role: Role = "user"
    for group in groups:
        asked = isinstance(group[0], UserPromptPart) and group[0].content == prompt
        yield _Piece(place, message, group, _request(group, "user" if asked else role))
        role = "tool" if isinstance(group[0], ToolReturnPart) else role


def _spoken(part: ModelRequestPart) -> bool:
    return isinstance(part, (SystemPromptPart, UserPromptPart, ToolReturnPart, RetryFeedbackPart))


def _request(parts: Sequence[Any], role: Role) -> Message:
    first = parts[0]
    if isinstance(first, ToolReturnPart):
        return Message("tool", (_result(first),))
    if isinstance(first, SystemPromptPart):
        return Message("system", first.content)
    if isinstance(first, UserPromptPart):
        content = first.content
        return Message(role, content if isinstance(content, str) else tuple(_content(item) for item in content))
    if isinstance(first, RetryFeedbackPart):
        return Message("user", first.model_response(), name="validation")
    return Message("system", "")


def _result(part: ToolReturnPart[Any]) -> ToolResult:
    files = part.files and tuple(_content(item) for item in part.content_items(mode="str"))
    return ToolResult(part.tool_call_id, files or part.model_response_str(), part.outcome != "success", part.tool_name)


def _content(item: UserContent) -> Word:
    if isinstance(item, str):
        return Text(item)
    if isinstance(item, TextContent):
        return Text(item.content)
    if isinstance(item, ImageUrl):
        return Image(url=item.url)
    if isinstance(item, BinaryContent) and item.is_image:
        return Image(data=b64encode(item.data).decode(), media_type=item.media_type)
    return _opaque(item) if isinstance(item, CachePoint) else Opaque(SHAPE, CONTENT.dump_python(item, mode="json"))


def _answer(response: ModelResponse) -> Message:
    """What the model said, thought and called; marked as partial where the caller left before its end."""
    metadata = EMPTY if response.state == "complete" else PARTIAL
    return Message("assistant", tuple(_said(part) for part in response.parts), metadata=metadata)


def _heard(response: ModelResponse) -> list[Message]:
    """What is kept of an answer: of one that broke off no calls, which nobody answers."""
    message = _answer(response)
    if message.metadata == PARTIAL:
        message = message.replace(content=tuple(part for part in message.parts if not isinstance(part, ToolCall)))
    return [message] if message.parts else []


def _said(part: ModelResponsePart) -> Part:
    if isinstance(part, TextPart):
        return Text(part.content)
    if isinstance(part, ThinkingPart):
        return Thinking(part.content, part.signature)
    if isinstance(part, ToolCallPart):
        return ToolCall(part.tool_call_id, part.tool_name, part.args_as_json_str())
    return _opaque(part)


def _opaque(value: Any) -> Opaque:
    """A part that is counted by its kind alone, and sent as it was given."""
    kind = getattr(value, "part_kind", None) or getattr(value, "kind", "unknown")
    return Opaque(SHAPE, FrozenDict({"kind": kind}))


def to_pydantic(message: Message) -> ModelMessage:
    """A kept message as Pydantic AI's; what was thought is left out, for it can't be sent to another provider."""
    if message.role == "assistant":
        calls = [ToolCallPart(call.name, call.arguments, call.id) for call in message.tool_calls]
        return ModelResponse([*([TextPart(message.text)] if message.text else []), *calls])
    if message.role == "system":
        return ModelRequest([SystemPromptPart(message.text)])
    returns = [ToolReturnPart(r.name or "tool", _returned(r), r.call_id) for r in message.tool_results]
    words = message.content if isinstance(message.content, str) else _items(words_of(message.content))
    return ModelRequest([*returns, *([UserPromptPart(words)] if words or not returns else ())])


def _returned(result: ToolResult) -> str | list[UserContent]:
    """What a tool returned: its words, or a list where files are among them."""
    items = _items(result_parts(result))
    words = [item for item in items if isinstance(item, str)]
    return "\n".join(words) if len(words) == len(items) else items


def _items(parts: Sequence[Part]) -> list[UserContent]:
    return [item for part in parts if (item := _item(part)) is not None]


def _item(part: Part) -> UserContent | None:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Image) and part.url:
        return ImageUrl(part.url)
    if isinstance(part, Image) and part.data:
        return BinaryContent(b64decode(part.data), media_type=part.media_type or "image/png")
    return _file(part) if isinstance(part, Opaque) else None


def _file(part: Opaque) -> UserContent | None:
    """What a user showed beside words and pictures; a mark for what another SDK was given and for bytes not kept."""
    if part.shape != SHAPE or (part.data.get("kind") == "binary" and "data" not in part.data):
        return f"[a file that is not shown: {part.data.get('media_type') or part.data.get('type') or 'unknown'}]"
    return None if part.data.get("kind") == "cache-point" else CONTENT.validate_python(thaw(part.data))


def _tools(parameters: ModelRequestParameters) -> list[Mapping[str, Any]]:
    """The schemas that go along with a request."""
    return [
        {"name": tool.name, "description": tool.description or "", "parameters": tool.parameters_json_schema}
        for tool in (*parameters.function_tools, *parameters.output_tools)
    ]
