"""Nothing is recalled for a question about nothing that was ever said; in doubt, something is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import numpy.typing as npt
import pytest

from recollect import Memory, embed
from recollect.embed import Embedder, Kind
from recollect.embed.hashing import HashingEmbedder
from recollect.embed.nearness import UNRELATED
from recollect.errors import ModelUnavailable
from recollect.flow import rank
from recollect.layers import ranking
from recollect.layers.embedding import KIND, Embedding
from recollect.layers.episodic import NEAR_MISSES, Episodic
from recollect.layers.marks import there
from recollect.layers.ranking import Asked
from recollect.store import Entry, Job, Store
from recollect.tokens import estimate
from recollect.types import Message, Scope

ADA = Scope("acme", "ada")
START = datetime(2024, 3, 4, 19, tzinfo=UTC)
UNHEARD = "Which quantum numbers describe an electron?"


class Unrelated(HashingEmbedder):
    """A model that can't tell how far texts lie apart which have nothing to do with each other."""

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> npt.NDArray[np.float32]:
        if UNRELATED[0][0] in texts:
            raise ModelUnavailable("not now")
        return super().embed(texts, kind)


def told(store: Store, embedder: Embedder | None, speakers: Sequence[str] = ("user", "assistant")) -> Episodic:
    """Thirty turns about walks in Lisbon."""
    for n in range(30):
        text, at = f"On walk {n} we saw the harbour of Lisbon, pier {n}x.", START + timedelta(days=n)
        message = Message("user" if n % 2 else "assistant", text, id=f"m{n}", name=speakers[n % 2], at=at)
        store.log.append(Scope("acme", "ada", "walks"), [message], jobs=[Job(KIND, key=KIND)])
    while embedder and (jobs := store.jobs.claim((KIND,), worker="w")):
        Embedding(store, embedder).learn(jobs[0])
    return Episodic(store, estimate, embedder)


def recalled(layer: Episodic, question: str) -> int:
    asked = Asked(question, START + timedelta(days=40), ADA)
    return sum(not one.out for one in layer.offer(asked, None)(400, frozenset()))


def noted(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the messages that are read from now on."""
    read, get = list[str](), store.log.get

    def noting(_: object, scope: Scope, ids: Sequence[str]) -> list[Entry]:
        read.extend(ids)
        return get(scope, ids)

    monkeypatch.setattr(type(store.log), "get", noting)
    return read


def test_of_many_conversations_few_turns_are_read_that_no_context_quotes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(40):
        said = [Message("user", f"On walk {n}, part {part}, we saw the harbour of Lisbon.", at=START) for part in "ab"]
        store.log.append(Scope("acme", "ada", f"walk {n}"), said)
    read = noted(store, monkeypatch)
    asked = Asked("What did we see of the harbour?", START + timedelta(days=1), ADA)
    offered = Episodic(store, estimate, None).offer(asked, 2)(400, frozenset())
    assert [one.out for one in offered] == [""] * 2 + ["lower in rank"] * NEAR_MISSES
    assert len(read) <= 10


def test_what_is_shown_is_neither_read_nor_recalled_nor_its_words_from_elsewhere(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = told(store, None)
    again = Message("user", "On walk 7 we saw the harbour of Lisbon, pier 7x.", id="again", at=START)
    store.log.append(Scope("acme", "ada", "another"), [again])
    shown = frozenset(f"m{n}" for n in range(20))
    said = [entry.message for entry in store.log.get(ADA, sorted(shown))]
    read = noted(store, monkeypatch)
    asked = Asked("What did we see on walk 7 in Lisbon?", START + timedelta(days=40), ADA)
    offered = layer.offer(asked, None, said, "walks")(10_000, shown)
    assert {id for one in offered for id in one.sources} == {f"m{n}" for n in range(20, 30)}
    assert shown.isdisjoint(read)


def test_what_is_offered_does_not_depend_on_the_room_that_was_asked_for_before(store: Store) -> None:
    layer, asked = told(store, None), Asked("Which walks were in the harbour?", START + timedelta(days=40), ADA)
    offer = layer.offer(asked, None)
    for tokens in (100, 400, 0, 200):
        offered, anew = offer(tokens, frozenset()), layer.offer(asked, None)(tokens, frozenset())
        assert [one for one in offered if not one.out] == [one for one in anew if not one.out]


def test_a_question_about_nothing_that_was_said_recalls_nothing(store: Store) -> None:
    layer = told(store, HashingEmbedder(384))
    assert recalled(layer, UNHEARD) == 0
    assert recalled(layer, "Where in Lisbon is the harbour?") > 0
    layer.floor = 1.0
    assert recalled(layer, UNHEARD) > 0


def test_a_turn_need_not_be_as_near_to_a_question_about_the_user(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    layer = told(store, HashingEmbedder(384))
    own = "Which automobile have I sold at the harbour?"
    assert recalled(layer, own) > 0
    assert recalled(layer, "Which automobile have they sold at the harbour?") == 0
    assert recalled(layer, "Which quantum numbers have I described?") == 0
    monkeypatch.setattr(ranking, "OF_OWN", 0.0)
    assert recalled(layer, own) == 0


@pytest.mark.parametrize("embedder", [None, HashingEmbedder(384)])
def test_a_question_for_several_things_is_answered_from_many_conversations_in_order_of_time(
    store: Store, embedder: Embedder | None
) -> None:
    titles = ("Emma", "Ulysses", "Dracula", "Momo", "Walden")
    for n, title in enumerate(titles):
        message = Message("user", f"I read the book {title}.", id=title, at=START + timedelta(days=n))
        store.log.append(Scope("acme", "ada", title), [message])
    layer, at = Episodic(store, estimate, embedder), START + timedelta(days=9)
    many, *_ = layer.offer(Asked("Which books have I read?", at, ADA), 2)(400, frozenset())
    assert many.sources == titles
    one = layer.offer(Asked("Which book did I read first?", at, ADA), 2)(400, frozenset())
    assert sum(not candidate.out for candidate in one) == 2


@pytest.mark.parametrize("embedder", [None, HashingEmbedder(384)])
def test_short_answers_to_the_best_turn_come_before_other_turns_that_are_like_it(
    store: Store, embedder: Embedder | None
) -> None:
    for n in range(40, 52):
        said = f"The printer shows error E{n}.", "Sorry, please check the power and the paper first."
        told = *said, f"I did number {n}, it still fails.", f"It was solved by part {n}k."
        turns = [
            Message("assistant" if k % 2 else "user", text, id=f"{n}:{k}", at=START) for k, text in enumerate(told)
        ]
        store.log.append(Scope("acme", "ada", "desk"), turns, jobs=[Job(KIND, key=KIND)])
    asked = Asked("How was error E45 solved?", START + timedelta(days=1), ADA)
    question = Message("user", asked.text, id="question", at=START)
    store.log.append(Scope("acme", "ada", "now"), [question], jobs=[Job(KIND, key=KIND)])
    while embedder and (jobs := store.jobs.claim((KIND,), worker="w")):
        Embedding(store, embedder).learn(jobs[0])
    best, *_ = Episodic(store, estimate, embedder).offer(asked, 4, [question], "now")(120, frozenset({"question"}))
    assert {"45:0", "45:3"} <= set(best.sources)


@pytest.mark.parametrize(
    ("speakers", "by_time", "more"),
    [(("assistant", "user"), False, 3), (("assistant", "user"), True, 0), (("Bo", "Ann"), False, 0)],
)
def test_answers_count_more_in_chats_with_an_assistant_unless_time_alone_counts(
    store: Store, monkeypatch: pytest.MonkeyPatch, speakers: Sequence[str], by_time: bool, more: int
) -> None:
    asked = Asked("Which walk was by pier 7x?", START + timedelta(days=40), ADA, by_time=by_time)
    ranker = told(store, None, speakers).ranker
    scores = ranker.rank(asked).scores
    monkeypatch.setattr(rank, "ANSWER", 0.0)
    assert np.count_nonzero(scores != ranker.rank(asked).scores) == more


def test_one_of_which_every_word_was_said_recalls_something(store: Store) -> None:
    layer = told(store, HashingEmbedder(384))
    layer.floor = 0.0
    assert recalled(layer, "1x 2x 3x 4x 5x 6x 7x 8x 9x 10x 11x 12x") > 0
    assert recalled(layer, "1x 2x 3x 4x 5x 6x 7x 8x 9x 10x 11x 12x electron quark muon") == 0


def test_the_local_model_tells_what_is_meant_in_other_words_from_what_is_near_to_anything(store: Store) -> None:
    embedder = embed.open("auto")
    if embedder is None:
        pytest.skip("the local model is not here: python -m recollect.embed.models pull e5-small-v2")
    layer = told(store, embedder)
    assert all(recalled(layer, question) for question in ("Which docks did we visit?", "Where were the ships?"))
    unrelated = ("Good morning!", "Why is the sky blue?", "How do I walk a dog on a leash?", "Who wrote Hamlet?")
    assert not any(recalled(layer, question) for question in unrelated)


def test_the_turns_of_those_asked_for_last_are_kept_as_far_as_there_is_room(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    *users, last = [Scope("acme", user) for user in ("ada", "bob", "eve", "kim")]
    for user in (*users, last):
        store.log.append(Scope("acme", user.user, "s"), [Message("user", "the harbour of Lisbon", at=START)])
    layer = Episodic(store, estimate)

    def kept(user: Scope) -> list[Scope]:
        assert len(layer.search(Asked("Lisbon", START + timedelta(days=1), user), 5)) == 1
        return list(layer.ranker._kept)

    monkeypatch.setattr(ranking, "KEPT_BYTES", 30_000)
    assert [kept(user) for user in (*users, users[0])][-1] == [*users[1:], users[0]]
    monkeypatch.setattr(ranking, "KEPT_BYTES", 0)
    assert kept(last) == [last]


@pytest.mark.parametrize(
    "question",
    [
        "When did she move?",
        "And where?",
        "How was it there?",
        "Where did she move after the winter, the snow and frost?",
    ],
)
@pytest.mark.parametrize("embedder", [None, HashingEmbedder(384)])
def test_a_question_that_says_she_or_it_is_about_what_the_user_spoke_of_last(
    store: Store, embedder: Embedder | None, question: str
) -> None:
    for name, place in (("Ruth", "Graz"), ("Nadia", "Oslo"), ("Ilse", "Lyon")):
        text = f"{name} moved to {place} after the winter."
        store.log.append(Scope("acme", "ada", name), [Message("user", text, id=name, at=START)])
    talk = [Message("user", "I talked to Nadia.", at=START), Message("assistant", "And to Ruth?", at=START)]
    asked = Asked(question, START + timedelta(days=1), ADA)
    for said in (talk, [*talk, Message("user", asked.text, at=START)]):
        first, *_ = Episodic(store, estimate, embedder).offer(asked, None, said)(400, frozenset())
        assert "Oslo" in first.text


def test_search_and_recall_give_the_best_there_is_all_the_same(store: Store) -> None:
    layer = told(store, HashingEmbedder(384))
    asked = Asked(UNHEARD, START + timedelta(days=40), ADA)
    assert len(layer.search(asked, 3)) == 3
    assert layer.recall(asked, 400, None)


@pytest.mark.parametrize(
    "question",
    [
        "Which quantum numbers did Melanie describe?",
        "Which electron did Mel describe?",
        "Which quantum numbers were described in March 2024?",
    ],
)
def test_one_that_names_a_speaker_or_a_day_recalls_something(store: Store, question: str) -> None:
    assert recalled(told(store, HashingEmbedder(384), ("Melanie", "Caroline")), question) > 0


def test_without_a_model_one_shared_word_is_enough(store: Store) -> None:
    layer = told(store, None)
    assert recalled(layer, UNHEARD) == 0
    assert len(layer.search(Asked(UNHEARD, START + timedelta(days=40), ADA), 3)) == 0
    assert recalled(layer, f"{UNHEARD} In the harbour?") > 0


def test_where_the_model_fails_something_is_recalled(store: Store) -> None:
    assert recalled(told(store, Unrelated(384)), UNHEARD) > 0


def test_before_there_are_vectors_words_decide(store: Store) -> None:
    told(store, None)
    layer = Episodic(store, estimate, HashingEmbedder(384))
    assert recalled(layer, UNHEARD) == 0
    assert recalled(layer, f"{UNHEARD} In the harbour?") > 0


@pytest.mark.parametrize(
    ("zone", "said", "day"),
    [
        (9, "2025-05-02T08:00", "2 May 2025 (today)"),
        (9, "2025-05-01T08:00", "1 May 2025 (yesterday)"),
        (-8, "2025-05-01T20:00", "1 May 2025 (yesterday)"),
        (-8, "2025-05-02T03:00", "2 May 2025 (today)"),
        (14, "0001-01-01T01:00", "1 January 1 (2025 years ago)"),
    ],
)
def test_how_long_ago_a_day_was_goes_by_the_clock_of_those_who_spoke(
    store: Store, zone: int, said: str, day: str
) -> None:
    at = datetime.fromisoformat(said).replace(tzinfo=timezone(timedelta(hours=zone)))
    store.log.append(Scope("acme", "ada", "walks"), [Message("user", "We saw a walrus.", at=at)])
    asked = Asked("Where was the walrus?", datetime(2025, 5, 2, 12, tzinfo=UTC), ADA)
    (found,) = Episodic(store, estimate, None).offer(asked, None)(400, frozenset())
    assert found.text.split("\n")[0] == day


def test_a_message_that_a_damaged_index_does_not_find_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found = there

    def damaged(store: Store, scope: Scope, ids: Collection[tuple[str, str]]) -> dict[tuple[str, str], Entry]:
        return {id: entry for id, entry in found(store, scope, ids).items() if id[1] != "lost"}

    monkeypatch.setattr("recollect.layers.episodic.there", damaged)
    with Memory.open(":memory:", embedder=None) as memory:
        chat = memory.session("trip", user="ada")
        chat.add("user", "The ferry sails at nine.", id="lost")
        chat.add("user", "The ferry sails from Bergen.", id="found")
        later = memory.session("later", user="ada")
        assert [hit.message_ids for hit in later.recall("Where does the ferry sail?")] == [("found",)]
