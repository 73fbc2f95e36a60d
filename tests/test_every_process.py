"""The same words give the same in every process, in whatever order its sets are read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
CODE = """
import sys

from recollect import Memory, Message, estimate
from recollect.flow.chunk import chunks
from recollect.flow.facts import extract
from recollect.llm.recall import answer
from tests.facts.scores import SAID, SETS, utterances
from tests.tokens.token_samples import texts

told = [one.text for path in SETS.values() for one in utterances(path)]
print([extract(text, SAID) for text in told])
for text in texts().values():
    print(estimate(text), chunks(text, estimate))
two = [Message("user", "The trial is on Monday."), Message("user", "The trail is muddy.")]
print(answer([*two, Message("user", "Where is the tiral?")]))
with Memory.open(sys.argv[1], embedder="hash:64") as memory:
    chat = memory.session("trip", user="ada")
    for n, text in enumerate(told[::8]):
        chat.add_many([Message("user", text, f"u{n}", SAID), Message("assistant", "I see. " * (n % 20), f"a{n}", SAID)])
    chat.documents.add("\\n\\n".join(told), name="told", at=SAID)
    memory.drain()
    print(chat.facts(), chat.patterns(), chat.summary())
    for question in told[::80]:
        context = memory.session("later", user="ada").context(question, 2_000, at=SAID)
        print(context.prompt, context.receipt)
"""


def test_the_same_words_give_the_same(tmp_path: Path) -> None:
    def said(seed: str) -> str:
        env = {**os.environ, "PYTHONHASHSEED": seed}
        run = subprocess.run(
            [sys.executable, "-c", CODE, str(tmp_path / f"{seed}.db")],
            cwd=ROOT, env=env, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return run.stdout

    one, other = said("1"), said("2")
    assert "> user: The trail is muddy." in one
    assert one == other
