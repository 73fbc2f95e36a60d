"""Documents: is the right passage found, and is nothing found where there is nothing?

The documents are the topics of Python's own language reference, which comes with every Python. Questions about them
name the topics that answer them; other questions have no answer there.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from pydoc_data.topics import topics

from _report import Goal, arguments, publish, table

from recollect import embed
from recollect.embed import Embedder, Reranker
from recollect.embed.cached import CachedEmbedder
from recollect.errors import ConfigError
from recollect.layers.documents import Documents
from recollect.layers.embedding import Embedding, job_for
from recollect.settings import Settings
from recollect.store import open as open_store
from recollect.tokens import estimate
from recollect.types import Scope

USER = Scope("bench", "someone")
SEARCHED = Settings(documents_search_k=13)
ABOUT = {
    "How do I make sure a file is closed when a block ends?": "with context-managers",
    "What happens if the condition of an assertion is false?": "assert",
    "How can I leave a loop early?": "break",
    "How do I skip to the next round of a loop?": "continue",
    "How do I write an anonymous function?": "lambda",
    "Which values count as false?": "truth",
    "How do I catch several exceptions in one clause?": "try exceptions",
    "How do I rethrow the exception being handled?": "raise",
    "What does the double star operator do and how tightly does it bind?": "power operator-summary",
    "How do I define a coroutine?": "async await",
    "How do default parameter values get evaluated?": "function",
    "How are metaclasses chosen?": "customization",
    "Which methods does a mutable list have?": "typesseq-mutable typesseq",
    "How do I format a number with thousands separators?": "formatstrings",
    "How can I split a text by commas?": "string-methods",
    "What is a raw string literal?": "strings",
    "How do I set a breakpoint in pdb?": "debugger",
    "How do I change a variable of the enclosing function from an inner one?": "nonlocal",
    "How do I write to a module level variable inside a function?": "global",
    "How does a relative import work?": "import",
    "How do I remove a key from a dictionary?": "del typesmapping dict",
    "What is the order of evaluation of operators?": "operator-summary exprlists execmodel",
    "How do I make an object callable?": "callable-types specialnames customization",
    "How are class private names mangled?": "id-classes atom-identifiers",
    "How does slicing with a step work?": "slicings typesseq sequence-types",
    "How do I delegate to a subgenerator?": "yield",
    "What does chained comparison mean?": "comparisons",
    "How do I write a complex number?": "imaginary numbers",
    "How do I shift bits to the left?": "shifting bitwise integers",
    "How do I stop garbage collection from calling __del__?": "customization specialnames objects",
    "How do I unpack a list into call arguments?": "calls",
    "How do I annotate a variable?": "assignment",
    "What is the ellipsis object?": "bltin-ellipsis-object",
    "How do I tell which attributes an instance has?": "specialattrs attribute-access types",
    "How do I compare two objects for identity?": "comparisons in",
    "Can hexadecimal integers have underscores?": "integers",
}
OTHER = (
    "How long do I boil an egg?",
    "What is the capital of Norway?",
    "Which vaccines does a puppy need?",
    "When does the train to Bergen leave?",
    "How do I get red wine out of a carpet?",
    "Who won the football match last night?",
    "What should I cook for eight guests?",
    "How much does a visa for Japan cost?",
    "What is a good present for my mother?",
    "How do I prune roses?",
    "Is it safe to take ibuprofen with alcohol?",
    "What is the plot of Hamlet?",
    "How far is the moon?",
    "Can you recommend a hotel in Lisbon?",
    "How do I ask my boss for a raise?",
    "What was my blood pressure last week?",
    "How do I plan a wedding budget?",
    "Which guitar strings are best for beginners?",
    "Why is my cat sneezing?",
    "What's the weather in Paris?",
    "How do I train for a marathon?",
    "When is Theo's birthday?",
    "Where did my sister move?",
    "How do interest rates affect mortgages?",
    "What are symptoms of the flu?",
    "Which wine goes with salmon?",
    "How do I descale a coffee machine?",
    "Who painted the Mona Lisa?",
    "How do I change a bicycle tyre?",
    "What is the best season to visit Iceland?",
    "How do I knit a scarf?",
    "What is in our refund policy?",
    "Summarise our last meeting",
    "Tell me a joke",
    "What is the tallest mountain?",
    "How many calories does an apple have?",
)


def filled(documents: Documents, embedder: Embedder | None) -> float:
    """The reference in the store; the seconds of CPU it took."""
    start = time.process_time()
    for name, text in topics.items():
        documents.add(USER, text, name=name)
    while embedder and (
        jobs := documents.store.jobs.claim((job_for(embedder.name).kind,), worker="bench", lease=3_600)
    ):
        Embedding(documents.store, embedder).learn(jobs[0])
    return time.process_time() - start


def measure(documents: Documents) -> dict[str, float]:
    """Shares of questions, and the ms of CPU that an offer takes when the question's vector is known."""
    if documents.embedder:
        documents.embedder.embed([*ABOUT, *OTHER], kind="query")
    right = passed = 0
    times = []
    for question, answers in ABOUT.items():
        start = time.process_time()
        offered = documents.offer(USER, question)
        times.append(1_000 * (time.process_time() - start))
        topics_in = [_topic(one.origin) for one in offered if not one.out]
        topics_near = [_topic(one.origin) for one in offered if not one.out.startswith("below")]
        right += not set(answers.split()).isdisjoint(topics_in)
        passed += not set(answers.split()).isdisjoint(topics_near)
    noise = sum(any(not one.out for one in documents.offer(USER, question)) for question in OTHER)
    return {
        "right topic among the 3": right / len(ABOUT),
        "passes the threshold": passed / len(ABOUT),
        "something for an unrelated question": noise / len(OTHER),
        "ms": statistics.median(times),
    }


def _topic(origin: str) -> str:
    return origin.removeprefix("document ").split(" \u203a ")[0]


def main() -> int:
    args = arguments(__doc__ or "")
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder, open_store(str(Path(folder, "d.db")), durability="normal") as store:
        filled(Documents(store, estimate), None)
        found["words alone"] = measure(Documents(store, estimate, settings=SEARCHED))
    embedder, reranker = _models()
    if embedder and not args.quick:
        with (
            tempfile.TemporaryDirectory() as folder,
            open_store(str(Path(folder, "d.db")), durability="normal") as store,
        ):
            known = CachedEmbedder(embedder)
            filled(Documents(store, estimate, embedder), embedder)
            found[embedder.name] = measure(Documents(store, estimate, known, settings=SEARCHED))
            if reranker:
                found[f"{embedder.name}, re-ranked"] = measure(
                    Documents(store, estimate, known, reranker, settings=SEARCHED)
                )
    heads = list(found["words alone"])
    rows = [("", *heads), *((name, *(_shown(head, one[head]) for head in heads)) for name, one in found.items())]
    goals = [Goal(f"{name}: noise", one[heads[2]], 0.1, form="{:.1%}") for name, one in found.items()]
    return publish("documents", table(rows), found, goals, args)


def _models() -> tuple[Embedder | None, Reranker | None]:
    try:
        return embed.open("auto"), embed.open_reranker()
    except ConfigError:
        return embed.open("auto"), None


def _shown(head: str, value: float) -> str:
    return f"{value:.1f}" if head == "ms" else f"{value:.1%}"


if __name__ == "__main__":
    sys.exit(main())
