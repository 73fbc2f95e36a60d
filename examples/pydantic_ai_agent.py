"""A Pydantic AI agent that remembers: run it with `python examples/pydantic_ai_agent.py`. It needs no key.

The model is a function, so you can watch the rest at work: a tool is called, each request fits a budget, and what the
user said in spring is there in autumn.
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from recollect import Memory
from recollect.adapters.pydantic_ai import Remember


def model(messages, info):
    """Looks up trains to a city that it is told of, then says when they go."""
    asked = messages[-1].parts[-1]
    print(f"  the model is asked:\n    {str(asked.content).replace(chr(10), chr(10) + '    ')}")
    if isinstance(asked, ToolReturnPart):
        return ModelResponse([TextPart(f"There are trains {asked.content}.")])
    if "Which train" in asked.content and "Oslo" in asked.content:
        return ModelResponse([ToolCallPart("trains", {"city": "Oslo"}, "call_1")])
    return ModelResponse([TextPart("Noted.")])


def trains(city: str) -> str:
    """The next trains to a city."""
    return f"to {city} at 9:02, 11:02 and 13:02"


async def main(folder: Path) -> None:
    agent = Agent(FunctionModel(model), tools=[trains])
    with Memory.open(folder / "memory.db", embedder=None) as memory:
        for session, text in (
            ("spring", "My sister Nadia moved to Oslo in May."),
            ("autumn", "Which train takes me to my sister Nadia?"),
        ):
            print(f"{session}: {text}")
            remember = Remember(memory, user="ada", session=session, budget=2_000)
            result = await agent.run(text, capabilities=[remember])
            print(f"  answer: {result.output}\n")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
