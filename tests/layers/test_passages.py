"""What only a part of a long message says is found, and quoted, without the rest of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
import pytest

from recollect import Memory, Message, Scope, Settings
from recollect.embed import Kind
from recollect.flow.pack import CUT
from recollect.flow.passages import SIZE, passages
from recollect.layers.columns import PASSAGE
from recollect.layers.embedding import KINDS, MOST, Embedding, job_for
from recollect.layers.ranking import Asked
from recollect.store import Filter, Store

NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)
NOTES = "".join(f"On day {n} we walked along the harbour of Lisbon and had some soup. " for n in range(100))
AT = 80 * len(NOTES) // 100
LONG = f"{NOTES[:AT]}The zebra sleeps in a barn. {NOTES[AT:]}"
TRIP = Scope("default", "ada", "trip")


class Animals:
    """A model that reads the start of a text, and tells animals from the rest."""

    name, dimension = "animals", 2

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> npt.NDArray[np.float32]:
        near = [any(word in text[: SIZE + 50] for word in ("zebra", "striped horse")) for text in texts]
        return np.array([(1, 0) if one else (0, 1) for one in near], np.float32).reshape(-1, 2)


ANIMALS = Animals()


def said(memory: Memory, *more: str) -> None:
    """A conversation with the long message among short ones."""
    for n in range(20):
        memory.session("trip", user="ada").add(Message("user", f"On walk {n} it rained.", at=NOON + timedelta(hours=n)))
    for n, text in enumerate((LONG, *more)):
        memory.session("trip", user="ada").add(Message("user", text, f"long {n}", NOON + timedelta(days=1)))
    memory.drain()


def passages_of(store: Store, scope: Scope = TRIP) -> set[str]:
    """The ids of the passages that have a vector."""
    found = store.index.nearest(scope, np.array([1, 0], np.float32), ANIMALS.name, 1_000, where=Filter((PASSAGE,)))
    return {match.id for match in found}


def test_recall_quotes_the_passage_that_answers_and_marks_what_is_cut(store: Store) -> None:
    with Memory(store, embedder=None) as memory:
        said(memory)
        (hit,) = memory.user("ada").recall("Where does the zebra sleep?", k=1)
        assert hit.message_ids == ("long 0",)
        _, line = hit.text.split("\n", 1)
        assert line.startswith(f"user: {CUT} ")
        assert line.endswith(f" {CUT}")
        assert "The zebra sleeps in a barn." in line
        assert len(line) < 2 * SIZE


def test_passages_of_one_message_are_quoted_in_its_order_and_name_it_once(store: Store) -> None:
    with Memory(store, embedder=None) as memory:
        said(memory, f"{NOTES}A zebra has stripes.\n{NOTES}The zebra, the very zebra, is called Zoe.")
        hits = memory.user("ada").recall("the zebra called Zoe with stripes", budget=2_000)
        (hit,) = [hit for hit in hits if "long 1" in hit.message_ids]
        assert len(hit.message_ids) == len(set(hit.message_ids))
        assert 0 < hit.text.index("has stripes") < hit.text.index("called Zoe")


def test_passages_that_follow_one_another_are_one_quote_in_a_context(store: Store) -> None:
    zebras = "".join(f"Zebra number {n} sleeps in barn {n}. " for n in range(40))
    text = f"{NOTES}{zebras}{NOTES}"
    with Memory(store, embedder=None, settings=Settings(episodic_tokens=None, memory_tokens=None)) as memory:
        said(memory, text)
        context = memory.session("now", user="ada").context("Where does a zebra sleep, in which barn?", 1_200)
        (line,) = [line for line in context.receipt.lines if line.section == "episodic" and line.shown]
        (quote,) = [one for one in line.text.split("\n") if "number" in one]
        assert zebras in quote
        assert context.tokens == context.receipt.overhead + sum(line.shown for line in context.receipt.lines)
        assert context.tokens <= 1_200


def test_search_finds_a_long_message_once_and_whole(store: Store) -> None:
    with Memory(store, embedder=None) as memory:
        said(memory)
        hits = [hit for hit in memory.user("ada").search("zebra harbour Lisbon", k=10) if "long 0" in hit.message_ids]
        assert [hit.text.split("\n", 1)[1] for hit in hits] == [f"user: {LONG}"]


def test_a_passage_is_found_by_meaning_wherever_it_stands(store: Store) -> None:
    with Memory(store, embedder=ANIMALS) as memory:
        said(memory)
        assert len(passages_of(store)) == len(passages(LONG))
        (hit,) = memory.user("ada").recall("Any striped horse?", k=1, budget=400)
        assert "zebra" in hit.text


def test_passages_are_found_as_of_a_moment_before_they_had_vectors(store: Store) -> None:
    with Memory(store, embedder=ANIMALS) as memory:
        said(memory)
        then = store.log.scan(TRIP, limit=100)[-1].position
        asked = Asked("Any striped horse?", NOON + timedelta(days=2), TRIP.owner, Filter(as_of=then))
        (hit,) = memory.layers.episodic.recall(asked, 400, 1)
        assert "zebra" in hit.text


def test_passages_are_erased_with_their_message_alone(store: Store) -> None:
    with Memory(store, embedder=ANIMALS) as memory:
        said(memory, f"Another. {LONG}")
        all_there = passages_of(store)
        memory.forget(TRIP, ["long 0"])
        memory.drain()
        assert len(passages_of(store)) == len(all_there) - len(passages(LONG))
        assert store.index.missing(TRIP, ANIMALS.name, kinds=KINDS) == []
        assert store.check() == []


def test_a_reindex_gives_passages_their_vectors_where_a_message_alone_has_one(store: Store) -> None:
    with Memory(store, embedder=ANIMALS) as memory:
        said(memory)
        made = passages_of(store)
        store.index.delete(TRIP, PASSAGE, sorted(made))
        hits = memory.user("ada").recall("the zebra in a barn", k=1)
        assert "zebra" in hits[0].text
        assert passages_of(store) == set()
        for _ in range(2):
            memory.reindex()
            memory.drain()
            assert passages_of(store) == made


def test_of_a_book_the_first_passages_get_vectors(store: Store) -> None:
    store.log.append(TRIP, [Message("tool", NOTES * 10, "book")], jobs=[job_for(ANIMALS.name)])
    embedding = Embedding(store, ANIMALS)
    while jobs := store.jobs.claim((job_for(ANIMALS.name).kind,), worker="w"):
        embedding.learn(jobs[0])
    assert len(passages_of(store)) == MOST < len(passages(NOTES * 10))


def test_a_long_text_that_is_shown_is_not_quoted_from_elsewhere(store: Store) -> None:
    with Memory(store, embedder=None) as memory:
        said(memory)
        chat = memory.session("again", user="ada")
        chat.add(Message("user", LONG, at=NOON + timedelta(days=2)))
        context = chat.context("Where does the zebra sleep?", budget=20_000)
        assert "zebra" not in context.memory


def answered(memory: Memory, **said_of: object) -> str:
    """What a context recalls where the answer stands in what the assistant said, and talk that is like it elsewhere."""
    for n, talk in enumerate(("I forgot my password.", "My password is too short.", "Who needs a password?")):
        memory.session(f"talk {n}", user="ada").add(Message("user", talk, at=NOON + timedelta(days=n)))
    long = f"{NOTES[:AT]}The password of the cabin is otter-52. {NOTES[AT:]}"
    chat = memory.session("cabin", user="ada")
    chat.add(Message("assistant", long, at=NOON, metadata=said_of))
    now = memory.session("now", user="ada")
    now.add(Message("user", "What is the password of the cabin?", at=NOON + timedelta(days=9)))
    return now.context(budget=2_000).memory


def test_one_of_the_conversations_of_a_context_is_that_of_the_best_answer_whoever_gave_it(store: Store) -> None:
    with Memory(store, embedder=None, settings=Settings(episodic_top_k=2)) as memory:
        recalled = answered(memory)
        assert "otter-52" in recalled
        assert "password is too short" in recalled or "forgot my password" in recalled


def test_a_context_of_one_conversation_has_that_of_what_the_user_said(store: Store) -> None:
    with Memory(store, embedder=None, settings=Settings(episodic_top_k=1)) as memory:
        recalled = answered(memory)
        assert "otter-52" not in recalled
        assert recalled.count("password") == 1


def test_an_answer_that_is_not_recalled_keeps_no_conversation_out_of_a_context(store: Store) -> None:
    with Memory(store, embedder=None, settings=Settings(episodic_top_k=2)) as memory:
        recalled = answered(memory, score=1)
        assert "otter-52" not in recalled
        assert recalled.count("password") == 2


def scores(memory: Memory, question: str) -> dict[str, list[float]]:
    """The scores of each message's passages."""
    ranking = memory.layers.episodic.ranker.rank(Asked(question, NOON + timedelta(days=2), TRIP.owner))
    by = dict[str, list[float]]()
    for place, points in enumerate(ranking.scores.tolist()):
        by.setdefault(ranking.columns.id_of(place)[1], []).append(points)
    return by


def test_a_passage_without_a_vector_is_no_nearer_than_those_of_its_message(store: Store) -> None:
    with Memory(store, embedder=ANIMALS) as memory:
        said(memory, f"{'On and on. ' * 55}A zebra! {NOTES * 10}")
        _, zebra, *others = scores(memory, "Any striped horse?")["long 1"]
        assert len(others) > MOST
        assert zebra > max(others) + 0.5


def test_passages_that_are_none_of_the_nearest_are_no_nearer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    near = "A zebra. A striped horse. " * 800
    far = f"{'a' * (SIZE - 20)} striped horse{'!' * SIZE} {NOTES}"  # its two words are in two passages
    monkeypatch.setattr("recollect.layers.ranking.NEAREST", ((0, len(passages(near)) + 2),))
    with Memory(store, embedder=ANIMALS) as memory:
        said(memory, near, far)
        by = scores(memory, "Any painted pony, a striped horse?")
        assert min(by["long 1"]) > max(by["long 2"])


def test_by_words_alone_a_passage_without_any_of_them_is_not_recalled(store: Store) -> None:
    def recalled(question: str) -> str:
        return "\n".join(hit.text for hit in memory.user("ada").recall(question, budget=4_000))

    with Memory(store, embedder=None) as memory:
        said(memory)
        told = recalled("Where does the zebra sleep?")
        assert "zebra" in told and "it rained" in told
        assert told.count("On day") < 10 < recalled("Which harbour?").count("On day")


def test_a_passage_that_is_not_near_and_has_no_word_of_the_question_is_not_recalled(store: Store) -> None:
    with Memory(store, embedder=ANIMALS) as memory:
        said(memory)
        told = "\n".join(hit.text for hit in memory.user("ada").recall("Any striped horse?", budget=4_000))
        assert "zebra" in told and "it rained" in told
        assert told.count("On day") < 20


def test_of_what_was_said_at_a_time_a_long_message_has_its_beginning(store: Store) -> None:
    with Memory(store, embedder=None) as memory:
        said(memory)
        chat = memory.session("now", user="ada")
        told = chat.context("What did we talk about on 5 March?", budget=8_000, at=NOON + timedelta(days=9)).memory
        assert "On day 0 " in told and "On day 50 " not in told
