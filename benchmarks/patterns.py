"""Patterns: which questions are taken for the same, and what an analysis of a long log costs.

The questions are in groups that mean the same; many groups are close neighbours ("export an invoice", "delete an
invoice"), which a user's real questions seldom are. A pair is two questions that were taken together.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from random import Random

from _report import Goal, arguments, publish, table

from recollect import embed
from recollect.embed.hashing import HashingEmbedder
from recollect.errors import ConfigError
from recollect.flow.patterns import clustered
from recollect.flow.tally import Tally
from recollect.layers.embedding import Embedding, job_for
from recollect.layers.procedural import Procedural, topic_words
from recollect.store import open as open_store
from recollect.tokens import estimate
from recollect.types import Message, Scope

USER = Scope("bench", "someone")
START = datetime(2024, 1, 1, tzinfo=UTC)
MODELS = ("onnx:e5-small-v2", "onnx:bge-small-en-v1.5")
SAME = """
How do I export an invoice? | How can I save a bill as PDF? | Can I download my invoices? | How can I export invoices?
How do I delete an invoice? | Can I remove a bill I made by mistake?
How do I reset my password? | I forgot my password, what now? | How can I change my login password?
How do I change my email address? | Can I use another email for my account?
What's the weather like tomorrow? | Will it rain tomorrow? | Do I need an umbrella tomorrow?
What should I cook for dinner tonight? | Any ideas for tonight's dinner? | What can I make for supper?
What should I eat for breakfast? | Got a quick breakfast idea?
How much protein is in an egg? | How many grams of protein does one egg have?
How many calories are in an egg? | What's the calorie count of a boiled egg?
How do I center a div? | What's the best way to center an element in CSS?
How do I undo the last git commit? | How can I revert my most recent commit? | How do I take back a git commit?
How do I merge two git branches? | What's the way to merge a branch into main?
How do I read a CSV file in Python? | What's the easiest way to load a CSV with pandas?
How do I write a CSV file in Python? | How can I save a dataframe to CSV?
What time is it in Tokyo? | What's the current time in Japan?
How far is Tokyo from Osaka? | What's the distance between Osaka and Tokyo?
When is my next appointment? | What's next on my calendar? | When do I have to be at my next meeting?
Can you move my meeting to Friday? | Could you reschedule the meeting for Friday?
How do I train for a marathon? | What's a good marathon training plan?
How do I treat sore muscles after a run? | What helps against muscle soreness after running?
Which running shoes should I buy? | What are good shoes for running?
How do I get my baby to sleep through the night? | Why won't my baby sleep at night?
How do I ask my boss for a raise? | How should I bring up a salary increase with my manager?
How do I write a cover letter? | What should be in a cover letter? | Can you help me with my cover letter?
How do I prepare for a job interview? | What should I do before an interview?
What is the status of my order? | Where is my package? | Has my order shipped yet?
How do I return an item? | Can I send back something I bought?
How do I cancel my subscription? | Can I stop my monthly plan?
Is the server down? | Why can't I reach the server?
How do I restart the server? | What's the command to reboot the server?
How do I plant tomatoes? | When should I put tomatoes in the ground?
Why are my tomato leaves turning yellow? | What makes tomato leaves go yellow?
How do I say thank you in Spanish? | What's Spanish for thanks?
How do I say good morning in Spanish? | What's good morning in Spanish?
What's a good book to read? | Can you recommend a novel? | Which book should I read next?
What movie should we watch tonight? | Any film recommendations for this evening?
How do I fix a flat bike tire? | How can I repair a puncture on my bicycle?
How do I clean my bike chain? | What's the best way to degrease a bicycle chain?
How much should I save for retirement? | What amount do I need to put aside for my pension?
How do I lower my taxes? | What can I deduct from my taxes?
Where is Nadia? | Do you know where Nadia is?
Where is Paul? | Have you seen Paul?
"""
GROUPS = [line.split(" | ") for line in SAME.strip().splitlines()]
ASKED = {question: n for n, group in enumerate(GROUPS) for question in group}


def pairs(model: str | None) -> tuple[int, int]:
    """How many pairs were taken together that mean the same, and how many that do not."""
    tally = Tally()
    for question in ASKED:
        tally.said(question, Message("user", question, id=question), None, topic_words)
    embedder = embed.open(model) if model else None
    texts = [f"user: {said.text}" for said in tally.questions.values()]
    meanings = dict(zip(tally.questions, embedder.embed(texts), strict=True)) if embedder else {}
    found = clustered(tally.questions, meanings)
    together = [pair for one in found for pair in combinations(sorted(one.sessions), 2)]
    right = sum(ASKED[one] == ASKED[other] for one, other in together)
    return right, len(together) - right


def costs(messages: int) -> tuple[float, float]:
    """CPU ms of the first analysis of a log and of the next, after a hundred short conversations more."""
    dice, vocabulary = Random(messages), [f"word{n}" for n in range(3_000)]

    def say(count: int, start: int) -> None:
        for session in range(start, start + count // 4):
            at, scope = START + timedelta(minutes=session), Scope("bench", "someone", f"s{session}")
            texts = [" ".join(dice.choices(vocabulary, k=dice.randint(4, 20))) for _ in range(4)]
            asked, said = Message("user", f"How is {texts[0]}?", at=at), Message("user", texts[2], at=at)
            answers = [Message("assistant", text, at=at) for text in texts[1::2]]
            store.log.append(scope, [asked, answers[0], said, answers[1]], jobs=[work])

    with tempfile.TemporaryDirectory() as folder, open_store(str(Path(folder, "p.db")), durability="normal") as store:
        embedder = HashingEmbedder(384)
        work = job_for(embedder.name)
        layer = Procedural(store, estimate, model=embedder.name)
        spent = []
        for count, start in ((messages, 0), (400, messages)):
            say(count, start)
            while jobs := store.jobs.claim((work.kind,), worker="bench", lease=3_600, limit=100):
                for job in jobs:
                    Embedding(store, embedder).learn(job)
            before = time.process_time()
            layer.patterns(USER)
            spent.append(1_000 * (time.process_time() - before))
        return spent[0], spent[1]


def installed(names: Iterable[str]) -> list[str]:
    found = []
    for name in names:
        try:
            embed.open(name)
        except ConfigError:
            continue
        found.append(name)
    return found


def main() -> int:
    args = arguments(__doc__ or "")
    wanted = sum(len(group) * (len(group) - 1) // 2 for group in GROUPS)
    found = {"words alone": pairs(None)} | {name: pairs(name) for name in installed(MODELS)}
    rows = [("", f"right, of {wanted}", "wrong", "precision")]
    rows += [(name, str(right), str(wrong), f"{right / (right + wrong):.2f}") for name, (right, wrong) in found.items()]
    sizes = (1_000,) if args.quick else (1_000, 10_000)
    times = {size: costs(size) for size in sizes}
    spent = [("messages", "first analysis, CPU ms", "after 400 more, CPU ms")]
    spent += [(f"{size:,}", f"{first:,.0f}", f"{again:,.0f}") for size, (first, again) in times.items()]
    text = f"{table(rows)}\n\nAnd what an analysis costs, every question with a vector:\n\n{table(spent)}"
    goals = [
        Goal(f"precision, {name}", right / (right + wrong), 0.75, at_least=True)
        for name, (right, wrong) in found.items()
    ]
    return publish("patterns", text, {"pairs": found, "ms": times}, goals, args)


if __name__ == "__main__":
    sys.exit(main())
