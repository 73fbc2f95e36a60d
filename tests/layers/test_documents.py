"""Documents: read, cut, found by words and by meaning, quoted, updated in place, and removed."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from recollect import Memory
from recollect.embed import Kind
from recollect.embed.hashing import HashingEmbedder
from recollect.errors import BadReply, ConfigError, MissingExtra, ModelUnavailable, NotFound
from recollect.layers.documents import Documents
from recollect.layers.embedding import CHUNK, JOB, Embedding
from recollect.store import Filter, Record, Store
from recollect.store import open as open_store
from recollect.tokens import estimate
from recollect.types import Message, Scope

ADA, EVE = Scope("acme", "ada"), Scope("acme", "eve")
FILL = "This part explains in plain words how it is done, step by step, for everyone who is new to it. "
GUIDE = f"""# Guide

Everything about the kettle. {FILL * 4}

## Descaling

Fill the kettle with vinegar and boil it twice. {FILL * 5}

## Warranty

The warranty ends after 24 months; write to support with the invoice. {FILL * 5}
"""


class Counted(HashingEmbedder):
    """The hashing embedder, which also says what passages it was given."""

    def __init__(self) -> None:
        super().__init__(256)
        self.passages: list[str] = []

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> npt.NDArray[np.float32]:
        self.passages += texts if kind == "passage" else []
        return super().embed(texts, kind)


def work(store: Store, embedder: Counted) -> int:
    made = 0
    while jobs := store.jobs.claim((JOB.kind,), worker="w"):
        made += Embedding(store, embedder).learn(jobs[0])
    return made


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
    documents = Documents(store, estimate, final_k=1)
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


def test_the_same_content_is_kept_once(store: Store) -> None:
    documents = Documents(store, estimate)
    first = documents.add(ADA, GUIDE, name="guide.md")
    assert documents.add(ADA, GUIDE, name="guide.md") == first
    assert documents.add(ADA, GUIDE, name="copy.md") == first
    assert documents.list(ADA) == [first]
    assert len(store.index.search(ADA, "everyone", 99, where=Filter(kinds=(CHUNK,)))) == 3


def test_the_same_name_again_updates_in_place_and_embeds_only_what_changed(store: Store) -> None:
    embedder = Counted()
    documents = Documents(store, estimate, embedder)
    documents.add(ADA, GUIDE, name="guide.md")
    assert work(store, embedder) == 3
    embedder.passages.clear()
    changed = documents.add(ADA, GUIDE.replace("24 months", "36 months"), name="guide.md")
    assert work(store, embedder) == 1
    assert "36 months" in embedder.passages[0]
    assert documents.list(ADA) == [changed]
    found = documents.search(ADA, "How many months is the warranty?")
    assert "36 months" in found[0].text
    assert all("24 months" not in passage.text for passage in found)


def test_a_new_date_alone_is_the_date_of_its_passages_too(store: Store) -> None:
    documents = Documents(store, estimate)
    for year in (2024, 2025):
        documents.add(ADA, "The door code is 4417.", name="a", at=datetime(year, 1, 1, tzinfo=UTC))
        assert [passage.at for passage in documents.search(ADA, "door code")] == [datetime(year, 1, 1, tzinfo=UTC)]


@pytest.mark.parametrize("name", [5, "\x00", "x" * 1_001])
def test_a_name_that_can_not_be_kept_is_refused(store: Store, name: Any) -> None:
    with pytest.raises(ConfigError, match="name"):
        Documents(store, estimate).add(ADA, GUIDE, name=name)


def test_an_update_may_not_take_the_content_of_another(store: Store) -> None:
    documents = Documents(store, estimate)
    documents.add(ADA, "The door code is 4417.", name="a")
    documents.add(ADA, "The gate code is 9000.", name="b")
    documents.add(ADA, "The door code is 4417.", name="b")
    assert [document.name for document in documents.list(ADA)] == ["a", "b"]
    assert documents.search(ADA, "gate 9000") == []
    assert [passage.text for passage in documents.search(ADA, "door code")] == ["The door code is 4417."]


def test_a_removed_document_is_gone_with_all_its_versions(store: Store) -> None:
    documents = Documents(store, estimate)
    documents.add(ADA, "The door code is 4417.", name="codes")
    documents.add(ADA, "The door code is 9000.", name="codes")
    assert documents.remove(ADA, "codes").name == "codes"
    assert documents.list(ADA) == []
    assert documents.search(ADA, "door code") == []
    assert store.records.history(ADA, "document", "codes") == []
    with pytest.raises(NotFound, match="'codes'; there are none"):
        documents.remove(ADA, "codes")
    assert documents.add(ADA, "The door code is 4417.", name="codes").chunks == 1


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
    plain = Documents(store, estimate, threshold=0)
    for name in ("b", "a", "c"):
        plain.add(ADA, f"{name} The door code is 4417.", name=name)
    ranked = Documents(store, estimate, reranker=Backwards(), threshold=0)
    assert [passage.document for passage in ranked.search(ADA, "door code")] == ["c", "b", "a"]
    first_two = Documents(store, estimate, reranker=Backwards(), threshold=0, rerank_top=2)
    expected = [passage.document for passage in plain.search(ADA, "door code")]
    assert [passage.document for passage in first_two.search(ADA, "door code")][2] == expected[2]
    broken = Documents(store, estimate, reranker=Broken(), threshold=0)
    assert [passage.document for passage in broken.search(ADA, "door code")] == expected


def test_a_memory_takes_a_reranker_for_its_documents(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory.db", embedder=None, reranker=Backwards()) as memory:
        chat = memory.session("s", user="ada")
        for name in ("b", "a", "c"):
            chat.documents.add(f"{name} The door code is 4417.", name=name)
        shown = [line.text[0] for line in chat.context("What is the door code?", 1_000).offered if line.kept]
    assert shown == ["c", "b", "a"]


def test_tightening_each_number_offers_less(store: Store) -> None:
    wide = Documents(store, estimate, threshold=0.0, top_k=8, final_k=8)
    for n in range(8):
        wide.add(ADA, f"Note {n} on the door code {'and the garden gate ' * n}.", name=f"n{n}")

    def tokens(documents: Documents) -> int:
        offered = documents.offer(ADA, "What is the door code of the garden shed?")
        return sum(estimate(one.text) for one in offered if not one.out)

    assert tokens(wide) > tokens(Documents(store, estimate, threshold=0.0, final_k=3)) > 0
    assert tokens(Documents(store, estimate, threshold=0.0, final_k=2)) < tokens(
        Documents(store, estimate, threshold=0.0, final_k=3)
    )
    assert tokens(Documents(store, estimate, threshold=1.0, final_k=8)) < tokens(wide)
    assert len(wide.search(ADA, "door code")) == 8
    assert len(wide.search(ADA, "door code", 2)) == 2
    assert wide.search(ADA, "door code", 0) == []


def test_smaller_chunks_are_more_and_none_is_over_its_size(store: Store) -> None:
    for size, overlap in ((300, 50), (60, 10)):
        documents = Documents(store, estimate, size=size, overlap=overlap, threshold=0, top_k=99)
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


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.md", b"# Codes\n\nThe door code is 4417."),
        ("a.txt", "\ufeffThe door code is 4417.".encode()),
        ("a.txt", "The door code is 4417.".encode("utf-16")),
        ("a.html", b"<h1>Codes</h1><p>The door code is <b>4417</b>.<script>no()</script>"),
    ],
)
def test_files_are_read_by_what_they_are(store: Store, tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    documents = Documents(store, estimate)
    added = documents.add(ADA, path, at=datetime(2024, 5, 1, tzinfo=UTC))
    assert added.name == path.as_posix()
    assert added.at == datetime(2024, 5, 1, tzinfo=UTC)
    (found,) = documents.search(ADA, "door code")
    assert "The door code is 4417." in found.text
    assert found.at == datetime(2024, 5, 1, tzinfo=UTC)


def pdf(*pages: str) -> bytes:
    """A small PDF with a line of text a page."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else ""
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >>"
            f" /Contents {5 + 2 * n} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, places = b"%PDF-1.4\n", []
    for n, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{n} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}{trailer}".encode()


def test_a_pdf_is_quoted_by_its_page(store: Store, tmp_path: Path) -> None:
    pytest.importorskip("pypdf")
    path = tmp_path / "manual.pdf"
    path.write_bytes(pdf(FILL.replace("(", "") * 5, "The door code is 4417. " + FILL * 5))
    documents = Documents(store, estimate)
    documents.add(ADA, path, name="manual.pdf")
    found = documents.search(ADA, "What is the door code?")[0]
    assert found.origin == "document manual.pdf \u203a page 2"
    assert "The door code is 4417." in found.text


def test_a_pdf_that_cannot_be_read_says_why_and_what_to_do(store: Store, tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    documents, path = Documents(store, estimate), tmp_path / "a.pdf"
    path.write_bytes(b"%PDF-1.4\nnothing")
    with pytest.raises(ConfigError, match=r"a\.pdf can't be read as a PDF"):
        documents.add(ADA, path)
    path.write_bytes(pdf(""))
    with pytest.raises(ConfigError, match="only pictures"):
        documents.add(ADA, path)
    path.write_bytes(pdf("The door code is 4417."))
    locked = pypdf.PdfWriter(clone_from=path)
    locked.encrypt("secret", algorithm="RC4-128")
    locked.write(path)
    with pytest.raises(ConfigError, match="password"):
        documents.add(ADA, path)
    assert documents.list(ADA) == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"", "empty"), (b" \n", "empty"), (b"ab\x00cd", "no text"), (b"caf\xe9", "UTF-8"), (None, "can't be read")],
)
def test_a_file_that_is_no_text_is_refused(store: Store, tmp_path: Path, content: bytes | None, problem: str) -> None:
    path = tmp_path / "a.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=problem):
        Documents(store, estimate).add(ADA, path)


def test_odd_text_is_kept_as_it_is(store: Store) -> None:
    documents = Documents(store, estimate)
    odd = "the d\u0301oor \ud800 code \u202eabc\u202c is 4417\x00 today"
    documents.add(ADA, odd)
    (found,) = documents.search(ADA, "code 4417 today")
    assert found.text == odd
    assert found.document.startswith("text ")


@pytest.mark.parametrize(
    "numbers", [{"size": 5}, {"overlap": 300}, {"threshold": 1.5}, {"final_k": -1}, {"top_k": -1}, {"rerank_top": -1}]
)
def test_numbers_that_make_no_sense_are_refused(store: Store, numbers: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Documents(store, estimate, **numbers)


def test_documents_outlive_the_process(tmp_path: Path) -> None:
    for expected in ([], ["guide.md"]):
        with open_store(str(tmp_path / "m.db")) as store:
            documents = Documents(store, estimate)
            assert [document.name for document in documents.list(ADA)] == expected
            documents.add(ADA, GUIDE, name="guide.md")


def test_without_the_package_for_pdfs_the_error_has_the_command(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf("The door code is 4417."))
    with pytest.raises(MissingExtra, match=r"pip install 'recollect\[pdf\]'"):
        Documents(store, estimate).add(ADA, path)


def test_a_job_of_a_user_embeds_what_waits_in_the_sessions_too(store: Store) -> None:
    embedder = Counted()
    store.log.append(Scope("acme", "ada", "trip"), [Message("user", "I live in Oslo.", name="Ada", id="m1")])
    Documents(store, estimate, embedder).add(ADA, "The door code is 4417.", name="codes")
    assert work(store, embedder) == 2
    assert sorted(embedder.passages) == ["Ada: I live in Oslo.", "The door code is 4417."]
    assert store.index.missing(ADA, embedder.name) == []


class Slow(Documents):
    """Documents of a process that is held up once it has read what there is."""

    def _current(self, scope: Scope, name: str) -> Record | None:
        found = super()._current(scope, name)
        held_up.set()
        time.sleep(0.2)
        return found


held_up = threading.Event()


def _meanwhile(slow: Callable[[], object], work: Callable[[], object]) -> None:
    """Do the work of another process as soon as the slow one has read what there is."""
    held_up.clear()
    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(slow)
        assert held_up.wait(10)
        work()
        held.result()


@pytest.mark.parametrize("before", [[], ["The kettle costs 10 euro."]])
def test_two_processes_that_change_a_document_at_once_both_succeed(tmp_path: Path, before: list[str]) -> None:
    path = str(tmp_path / "memory.db")
    with open_store(path) as mine, open_store(path) as theirs:
        slow, other = Slow(mine, estimate), Documents(theirs, estimate)
        for text in before:
            other.add(ADA, text, name="prices.md")
        _meanwhile(
            lambda: slow.add(ADA, "The kettle costs 20 euro.", name="prices.md"),
            lambda: other.add(ADA, "The kettle costs 30 euro.", name="prices.md"),
        )
        assert [passage.text for passage in other.search(ADA, "kettle")] == ["The kettle costs 30 euro."]
        assert [document.chunks for document in other.list(ADA)] == [1]


def test_a_document_that_is_changed_while_it_is_removed_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    with open_store(path) as mine, open_store(path) as theirs:
        slow, other = Slow(mine, estimate), Documents(theirs, estimate)
        other.add(ADA, "The kettle costs 10 euro.", name="prices.md")
        _meanwhile(
            lambda: slow.remove(ADA, "prices.md"),
            lambda: other.add(ADA, "The kettle costs 30 euro.", name="prices.md"),
        )
        assert [passage.text for passage in other.search(ADA, "kettle")] == ["The kettle costs 30 euro."]
        assert len(theirs.records.history(ADA, "document", "prices.md")) == len(other.list(ADA)) == 1


def test_a_search_reads_no_document_as_a_whole(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = Documents(store, estimate)
    documents.add(ADA, GUIDE, name="guide.md")
    found = documents.search(ADA, "warranty")
    monkeypatch.setattr(store.records, "find", None)
    assert documents.search(ADA, "warranty") == found
