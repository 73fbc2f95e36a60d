"""A model for English is not asked about texts in other scripts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import Memory
from recollect.embed import Kind
from recollect.embed.hashing import HashingEmbedder
from recollect.embed.scripts import ENGLISH, reads


class English(HashingEmbedder):
    """A model for English that takes all other texts for the same."""

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self.name = "onnx:e5-small-v2"

    def embed(self, texts: Sequence[str], kind: Kind = "passage") -> npt.NDArray[np.float32]:
        return super().embed([text if text.isascii() else "red car" for text in texts], kind)


@pytest.mark.parametrize(
    ("text", "can"),
    [
        ("Where does my sister live?", True),
        ("Wo wohnt meine Schwester Käthe? Żółw", True),
        ("", True),
        ("4711 👍", True),
        ("我妹妹住在哪里?", False),
        ("Где живёт моя сестра?", False),
        ("أين تعيش أختي؟", False),
        ("मेरी बहन कहाँ रहती है", False),
        ("Is 北京 a large city?", True),
        ("北京的 API 在哪里可以找到", False),
    ],
)
def test_letters_tell(text: str, can: bool) -> None:
    assert [reads(name, text) for name in sorted(ENGLISH)] == [can] * len(ENGLISH)


@given(st.text())
def test_any_other_model_reads_any_text(text: str) -> None:
    assert reads("openai:text-embedding-3-small", text)


def test_recall_goes_by_words_where_the_model_can_not_read() -> None:
    with Memory.open(":memory:", embedder=English(64)) as memory:
        chat = memory.session("a", user="ming")
        for said in ("我的车是红色的。", "我妹妹五月搬到了上海。", "我对花生过敏。"):
            chat.add_turn(said, "好的!")
        memory.drain()
        assert "上海" in chat.search("我妹妹住在哪里?")[0].text


def test_what_the_model_can_not_read_is_near_to_no_question() -> None:
    with Memory.open(":memory:", embedder=English(64)) as memory:
        chat = memory.session("a", user="ming")
        chat.add_turn("我对花生过敏。", "好的!")
        chat.add_turn("The tea is green.", "It is.")
        chat.documents.add("我妹妹五月搬到了上海。", name="sister")
        memory.drain()
        later = memory.session("b", user="ming")
        assert later.search("red car").by_chance
        assert later.context("red car").memory == ""
        assert "花生" in later.search("花生")[0].text
        assert chat.documents.search("red car") == []
        assert chat.documents.search("上海")[0].document == "sister"


def test_in_a_language_that_the_model_was_not_trained_on_words_tell_what_was_never_said() -> None:
    with Memory.open(":memory:", embedder=English(64)) as memory:
        chat = memory.session("a", user="jörg")
        chat.add_turn("Meine Schwester ist nach Käthen gezogen.", "Wie schön für sie!")
        chat.add_turn("Der Tee ist grün.", "Ja, das ist er.")
        memory.drain()
        later = memory.session("b", user="jörg")
        assert later.context("Wie heißt das höchste Gebäude der Welt?").memory == ""
        assert later.search("Wie heißt das höchste Gebäude der Welt?").by_chance
        assert "Käthen" in later.context("Wo wohnt meine Schwester?").memory


def test_a_replay_reads_no_more_than_the_context_did() -> None:
    with Memory.open(":memory:", embedder=English(64)) as memory:
        memory.session("a", user="ming").add_turn("我对花生过敏。", "好的!")
        memory.drain()
        chat = memory.session("b", user="ming")
        asked = chat.add("user", "red car")
        chat.add_turn("The tea is green.", "It is.")
        memory.drain()
        assert chat.search("tea")  # so that later turns are known, too
        assert chat.replay(asked.id).memory == ""
