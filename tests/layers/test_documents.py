"""Documents: cut, found by words and by meaning, re-ranked, and quoted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from recollect import Memory
from recollect.embed import Kind, Reranker
from recollect.errors import BadReply, ConfigError, ModelUnavailable
from recollect.layers.documents import Documents
from recollect.settings import DEFAULTS, Settings
from recollect.store import Item, Store
from recollect.store import open as open_store
from recollect.tokens import estimate
from recollect.types import Message, Scope
from tests.layers.guide import ADA, EVE, GUIDE, Counted, work


def with_numbers(store: Store, reranker: Reranker | None = None, **numbers: Any) -> Documents:
    return Documents(store, estimate, reranker=reranker, settings=Settings(**numbers))


def test_a_passage_is_found_with_its_document_and_headings(store: Store) -> None:
    documents = Documents(store, estimate)
    added = documents.add(ADA, GUIDE, name="guide.md", metadata={"language": "en"})
    assert (added.name, added.chunks, added.metadata) == ("guide.md", 3, {"language": "en"})
    assert documents.list(ADA) == [added]
    best = documents.search(ADA, "How do I descale the kettle with vinegar?")[0]
    assert best.document == "guide.md"
    assert best.headings == ("Guide", "Descaling")
    assert best.text.startswith("## Descaling\n\nFill the kettle with vinegar")


def test_it_is_offered_as_a_quotation_and_what_was_left_out_says_why(store: Store) -> None:
    documents = with_numbers(store, documents_top_k=1)
    documents.add(ADA, GUIDE, name="guide.md")
    inside, *outside = documents.offer(ADA, "Does the warranty of the kettle end?")
    assert (inside.section, inside.out) == ("documents", "")
    assert inside.origin == "document guide.md \u203a Guide \u203a Warranty"
    assert inside.sources == (documents.search(ADA, "warranty end")[0].id,)
    assert outside
    assert all(one.out for one in outside)


def test_a_question_about_something_else_gets_nothing(store: Store) -> None:
    documents = Documents(store, estimate)
    documents.add(ADA, GUIDE, name="guide.md")
    for question in ("Which wine goes with salmon?", "", "   ", "???"):
        assert documents.search(ADA, question) == []
        assert [one for one in documents.offer(ADA, question) if not one.out] == []


@pytest.mark.parametrize("embedder", [None, "hash:256"])
def test_the_score_of_a_passage_is_what_orders_it(embedder: str | None) -> None:
    texts = [
        "Water the tomatoes every day in July, and the basil too.",
        "Tomatoes need sun. Tomatoes need warm soil. Tomatoes, tomatoes.",
        "How often you water depends on the soil: sand needs water more often than clay does.",
        "Cucumbers need water and sun as tomatoes do; how much is on the label.",
    ]
    with Memory.open(":memory:", embedder=embedder) as memory:
        chat = memory.session("garden", user="ada")
        for number, text in enumerate(texts):
            chat.documents.add(text, name=str(number))
        memory.drain()
        for question in ("How do I water tomatoes?", "How much sun do tomatoes need?"):
            scores = [passage.score for passage in chat.documents.search(question)]
            assert len(scores) > 1
            assert scores == sorted(scores, reverse=True)
            assert scores[0] > scores[-1] >= DEFAULTS.documents_threshold
            missed = [one for one in memory.layers.documents.offer(chat.scope, question) if one.out.startswith("below")]
            assert all(one.score < DEFAULTS.documents_threshold for one in missed)


def test_what_else_a_store_holds_changes_no_score(store: Store) -> None:
    documents, question = Documents(store, estimate), "Does the warranty of the kettle end?"
    documents.add(ADA, GUIDE, name="guide.md")
    before = documents.offer(ADA, question)
    store.log.append(replace(ADA, session="trip"), [Message("user", f"Kettle {n} has a warranty.") for n in range(300)])
    assert len(before) > 1
    assert documents.offer(ADA, question) == before


def test_a_document_that_is_removed_while_it_is_looked_at_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory.open(":memory:", embedder="hash:64") as memory:
        chat, get = memory.session("garden", user="ada"), memory.store.index.get
        chat.documents.add("Water the tomatoes.", name="garden.md")
        memory.drain()

        def removed_then(scope: Scope, kind: str, ids: Sequence[str]) -> list[Item]:
            found = get(scope, kind, ids)
            if found:
                chat.documents.remove("garden.md")
            return found

        monkeypatch.setattr(memory.store.index, "get", removed_then)
        chat.documents.search("Where does Nadia live?")
        assert chat.documents.list() == []


def test_documents_are_their_users_and_no_one_elses(store: Store) -> None:
    documents = Documents(store, estimate)
    documents.add(Scope("acme", "ada", "trip"), GUIDE, name="guide.md")
    assert documents.search(ADA, "warranty")
    assert documents.search(EVE, "warranty") == []
    assert documents.list(EVE) == []
    with pytest.raises(ConfigError, match="user"):
        documents.add(Scope("acme"), GUIDE)


def test_what_was_said_is_not_found_as_a_document(store: Store) -> None:
    documents = Documents(store, estimate)
    store.log.append(Scope("acme", "ada", "trip"), [Message("user", "The warranty of the kettle is long.")])
    assert documents.search(ADA, "warranty of the kettle") == []


@pytest.mark.parametrize("name", [5, "\x00", "x" * 1_001])
def test_a_name_that_can_not_be_kept_is_refused(store: Store, name: Any) -> None:
    with pytest.raises(ConfigError, match="name"):
        Documents(store, estimate).add(ADA, GUIDE, name=name)


def test_by_meaning_too_and_by_words_until_the_vectors_are_made(store: Store) -> None:
    embedder = Counted()
    documents = Documents(store, estimate, embedder)
    documents.add(ADA, GUIDE, name="guide.md")
    question = "When does the warranty end?"
    assert documents.search(ADA, question)[0].headings == ("Guide", "Warranty")
    work(store, embedder)
    assert documents.search(ADA, question)[0].headings == ("Guide", "Warranty")


def test_a_model_that_fails_leaves_the_words(store: Store) -> None:
    class Down(Counted):
        def embed(self, texts: Sequence[str], kind: Kind = "passage") -> npt.NDArray[np.float32]:
            raise ModelUnavailable("no route")

    documents = Documents(store, estimate, Down())
    documents.add(ADA, GUIDE, name="guide.md")
    assert documents.search(ADA, "warranty invoice")[0].headings == ("Guide", "Warranty")


class Backwards:
    """A re-ranker that likes what comes later in the alphabet."""

    name = "backwards"

    def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        order = sorted(texts)
        return np.array([order.index(text) for text in texts], np.float32)


class Broken(Backwards):
    def score(self, query: str, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        raise BadReply("no")


def test_a_reranker_orders_the_best_and_one_that_fails_changes_nothing(store: Store) -> None:
    plain = with_numbers(store, documents_threshold=0)
    for name in ("b", "a", "c"):
        plain.add(ADA, f"{name} The door code is 4417.", name=name)
    ranked = with_numbers(store, Backwards(), documents_threshold=0)
    assert [passage.document for passage in ranked.search(ADA, "door code")] == ["c", "b", "a"]
    first_two = with_numbers(store, Backwards(), documents_threshold=0, documents_rerank_n=2)
    expected = [passage.document for passage in plain.search(ADA, "door code")]
    assert [passage.document for passage in first_two.search(ADA, "door code")][2] == expected[2]
    broken = with_numbers(store, Broken(), documents_threshold=0)
    assert [passage.document for passage in broken.search(ADA, "door code")] == expected


def test_a_memory_takes_a_reranker_for_its_documents(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=None, reranker=Backwards()) as memory:
        chat = memory.session("s", user="ada")
        for name in ("b", "a", "c"):
            chat.documents.add(f"{name} The door code is 4417.", name=name)
        shown = [line.text[0] for line in chat.context("What is the door code?", 1_000).offered if line.kept]
    assert shown == ["c", "b", "a"]


def test_tightening_each_number_offers_less(store: Store) -> None:
    wide = with_numbers(store, documents_threshold=0.0, documents_search_k=8, documents_top_k=8)
    for n in range(8):
        wide.add(ADA, f"Note {n} on the door code {'and the garden gate ' * n}.", name=f"n{n}")

    def tokens(documents: Documents) -> int:
        offered = documents.offer(ADA, "What is the door code of the garden shed?")
        return sum(estimate(one.text) for one in offered if not one.out)

    assert tokens(wide) > tokens(with_numbers(store, documents_threshold=0.0, documents_top_k=3)) > 0
    assert tokens(with_numbers(store, documents_threshold=0.0, documents_top_k=2)) < tokens(
        with_numbers(store, documents_threshold=0.0, documents_top_k=3)
    )
    assert tokens(with_numbers(store, documents_threshold=1.0, documents_top_k=8)) < tokens(wide)
    assert len(wide.search(ADA, "door code")) == 8
    assert len(wide.search(ADA, "door code", 2)) == 2
    assert wide.search(ADA, "door code", 0) == []


def test_smaller_chunks_are_more_and_none_is_over_its_size(store: Store) -> None:
    for size, overlap in ((300, 50), (60, 10)):
        documents = with_numbers(
            store, chunk_tokens=size, chunk_overlap=overlap, documents_threshold=0, documents_search_k=99
        )
        documents.add(Scope("acme", f"u{size}"), GUIDE, name="guide.md")
    large, small = (documents.list(Scope("acme", f"u{size}"))[0].chunks for size in (300, 60))
    assert small > large
    assert all(estimate(one.text) <= 60 for one in documents.search(Scope("acme", "u60"), "kettle vinegar warranty"))


def test_it_is_as_it_was_at_an_earlier_position(store: Store) -> None:
    documents = Documents(store, estimate)
    documents.add(ADA, "The door code is 4417.", name="a")
    (entry,) = store.log.append(Scope("acme", "ada", "s"), [Message("user", "hi")])
    documents.add(ADA, "The door code of the garden is 9000.", name="b")
    then = documents.offer(ADA, "door code", as_of=entry.position)
    assert [one.origin for one in then] == ["document a"]
    assert len(documents.offer(ADA, "door code")) == 2


def test_odd_text_is_kept_as_it_is(store: Store) -> None:
    documents = Documents(store, estimate)
    odd = "the d\u0301oor \ud800 code \u202eabc\u202c is 4417\x00 today"
    documents.add(ADA, odd)
    (found,) = documents.search(ADA, "code 4417 today")
    assert found.text == odd
    assert found.document.startswith("text ")


def test_documents_outlive_the_process(tmp_path: Path) -> None:
    for expected in ([], ["guide.md"]):
        with open_store(str(tmp_path / "m.db")) as store:
            documents = Documents(store, estimate)
            assert [document.name for document in documents.list(ADA)] == expected
            documents.add(ADA, GUIDE, name="guide.md")


def test_a_job_of_a_user_embeds_what_waits_in_the_sessions_too(store: Store) -> None:
    embedder = Counted()
    store.log.append(Scope("acme", "ada", "trip"), [Message("user", "I live in Oslo.", name="Ada", id="m1")])
    Documents(store, estimate, embedder).add(ADA, "The door code is 4417.", name="codes")
    assert work(store, embedder) == 2
    assert sorted(embedder.passages) == ["Ada: I live in Oslo.", "The door code is 4417."]
    assert store.index.missing(ADA, embedder.name) == []


def test_a_search_reads_no_document_as_a_whole(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = Documents(store, estimate)
    documents.add(ADA, GUIDE, name="guide.md")
    found = documents.search(ADA, "warranty")
    monkeypatch.setattr(store.records, "find", None)
    assert documents.search(ADA, "warranty") == found
