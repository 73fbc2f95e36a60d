"""An agent of the OpenAI Agents SDK that remembers: `python examples/openai_agents_session.py`. It needs no key.

Its model is Recollect's built-in answerer, which only quotes what memory put in front of it. Leave `model` out to use
the SDK's own. In autumn, the agent is asked about what it was told in spring.
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from agents import Agent, RunConfig, Runner
from agents.testing import ModelStep, ScriptedModel, assistant_message

from recollect import Memory, llm, parse
from recollect.adapters.openai_agents import RecollectSession

recall = llm.open("recall:")


def answer(call):
    """The built-in answerer as a step of the SDK's scripted model."""
    reply = recall.complete(parse(call.input, "openai-responses"))
    return [assistant_message(reply.text)]


async def main(folder: Path) -> None:
    agent = Agent(name="companion", instructions="Be brief.", model=ScriptedModel([ModelStep.respond(answer)] * 3))
    with Memory.open(folder / "memory.db", embedder=None) as memory:
        for name, text in (
            ("spring", "My sister Nadia moved to Oslo in May."),
            ("spring", "I am allergic to peanuts."),
            ("autumn", "Where does my sister Nadia live?"),
        ):
            session = RecollectSession(memory.session(name, user="ada"), budget=2_000)
            config = RunConfig(call_model_input_filter=session.fit_input, tracing_disabled=True)
            result = await Runner.run(agent, text, session=session, run_config=config)
            print(f"{name}: {text}\n  {result.final_output}")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
