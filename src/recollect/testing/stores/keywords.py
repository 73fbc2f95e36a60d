"""What an index must do with words."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from recollect.errors import ConfigError
from recollect.frozen import freeze
from recollect.store import Filter, Item, Store
from recollect.testing.stores.base import ACME, ADA, ADA_TOO, BOB, EVERYONE, NOON, USER, StoreTests, found, said, say
from recollect.types import Message, Role, Scope, ToolCall

SYNTAX = (
    '"', "'", "apple AND", "NOT apple", "apple*", "text : apple", "(apple", 'a"b', "apple NEAR(x", "-apple", "^apple",
    "apple; DROP TABLE words", "{scope text} : t1", "apple & !pear | <-> :*", "apple%' OR '1'='1",
)  # fmt: skip


class KeywordTests(StoreTests):
    """Finding by words."""

    def test_a_message_is_found_at_once(self, store: Store) -> None:
        say(store, ADA, "My sister moved to Oslo", "The weather is fine")
        assert found(store, ADA, "oslo") == ["My sister moved to Oslo"]
        (match,) = store.index.search(ADA, "oslo")
        assert (match.scope, match.kind) == (ADA, "message")
        assert match.score > 0

    def test_case_accents_and_endings_do_not_matter(self, store: Store) -> None:
        say(store, ADA, "We were Running to the CAFÉ")
        for asked in ("run", "runs", "cafe", "café", "Cafés"):
            assert found(store, ADA, asked), asked

    def test_better_matches_come_first(self, store: Store) -> None:
        say(store, ADA, "apples", "pears and plums", "apples, apples and pears", "nothing of it", "grapes", "figs")
        assert found(store, ADA, "apples pears")[0] == "apples, apples and pears"
        scores = [match.score for match in store.index.search(ADA, "apples pears")]
        assert scores == sorted(scores, reverse=True)

    def test_k_is_kept(self, store: Store) -> None:
        say(store, ADA, *(f"apple {number}" for number in range(20)))
        assert len(store.index.search(ADA, "apple", 7)) == 7
        with pytest.raises(ConfigError):
            store.index.search(ADA, "apple", 0)

    @pytest.mark.parametrize(
        "text", ["", " ", "?!", "\x00", "\ud800", "🫠" * 3, "the of and", "x" * 100_000, "a " * 50_000]
    )
    def test_odd_queries_find_nothing_and_break_nothing(self, store: Store, text: str) -> None:
        say(store, ADA, "plain words")
        assert found(store, ADA, text) == []

    @pytest.mark.parametrize("text", SYNTAX)
    def test_nothing_in_a_query_is_syntax(self, store: Store, text: str) -> None:
        say(store, ADA, "apple pie")
        assert found(store, ADA, text) == (["apple pie"] if "apple" in text else [])

    def test_scope_tokens_are_not_words(self, store: Store) -> None:
        say(store, ADA, "x1 marks")
        assert found(store, ADA, "t1") == found(store, ADA, "u2") == []
        assert found(store, ADA, "x1") == ["x1 marks"]

    @pytest.mark.parametrize(
        ("text", "asked"),
        [
            ("我昨天去了东京都看樱花", "东京"),
            ("私は東京に住んでいます", "住んで"),
            ("나는 어제 서울에서 친구를 만났다", "서울"),
            ("ฉันชอบกินข้าวผัด", "ข้าวผัด"),
            ("वह कल दिल्ली गया था", "दिल्ली"),
            ("я вчера ездил в Москву", "москву"),
            ("سافرت إلى القاهرة أمس", "القاهرة"),
            ("I love it 🎉 so much", "🎉"),
            ("\uff26\uff35\uff2c\uff2c width", "full"),
        ],
    )
    def test_other_scripts_are_found(self, store: Store, text: str, asked: str) -> None:
        say(store, ADA, "something else", text)
        assert found(store, ADA, asked) == [text]

    def test_common_words_count_only_when_there_are_no_others(self, store: Store) -> None:
        say(store, ADA, "to be or not to be", "the oslo trip")
        assert found(store, ADA, "what about the oslo trip to") == ["the oslo trip"]
        assert found(store, ADA, "not to be") == ["to be or not to be"]

    def test_calls_and_empty_messages_are_not_found(self, store: Store) -> None:
        store.log.append(ADA, [Message("assistant", (ToolCall("c", "oslo", '{"oslo": 1}'),)), Message("user", "")])
        assert found(store, ADA, "oslo") == []

    def test_a_search_stays_in_its_scope(self, store: Store) -> None:
        for scope in EVERYONE:
            store.log.append(scope, [said("secret", str(scope))])
        assert found(store, ADA, "secret") == [str(ADA)]
        assert set(found(store, USER, "secret")) == {str(ADA), str(ADA_TOO)}
        assert set(found(store, ACME, "secret")) == {str(ADA), str(ADA_TOO), str(BOB)}
        assert found(store, Scope("nobody"), "secret") == found(store, Scope("acme", "eve", "x"), "secret") == []

    def test_exact_finds_what_was_put_at_that_very_scope(self, store: Store) -> None:
        say(store, ADA, "shared word")
        for scope in (ACME, USER):
            store.index.put(scope, [Item("chunk", str(scope), "shared word")])
        assert found(store, USER, "shared", where=Filter(exact=True)) == [str(USER)]
        assert found(store, ACME, "shared", where=Filter(exact=True)) == [str(ACME)]
        assert len(found(store, ACME, "shared")) == 3

    def test_kinds(self, store: Store) -> None:
        say(store, ADA, "apple")
        store.index.put(ADA, [Item("chunk", "c", "apple"), Item("fact' OR 1", "f", "apple")])
        assert found(store, ADA, "apple", where=Filter(kinds=("chunk",))) == ["c"]
        assert set(found(store, ADA, "apple", where=Filter(kinds=("message", "fact' OR 1")))) == {"apple", "f"}
        assert found(store, ADA, "apple", where=Filter(kinds=("none",))) == []

    def test_filters_hold(self, store: Store) -> None:
        day = timedelta(days=1)
        roles: tuple[Role, ...] = ("user", "assistant", "user")
        for number, role in enumerate(roles):
            store.log.append(ADA, [Message(role, "apple", str(number), at=NOON + number * day)])
        (*_, last) = store.log.read(ADA)
        assert set(found(store, ADA, "apple", where=Filter(since=NOON + day))) == {"1", "2"}
        assert set(found(store, ADA, "apple", where=Filter(before=NOON + day))) == {"0"}
        assert set(found(store, ADA, "apple", where=Filter(roles=("user",)))) == {"0", "2"}
        assert set(found(store, ADA, "apple", where=Filter(as_of=last.position - 1))) == {"0", "1"}
        assert found(store, ADA, "apple", where=Filter(roles=("user",), since=NOON + day)) == ["2"]

    def test_metadata_filters_hold_and_follow_tags(self, store: Store) -> None:
        for number in range(40):
            store.log.append(ADA, [said("apple", str(number), metadata=freeze({"n": number, "odd": number % 2 == 1}))])
        assert found(store, ADA, "apple", where=Filter(metadata=freeze({"n": 7}))) == ["7"]
        assert len(found(store, ADA, "apple", where=Filter(metadata=freeze({"odd": True})))) == 20
        assert found(store, ADA, "apple", where=Filter(metadata=freeze({"odd": 1}))) == []
        assert found(store, ADA, "apple", where=Filter(metadata=freeze({"absent": None}))) == []
        store.log.tag(ADA, "4", {"starred\x00syes": "\ud800", "starred": "yes"})
        store.log.tag(ADA, "3", {"starred": "yes\x00s\ud800"})
        assert found(store, ADA, "apple", where=Filter(metadata=freeze({"starred": "yes\x00s\ud800"}))) == ["3"]
        store.log.tag(ADA, "3", {"starred": "yes\x00\ud800"})
        assert found(store, ADA, "apple", where=Filter(metadata=freeze({"starred": "yes\x00\ud800"}))) == ["3"]

    @pytest.mark.parametrize(
        "bad",
        [
            {"roles": ("robot",)},
            {"roles": "user"},
            {"kinds": "chunk"},
            {"metadata": {"a": [1]}},
            {"as_of": 2**63},
            {"as_of": -1},
        ],
    )
    def test_senseless_filters_are_refused(self, bad: dict[str, Any]) -> None:
        with pytest.raises(ConfigError):
            Filter(**bad)

    def test_put_replaces(self, store: Store) -> None:
        store.index.put(ADA, [Item("chunk", "c", "apple")])
        store.index.put(ADA, [Item("chunk", "c", "pear", role="user", at=NOON)])
        assert found(store, ADA, "apple") == []
        assert found(store, ADA, "pear") == ["c"]
        (item,) = store.index.get(ADA, "chunk", ["c"])
        assert (item.text, item.role, item.at, item.scope) == ("pear", "user", NOON, ADA)

    def test_items_come_back_whole(self, store: Store) -> None:
        given = Item("chunk", "c", "a\x00\ud800", NOON, "tool", freeze({"x": [1, {"y": None}]}), ("m1",))
        store.index.put(USER, [given])
        (item,) = store.index.get(ACME, "chunk", ["nope", "c"])
        assert (item.text, item.at, item.role, item.metadata, item.sources) == (
            given.text, given.at, given.role, given.metadata, given.sources
        )  # fmt: skip

    def test_messages_are_items_too(self, store: Store) -> None:
        say(store, ADA, "apple")
        (item,) = store.index.get(USER, "message", ["apple"])
        assert (item.text, item.role, item.at, item.sources, item.scope) == ("apple", "user", NOON, ("apple",), ADA)

    def test_delete(self, store: Store) -> None:
        store.index.put(ADA, [Item("chunk", "c", "apple"), Item("other", "c", "apple")])
        assert store.index.delete(BOB, "chunk", ["c"]) == 0
        assert store.index.delete(ADA, "chunk", ["c", "nope"]) == 1
        assert [match.kind for match in store.index.search(ADA, "apple")] == ["other"]

    def test_messages_belong_to_the_log(self, store: Store) -> None:
        say(store, ADA, "apple")
        with pytest.raises(ConfigError):
            store.index.delete(ADA, "message", ["apple"])
        with pytest.raises(ConfigError):
            store.index.put(ADA, [Item("message", "m", "pear")])

    def test_ten_thousand_equal_items(self, store: Store) -> None:
        store.index.put(ADA, [Item("chunk", str(number), "same words here") for number in range(10_000)])
        assert len(store.index.search(ADA, "same words", 25)) == 25

    def test_reindex_changes_nothing(self, store: Store) -> None:
        say(store, ADA, "apple pie", "pear")
        store.index.put(USER, [Item("chunk", "c", "apple tart")])
        before = store.index.search(USER, "apple")
        steps: list[tuple[int, int]] = []
        assert store.reindex(lambda done, total: steps.append((done, total))) == 3
        assert steps[-1] == (3, 3)
        assert store.index.search(USER, "apple") == before
        assert store.check() == []
