"""A LangChain agent that remembers: run it with `python examples/langgraph_agent.py`. It needs no key.

The model is scripted, so you can watch the rest at work: the thread is kept, each request fits a budget, and what the
user said in spring is there in autumn.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from recollect import Memory
from recollect.adapters.langgraph import RecollectMiddleware, RecollectSaver, RecollectStore


class Scripted(GenericFakeChatModel):
    """A model that says what it was given to say, and shows what it was asked."""

    def bind_tools(self, tools, **_):
        return self

    def _generate(self, messages, *args, **kwargs):
        print(f"  the model is asked:\n    {messages[-1].text.replace(chr(10), chr(10) + '    ')}")
        return super()._generate(messages, *args, **kwargs)


@tool
def trains(city: str) -> str:
    """The next trains to a city."""
    return f"to {city}: 9:02, 11:02, 13:02"


def main(folder: Path) -> None:
    model = Scripted(
        messages=iter(
            [
                AIMessage("Noted: Nadia lives in Oslo."),
                AIMessage("", tool_calls=[{"name": "trains", "args": {"city": "Oslo"}, "id": "call_1"}]),
                AIMessage("Take the 9:02 to Oslo."),
            ]
        )
    )
    with Memory.open(folder / "memory.db", embedder=None) as memory:
        agent = create_agent(
            model,
            [trains],
            middleware=[RecollectMiddleware(memory, user="ada", budget=2_000)],
            checkpointer=RecollectSaver(memory, user="ada"),
            store=RecollectStore(memory, user="ada"),
        )
        for thread, text in (
            ("spring", "My sister Nadia moved to Oslo in May."),
            ("autumn", "Which train takes me to my sister Nadia?"),
        ):
            print(f"{thread}: {text}")
            result = agent.invoke({"messages": [("user", text)]}, {"configurable": {"thread_id": thread}})
            print(f"  answer: {result['messages'][-1].text}\n")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        main(Path(folder))
