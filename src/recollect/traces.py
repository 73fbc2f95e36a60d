"""Spans with OpenTelemetry's names for generative AI, for programs that trace: `span`.

A program that traces has loaded `opentelemetry` and set a provider, whose tracer is used; nothing needs to be
installed. A span never holds a word of a conversation or the name of a user.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final, TypeAlias

from recollect.types import Scope

ATTRIBUTES: Final = {
    "records": "gen_ai.memory.record.count",
    "model": "gen_ai.request.model",
    "answered_by": "gen_ai.response.model",
    "prompt": "gen_ai.usage.input_tokens",
    "completion": "gen_ai.usage.output_tokens",
    "cached": "gen_ai.usage.cache_read.input_tokens",
    "tokens": "recollect.context.tokens",
    "budget": "recollect.context.budget",
    "job": "recollect.job",
    "learned": "recollect.learned",
}
"""Our names for what a span can hold, and OpenTelemetry's."""

Note: TypeAlias = Callable[..., None]
"""Adds values to a span, by the names of `ATTRIBUTES`."""


def _untold(**noted: str | int) -> None:
    """The `Note` where nobody traces: does nothing."""


@contextmanager
def span(operation: str, scope: Scope | None = None, /, *, current: bool = True, **noted: str | int) -> Iterator[Note]:
    """Make a span of what is done in the block, with the tracer in use; `current=False` if other work interleaves.

    A `model` is 'provider:model'. The span has the type of an error but not its text, which may quote a message.
    """
    trace: Any = sys.modules.get("opentelemetry.trace")
    if not hasattr(trace, "use_span") or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        yield _untold  # not loaded, or not yet wholly; or loaded by a framework, with nobody tracing
        return
    provider, _, model = str(noted.get("model", "recollect")).partition(":")
    if model:
        noted["model"] = model
    about: dict[str, str | int] = {"gen_ai.operation.name": operation, "gen_ai.provider.name": provider}
    if scope:
        about["gen_ai.memory.store.id"] = scope.tenant
        if scope.session:
            about["gen_ai.conversation.id"] = scope.session
    made = trace.get_tracer("recollect").start_span(
        f"{operation} {noted['model']}" if "model" in noted else operation,
        kind=trace.SpanKind.CLIENT if "model" in noted else trace.SpanKind.INTERNAL,
        attributes=about,
    )

    def note(**noted: str | int) -> None:
        made.set_attributes({ATTRIBUTES[name]: value for name, value in noted.items()})

    note(**noted)
    try:
        with trace.use_span(made, record_exception=False, set_status_on_exception=False) if current else nullcontext():
            yield note
    except Exception as error:
        made.set_attribute("error.type", type(error).__name__)
        made.set_status(trace.StatusCode.ERROR)
        raise
    finally:
        made.end()
