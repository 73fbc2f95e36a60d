"""Text as the words it is found by."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable

import apsw
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from recollect.layers.procedural import topic_words
from recollect.store.stem import stem
from recollect.store.words import COMMON, MAX_QUERY, _split, _split_folded, query_words, words

SYLLABLES = re.findall(
    "[a-z]+", "con form al iz ation ness ful ly ing ed er est y ies s bl logi ti on ment able e ee ll tt"
)


@given(st.sampled_from(["trav", "kip", "moun"]), st.lists(st.sampled_from(SYLLABLES), max_size=5).map("".join))
def test_stems_are_those_of_sqlites_porter(start: str, end: str) -> None:
    word = start + end
    assume("yy" not in word)  # no English word has it, and there the two differ
    tokenize = apsw.Connection(":memory:").fts5_tokenizer("porter", ["ascii"])
    assert tokenize(word.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False) == [(stem(word),)]


@pytest.mark.parametrize(
    "forms",
    [
        "buy buys buying bought",
        "write writes writing wrote written",
        "try tries trying tried",
        "child children",
        "take took",
    ],
)
def test_every_form_of_a_word_has_one_stem(forms: str) -> None:
    assert len(set(map(stem, forms.split()))) == 1


@pytest.mark.parametrize("pair", ["rose rise", "bit bite", "won win", "leaves leaf", "went go"])
def test_a_form_that_is_as_often_another_word_goes_by_itself(pair: str) -> None:
    assert len(set(map(stem, pair.split()))) == 2


@given(st.text())
def test_any_text_has_words_that_any_index_can_hold(text: str) -> None:
    for word in words(text):
        assert word
        assert len(word) <= 64
        assert not any(char.isspace() or char in "\"'\x00" or "\ud800" <= char <= "\udfff" for char in word)


TELLING = "aB_ \u00a0\u2003\u3000\n'\u0301\u093e\u0915\u03a3\u03c2\U0001d6ba\u00df\uac00\u6771\u4eac\u2615"


@given(st.text(st.one_of(st.characters(), st.sampled_from(TELLING))), st.booleans())
def test_what_stands_between_spaces_is_split_as_the_whole_would_be(text: str, singles: bool) -> None:
    assert list(_split(text, singles)) == list(_split_folded(text, singles))


@given(st.text(), st.text())
def test_a_text_is_found_by_its_own_words(text: str, more: str) -> None:
    asked = query_words(text)
    assert set(asked) <= set(words(text + "\n" + more))
    assert len(asked) <= MAX_QUERY
    assert len(set(asked)) == len(asked)


@given(st.text(alphabet="abcé東京 ", max_size=30))
def test_case_does_not_matter(text: str) -> None:
    assert words(text.upper()) == words(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("Don't stop_me now!", ["don", "t", "stop", "me", "now"]),
        ("Straße CAFÉ naïve", ["strass", "cafe", "naiv"]),
        ("東京都", ["東", "京", "都", "東京", "京都"]),
        ("水", ["水"]),
        ("iPhone15 v2", ["iphone15", "v2"]),
        ("👍🏽 ok", ["👍", "🏽", "ok"]),
        ("दिल्ली", ["दिल्ली"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_pairs_not_single_characters_are_asked_for() -> None:
    assert query_words("東京都") == ("東京", "京都")


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("车在哪里?", {"车", "车在"}),
        ("車の色は?", {"車", "色", "車の", "の色", "色は"}),
        ("東京の妹はどこですか", {"東京", "妹", "京の", "の妹", "妹は"}),
    ],
)
def test_a_chinese_character_that_stands_alone_is_asked_for(question: str, asked: set[str]) -> None:
    assert set(query_words(question)) == asked


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Was kostet die Fahrkarte nach Hamburg?", ("kostet", "fahrkart", "hamburg")),
        ("¿Cuánto cuesta un billete a Bilbao?", ("cuesta", "billet", "bilbao")),
        ("Combien coûte un billet pour Marseille ?", ("cout", "billet", "marseil")),
        ("Сколько стоит билет в Казань?", ("стоит", "билет", "казань")),
        ("Hafta sonu hava nasıl olacak?", ("hafta", "sonu", "hava")),
        ("कैसे काम करता है?", ("काम",)),
        ("今天天气怎么样?", ("今天", "天天", "天气", "气怎")),
        ("When did my dog die in the war?", ("dog", "die", "war")),
        ("Door code", ("door", "code")),
        ("Kim and Ben", ("kim", "ben")),
        ("Was hat er über the art of war gesagt?", ("hat", "er", "uber", "art", "war", "gesagt")),
        ("제 이름이 뭐예요?", ("이름", "름이")),
    ],
)
def test_common_words_are_those_of_the_language_asked_in(question: str, asked: tuple[str, ...]) -> None:
    assert query_words(question) == asked


def test_common_words_are_asked_for_only_alone() -> None:
    assert query_words("Where is the station?") == ("station",)
    assert query_words("Tell me what the guide told you about the station") == ("guid", "station")
    assert query_words("to be or not to be") == ("to", "be", "or", "not")
    assert 130 <= len(COMMON) <= 220


def test_a_long_query_keeps_its_longest_words() -> None:
    asked = query_words(" ".join(["xy" + "z" * (n % 40) + str(n) for n in range(500)]))
    assert len(asked) == MAX_QUERY
    assert min(map(len, asked)) > 30


@pytest.mark.parametrize("split", [words, topic_words])
def test_what_is_no_word_is_not_remembered(split: Callable[[str], object]) -> None:
    tracemalloc.start()
    try:
        for number in range(20):
            split(f"{number}" + "a" * 100_000)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 200_000
