"""A Strands agent that remembers: run it with `python examples/strands_agent.py`. It needs no key.

Its model is Recollect's built-in answerer, which only quotes what memory put in front of it. Use any model of the SDK
instead, such as `BedrockModel()`. In autumn, the agent is asked about what it was told in spring.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from strands import Agent
from strands.models.model import Model

from recollect import Memory, llm, parse
from recollect.adapters.strands import with_memory


class Recall(Model):
    """The built-in answerer as a model of the SDK."""

    def __init__(self):
        self.answerer = llm.open("recall:")

    async def stream(self, messages, tool_specs=None, system_prompt=None, **_):
        yield {"messageStart": {"role": "assistant"}}
        for delta in self.answerer.stream(parse(messages, "bedrock")):
            yield {"contentBlockDelta": {"delta": {"text": delta.text}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}

    def get_config(self):
        return {}

    def update_config(self, **_):
        raise NotImplementedError

    def structured_output(self, *_, **__):
        raise NotImplementedError


def main(folder: Path) -> None:
    with Memory.open(folder / "memory.db", embedder=None) as memory:
        for session, text in (
            ("spring", "My sister Nadia moved to Oslo in May."),
            ("spring", "I am allergic to peanuts."),
            ("autumn", "Where does my sister Nadia live?"),
        ):
            # A new agent each time, as in a service: everything it knows is in the file.
            agent = Agent(
                model=Recall(), callback_handler=None, **with_memory(memory.session(session, user="ada"), budget=2_000)
            )
            print(f"{session}: {text}\n  {agent(text)}")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        main(Path(folder))
