"""A plain OpenAI client that remembers: run it with `python examples/openai_client.py`. It needs no key.

The client is real and the model behind it is scripted. Point `OpenAI()` at a provider, and the rest stays as it is.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2
from openai import OpenAI

from recollect import Memory
from recollect.adapters.clients import remember


def scripted(request: httpx2.Request) -> httpx2.Response:
    """What the model says: whether it was told where Nadia lives."""
    asked = json.loads(request.content)["messages"][-1]["content"]
    print(f"  the model is asked:\n    {asked.replace(chr(10), chr(10) + '    ')}")
    text = "Take the train to Oslo." if "Oslo" in asked else "I don't know where she lives."
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return httpx2.Response(
        200,
        json={"id": "1", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]},
    )


def main(folder: Path) -> None:
    http_client = httpx2.Client(transport=httpx2.MockTransport(scripted))
    openai = OpenAI(api_key="none", http_client=http_client)
    with Memory.open(folder / "memory.db", embedder=None) as memory, openai:
        for session, text in (
            ("spring", "My sister Nadia moved to Oslo in May."),
            ("autumn", "How do I get to my sister Nadia?"),
        ):
            print(f"{session}: {text}")
            client = remember(openai, memory, user="ada", session=session, budget=2_000)
            answer = client.chat.completions.create(model="scripted", messages=[{"role": "user", "content": text}])
            print(f"  answer: {answer.choices[0].message.content}\n")


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        main(Path(folder))
