"""Passages: is what only one part of a long message says found, beside the same with every message in one piece?

Sixteen facts, each in the midst of an answer of an assistant, among short talk that shares words with the questions.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from unittest.mock import patch

from _report import Goal, arguments, publish, table

from recollect import Memory, Message, embed
from recollect.errors import ConfigError
from recollect.flow import passages
from recollect.layers import columns, embedding

START = datetime(2026, 1, 1, tzinfo=UTC)
MODEL = "onnx:e5-small-v2"
CHARS = 10_000
RECALL, CONTEXT = 800, 3_000
FACTS = """
The Helsinki office closes on 14 February 2027. | When does the Helsinki office close? | 14 February 2027
The deploy failed with error code E-4471. | What was the error code of the deploy? | E-4471
The PIN of the safe is 7790. | What is the PIN of the safe? | 7790
Invoice 8841 of Brandt and Sons amounts to 12,480 euros. | How much was the invoice from Brandt? | 12,480
The warranty of the Miele dishwasher ends in March 2029. | How long is the dishwasher under warranty? | March 2029
Dr. Okonkwo settled on 40 mg of pantoprazole. | What dose of pantoprazole did the doctor settle on? | 40 mg
The staging database listens on port 54329. | Which port does the staging database use? | 54329
The train to Ljubljana leaves from platform 17. | From where does the train to Ljubljana leave? | platform 17
The sourdough needs a hydration of 78 percent. | What hydration does the sourdough need? | 78 percent
The wifi password of the cabin is otter-lantern-52. | What's the wifi password of the cabin? | otter-lantern-52
The panel voted for the tungsten alloy of Kuroda. | Which alloy did the panel vote for? | tungsten
Marta's visa appointment is in Lyon on 3 June. | Where is Marta's visa appointment? | Lyon
The memory leak came from the cursor in sync_ledger. | What caused the memory leak? | sync_ledger
The landlord wants the boiler inspected by Tveit. | Who should inspect the boiler? | Tveit
The target for churn is 2.3 percent. | What's our target for churn? | 2.3 percent
The code of the flight to Porto is QX7LMP. | What is the code of my flight to Porto? | QX7LMP
"""
TALK = """I close the shop at six. I made an error in my code. Is it safe to eat raw eggs? I got an invoice today.
The dishwasher is full again. My doctor says I should walk more. We had port wine. I train for a marathon.
I need a new pan. I forgot my password. Did you vote today? Do I need a visa? There is a leak under the sink.
The landlord was friendly. I missed my target. My flight was late."""
FILLER = """the old bridge; a garden behind the house; the second chapter; our neighbours; the weather there;
that recipe; the long meeting; a quiet street; the museum; her bicycle; the choir; his garage; the village; wet paint"""


def facts() -> Iterator[tuple[str, str, str]]:
    for line in FACTS.strip().splitlines():
        said, question, answer = line.split(" | ")
        yield said, question, answer


def long_text(said: str, dice: Random) -> str:
    """A text of many sentences with one that matters somewhere after its first quarter."""
    things = FILLER.replace("\n", " ").split("; ")
    sentences = [f"Then {dice.choice(things)} came up, and after a while {dice.choice(things)}." for _ in range(200)]
    sentences.insert(dice.randint(60, 140), said)
    return " ".join(sentences)[: CHARS + len(said)]


def found(model: str | None, whole: bool) -> tuple[int, int]:
    """How many of the answers are in what is recalled, and how many in a context."""
    dice, talk = Random(7), TALK.replace("\n", " ").replace("? ", "?. ").split(". ")
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        for module in (passages, columns, embedding) if whole else ():
            stack.enter_context(patch.object(module, "LONG", sys.maxsize))
        memory = stack.enter_context(Memory.open(Path(folder, "p.db"), embedder=model, durability="normal"))
        for n, (said, _, _) in enumerate(facts()):
            chat, at = memory.session(f"s{n}", user="ada"), START + timedelta(days=n)
            chat.add_many(Message("user", text, at=at) for text in dice.choices(talk, k=6))
            chat.add(Message("assistant", long_text(said, dice), at=at))
        memory.drain()
        user, now = memory.session("now", user="ada"), START + timedelta(days=60)
        asked = [(question, answer) for _, question, answer in facts()]
        recalled = sum(any(a in hit.text for hit in user.recall(q, RECALL, at=now)) for q, a in asked)
        return recalled, sum(a in user.context(q, budget=CONTEXT, at=now).memory for q, a in asked)


def main() -> int:
    args = arguments(__doc__ or "")
    models: dict[str, str | None] = {"words alone": None}
    try:
        embed.open(MODEL)
        models |= {} if args.quick else {MODEL: MODEL}
    except ConfigError:
        print(f"without {MODEL}: its weights are not here", file=sys.stderr)
    figures = {name: {whole: found(model, whole) for whole in (True, False)} for name, model in models.items()}
    count = len(list(facts()))
    rows = [("", f"recalled in {RECALL}, of {count}", f"in a context of {CONTEXT:,}")]
    goals = []
    for name, by in figures.items():
        rows += [
            (f"{name}, {how}", str(by[whole][0]), str(by[whole][1]))
            for how, whole in (("in one piece", True), ("by passages", False))
        ]
        goals.append(Goal(f"{name}: recalled, by passages", by[False][0], by[True][0], at_least=True, form="{:.0f}"))
    return publish("passages", table(rows), {"found": {n: by[False] for n, by in figures.items()}}, goals, args)


if __name__ == "__main__":
    sys.exit(main())
