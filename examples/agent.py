"""An agent with tools and a memory. Every step is kept, so the agent carries on after a kill.

RECOLLECT_MODEL names the model (openai:gpt-4o-mini with OPENAI_API_KEY, or any server by OPENAI_BASE_URL;
anthropic:…; ollama:…). Run it twice with the same file: the second time it knows what was said the first time.

    python examples/agent.py memory.db "What is 12 * 31, and what time is it in Oslo?"

Without arguments it asks a sample question, in a temporary file. Without a model it quotes what it was told.
"""

from __future__ import annotations

import ast
import json
import operator
import os
import sys
from collections.abc import Callable
from datetime import datetime
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfo

from recollect import BudgetTooSmall, Memory, Message, Session, ToolResult, complete_fitting, llm
from recollect.errors import ContextOverflow

SYSTEM = "You are a careful assistant. Use the tools when they help, then answer in one sentence."
MOST_STEPS = 20
REPLY = 1_000  # tokens of the budget kept free for the answer
TOO_LONG = "That is too long for me to read at once: send it in parts."
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def calculate(expression: str) -> str:
    """The value of an arithmetic expression."""

    def value(node: ast.expr) -> float:
        match node:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.BinOp(left, op, right) if type(op) in OPERATORS:
                return float(OPERATORS[type(op)](value(left), value(right)))
        raise ValueError("only numbers and + - * / can be calculated")

    return f"{value(ast.parse(expression, mode='eval').body):g}"


def clock(city: str) -> str:
    """The time in a city of Europe."""
    return f"{datetime.now(ZoneInfo(f'Europe/{city}')):%H:%M}"


TOOLS: dict[str, Callable[..., str]] = {"calculate": calculate, "clock": clock}
SCHEMAS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": tool.__doc__,
            "parameters": {
                "type": "object",
                "properties": {argument: {"type": "string"}},
                "required": [argument],
            },
        },
    }
    for (name, tool), argument in zip(TOOLS.items(), ("expression", "city"), strict=True)
]


def run(chat: Session, model: llm.ChatModel, budget: int = 8_000, step: Callable[[], None] = lambda: None) -> str:
    """The answer to the last user message. `step` is called each time something was kept."""
    for _ in range(MOST_STEPS):
        answer_open_calls(chat, step)
        try:
            context = chat.context(None, budget - REPLY, system=SYSTEM, tools=SCHEMAS)
            # If the model's context turns out to be smaller than expected, ask again with less.
            said = complete_fitting(model, context.prompt, tools=SCHEMAS, max_tokens=REPLY).reply.message
        except (BudgetTooSmall, ContextOverflow):
            said = Message("assistant", TOO_LONG)  # kept as the answer: a question without one would be asked again
        chat.add(said)
        step()
        if not said.tool_calls:
            return said.text
    return "I could not finish in time."


def answer_open_calls(chat: Session, step: Callable[[], None]) -> None:
    """Run the calls that have no result yet, including those a killed process left behind."""
    done: set[str] = set()
    for message in reversed(chat.history(limit=50)):
        done.update(result.call_id for result in message.tool_results)
        if message.role == "user":
            return
        for call in message.tool_calls:
            if call.id not in done:
                chat.add(Message("tool", (called(call.id, call.name, call.arguments),)))
                step()


def called(id: str, name: str, arguments: str) -> ToolResult:
    """What a tool says; its failure is an answer too."""
    try:
        return ToolResult(id, TOOLS[name](**json.loads(arguments)), name=name)
    except Exception as error:
        return ToolResult(id, f"{type(error).__name__}: {error}", is_error=True, name=name)


def unanswered(chat: Session) -> bool:
    """Whether a question was left without an answer."""
    last = chat.history(limit=1)
    return bool(last) and not (last[0].role == "assistant" and not last[0].tool_calls)


def main(file: str, question: str, **more: Any) -> str:
    """Ask a question. If an earlier one was left without an answer, it is answered first."""
    model = llm.open(os.environ.get("RECOLLECT_MODEL", "recall:"))
    with Memory.open(file, embedder=os.environ.get("RECOLLECT_EMBEDDER", "auto")) as memory:
        chat = memory.session("agent", user=os.environ.get("USER", "me"))
        if unanswered(chat):
            print(run(chat, model, **more))
        chat.add("user", question)
        return run(chat, model, **more)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(main(*sys.argv[1:]))
    else:
        with TemporaryDirectory() as folder:
            print(main(f"{folder}/memory.db", "What is 12 * 31?"))
