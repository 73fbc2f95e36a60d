"""What a log must do."""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import Any

import pytest

from recollect.errors import ConfigError, Conflict, InvalidTranscript, NotFound
from recollect.frozen import freeze
from recollect.store import Filter, Job, Store
from recollect.store.spoken import spoken_of
from recollect.testing.clock import ManualClock
from recollect.testing.stores.base import (
    ACME,
    ADA,
    ADA_TOO,
    BOB,
    EVERYONE,
    NOON,
    RIVAL,
    USER,
    StoreTests,
    found,
    said,
    say,
    texts,
)
from recollect.types import Image, Message, Opaque, Scope, Text, Thinking, ToolCall, ToolResult


class LogTests(StoreTests):
    """Appending, reading, tagging."""

    def test_append_numbers_a_session_from_one(self, store: Store) -> None:
        first = say(store, ADA, "a", "b")
        second = say(store, ADA, "c")
        assert [entry.seq for entry in first + second] == [1, 2, 3]

    def test_each_session_has_its_own_numbers(self, store: Store) -> None:
        for scope in EVERYONE:
            assert [entry.seq for entry in say(store, scope, "a", "b")] == [1, 2]

    def test_positions_grow_over_all_sessions_of_a_user(self, store: Store) -> None:
        entries = say(store, ADA, "a") + say(store, ADA_TOO, "b") + say(store, ADA, "c")
        positions = [entry.position for entry in entries]
        assert positions == sorted(set(positions))
        assert positions[0] > 0

    def test_append_gives_back_what_read_gives(self, store: Store) -> None:
        assert say(store, ADA, "a", "b") == store.log.read(ADA)

    def test_append_nothing_does_nothing(self, store: Store) -> None:
        assert store.log.append(ADA, [], jobs=[Job("never")]) == []
        assert store.log.sessions(ACME) == []
        assert store.jobs.find(ACME) == []

    def test_append_sets_what_is_absent(self, store: Store) -> None:
        (entry,) = store.log.append(ADA, [Message("user", "hi")])
        assert entry.message.id
        assert entry.message.at == entry.message.received == NOON

    def test_append_keeps_what_is_given(self, store: Store) -> None:
        earlier, later = NOON.replace(year=1999), NOON.replace(year=2001)
        (entry,) = store.log.append(ADA, [said("hi", "m1", at=earlier, received=later, name="Ada", shape="openai")])
        assert entry.message == said("hi", "m1", at=earlier, received=later, name="Ada", shape="openai")

    def test_made_ids_differ(self, store: Store) -> None:
        entries = store.log.append(ADA, [Message("user", "same")] * 100)
        assert len({entry.message.id for entry in entries}) == 100

    def test_append_needs_a_session(self, store: Store) -> None:
        for scope in (ACME, USER):
            with pytest.raises(ConfigError, match="session"):
                store.log.append(scope, [said("a")])

    def test_append_refuses_what_is_no_message(self, store: Store) -> None:
        given: list[Any] = [said("a"), "b"]
        with pytest.raises(InvalidTranscript):
            store.log.append(ADA, given)
        assert store.log.read(ADA) == []

    def test_every_part_comes_back_as_it_was(self, store: Store) -> None:
        messages = [
            Message("system", "be brief", "1", metadata=freeze({"deep": {"list": [1, 2.5, None, True, "x"]}})),
            Message("user", (Text("look"), Image(data="aGk=", media_type="image/png", width=3)), "2"),
            Message("assistant", (Thinking("hm", "sig=="), ToolCall("c1", "f", '{"broken'), ToolCall("c2", "g")), "3"),
            Message("tool", (ToolResult("c1", "no", is_error=True), ToolResult("c2", (Text("yes"),))), "4"),
            Message(
                "assistant",
                (Opaque("gemini", freeze({"thoughtSignature": "xyz"})),),
                "5",
                extra=freeze({"refusal": None}),
            ),
        ]
        entries = store.log.append(ADA, messages)
        again = [entry.message for entry in store.log.read(ADA)]
        assert again == [entry.message for entry in entries]
        assert [m.replace(at=None, received=None) for m in again] == messages

    def test_text_that_prints_as_something_else_is_kept_as_it_is(self, store: Store) -> None:
        class Word(str):  # as the members of an enum of texts
            __slots__ = ()

            def __format__(self, spec: str) -> str:
                return "Word.USER"

        role: Any = Word("user")
        store.log.append(ADA, [Message(role, "apple", "1", metadata=freeze({"by": role}))])
        (entry,) = store.log.read(ADA)
        assert (type(entry.message.role), type(entry.message.metadata["by"])) == (str, str)
        for by in ("user", role):
            assert found(store, ADA, "apple", where=Filter(roles=("user",), metadata=freeze({"by": by}))) == ["1"]
        assert store.check() == []

    def test_the_same_message_again_is_kept_once(self, store: Store) -> None:
        first = say(store, ADA, "a", "b")
        assert say(store, ADA, "a", "b") == first
        assert store.log.read(ADA) == first

    def test_a_batch_may_hold_known_and_new(self, store: Store) -> None:
        say(store, ADA, "a", "b")
        assert [entry.seq for entry in say(store, ADA, "b", "c", "a")] == [2, 3, 1]
        assert texts(store.log.read(ADA)) == ["a", "b", "c"]

    def test_a_message_twice_in_a_batch_is_kept_once(self, store: Store) -> None:
        assert [entry.seq for entry in say(store, ADA, "a", "a")] == [1, 1]
        assert texts(store.log.read(ADA)) == ["a"]

    def test_the_same_message_later_is_still_the_same(self, store: Store, clock: ManualClock) -> None:
        first = say(store, ADA, "a")
        clock.forward(days=1)
        assert say(store, ADA, "a") == first

    @pytest.mark.parametrize(
        "changed",
        [
            said("other", "a"),
            Message("assistant", "a", "a"),
            said("a", "a", metadata={"x": 1}),
            said("a", "a", at=NOON.replace(year=1990)),
        ],
    )
    def test_the_same_id_with_other_content_is_a_conflict(self, store: Store, changed: Message) -> None:
        first = say(store, ADA, "a")
        with pytest.raises(Conflict, match="'a'"):
            store.log.append(ADA, [said("new", "new"), changed])
        assert store.log.read(ADA) == first

    def test_an_id_is_known_in_its_session_only(self, store: Store) -> None:
        say(store, ADA, "a")
        store.log.append(ADA_TOO, [said("other", "a")])
        store.log.append(RIVAL, [said("third", "a")])
        assert texts(store.log.read(ADA)) == ["a"]

    def test_a_tagged_message_is_still_the_same(self, store: Store) -> None:
        say(store, ADA, "a")
        tagged = store.log.tag(ADA, "a", {"important": True})
        assert say(store, ADA, "a") == [tagged]

    def test_jobs_come_with_new_messages_only(self, store: Store) -> None:
        store.log.append(ADA, [said("a", "a")], jobs=[Job("embed")])
        store.log.append(ADA, [said("a", "a")], jobs=[Job("embed")])
        assert [job.kind for job in store.jobs.find(ADA)] == ["embed"]
        assert store.jobs.find(ADA)[0].scope == ADA

    def test_a_refused_batch_leaves_no_jobs_and_no_words(self, store: Store) -> None:
        say(store, ADA, "a")
        with pytest.raises(Conflict):
            store.log.append(ADA, [said("zebra", "z"), said("other", "a")], jobs=[Job("embed")])
        assert store.jobs.find(ADA) == []
        assert found(store, ADA, "zebra") == []

    def test_tokens_are_kept(self, store: Store) -> None:
        store.log.append(ADA, [said("a"), said("b")], tokens=[3, 4])
        assert [entry.tokens for entry in store.log.read(ADA)] == [3, 4]
        assert store.log.sessions(ADA)[0].tokens == 7

    @pytest.mark.parametrize("tokens", [[1], [1, 2, 3], [1, -1], [1, 1.5], [1, True]])
    def test_tokens_must_fit_the_messages(self, store: Store, tokens: list[int]) -> None:
        with pytest.raises(ConfigError, match="token"):
            store.log.append(ADA, [said("a"), said("b")], tokens=tokens)
        assert store.log.read(ADA) == []

    def test_read_of_nothing_is_empty(self, store: Store) -> None:
        assert store.log.read(ADA) == []
        assert store.log.scan(ACME) == []
        assert store.log.sessions(ACME) == []
        assert store.log.verify(ACME) == []

    def test_read_a_range(self, store: Store) -> None:
        say(store, ADA, *"abcdefg")
        assert texts(store.log.read(ADA, after=2, until=5)) == ["c", "d", "e"]
        assert texts(store.log.read(ADA, after=5)) == ["f", "g"]
        assert texts(store.log.read(ADA, until=2)) == ["a", "b"]
        assert store.log.read(ADA, after=7) == store.log.read(ADA, after=5, until=3) == []

    def test_read_the_last_ones(self, store: Store) -> None:
        say(store, ADA, *"abcdefg")
        assert texts(store.log.read(ADA, limit=3, reverse=True)) == ["g", "f", "e"]
        assert texts(store.log.read(ADA, until=5, limit=2, reverse=True)) == ["e", "d"]

    def test_read_page_by_page_is_read_at_once(self, store: Store) -> None:
        say(store, ADA, *(str(number) for number in range(25)))
        pages, after = [], 0
        while page := store.log.read(ADA, after=after, limit=7):
            pages += page
            after = page[-1].seq
        assert pages == store.log.read(ADA)

    def test_read_backwards_page_by_page(self, store: Store) -> None:
        say(store, ADA, *(str(number) for number in range(25)))
        pages, until = [], None
        while page := store.log.read(ADA, until=until, limit=7, reverse=True):
            pages += page
            until = page[-1].seq - 1
        assert pages == store.log.read(ADA)[::-1]

    def test_read_as_of_an_earlier_moment_does_not_change(self, store: Store) -> None:
        say(store, ADA, "a", "b")
        before = store.log.read(ADA, until=2)
        say(store, ADA, "c")
        assert store.log.read(ADA, until=2) == before

    @pytest.mark.parametrize("bad", [{"limit": 0}, {"limit": -1}, {"after": -1}, {"until": -1}, {"limit": True}])
    def test_read_refuses_senseless_ranges(self, store: Store, bad: dict[str, Any]) -> None:
        with pytest.raises(ConfigError):
            store.log.read(ADA, **bad)

    def test_read_needs_a_session(self, store: Store) -> None:
        with pytest.raises(ConfigError, match="session"):
            store.log.read(USER)

    def test_scan_follows_all_sessions_of_a_user(self, store: Store) -> None:
        say(store, ADA, "a")
        say(store, ADA_TOO, "b")
        say(store, BOB, "c")
        say(store, ADA, "d")
        say(store, RIVAL, "e")
        assert texts(store.log.scan(USER)) == ["a", "b", "d"]
        assert sorted(texts(store.log.scan(ACME))) == ["a", "b", "c", "d"]
        assert texts(store.log.scan(ADA)) == ["a", "d"]

    def test_scan_page_by_page(self, store: Store) -> None:
        for number in range(20):
            say(store, (ADA, ADA_TOO)[number % 3 == 0], str(number))
        pages, after = [], 0
        while page := store.log.scan(USER, after=after, limit=6):
            pages += page
            after = page[-1].position
        assert texts(pages) == [str(number) for number in range(20)]

    def test_spoken_is_what_scan_finds(self, store: Store) -> None:
        late = NOON.replace(year=9999, tzinfo=timezone(timedelta(hours=-14)))
        parts = (Thinking("hm"), Text("two"), ToolCall("c", "look"), Text("parts"))
        store.log.append(ADA, [Message("user", "hi", "a", at=late, name="Ada"), Message("system", " ", "b")])
        store.log.append(ADA_TOO, [Message("assistant", parts, "c"), Message("user", "gone", "d")])
        store.log.append(ADA, [Message("tool", (ToolResult("c", (Text("six"), Text("rain"))),), "e", received=late)])
        store.log.append(BOB, [Message("user", "bob's", "a")])
        store.log.append(ADA_TOO, [Message("user", "", "f", name="")])
        store.log.tag(ADA, "a", {"pinned": True})
        store.log.erase(ADA_TOO, ["d"])
        for scope in (USER, ADA, ADA_TOO, ACME, Scope("nobody")):
            assert store.log.spoken(scope) == list(map(spoken_of, store.log.scan(scope)))
        assert [spoken.text for spoken in store.log.spoken(USER)] == ["hi", " ", "two\nparts", "six\nrain", ""]

    def test_spoken_page_by_page(self, store: Store) -> None:
        for number in range(20):
            say(store, (ADA, ADA_TOO)[number % 3 == 0], str(number))
        pages, after = [], 0
        while page := store.log.spoken(USER, after=after, limit=6):
            pages.append(page)
            after = page[-1].position
        assert [spoken.text for page in pages for spoken in page] == [str(number) for number in range(20)]
        assert list(map(len, pages)) == [6, 6, 6, 2]
        for bad in ({"limit": 0}, {"after": -1}):
            with pytest.raises(ConfigError):
                store.log.spoken(USER, **bad)

    def test_get_in_the_order_asked_for(self, store: Store) -> None:
        say(store, ADA, "a", "b", "c")
        assert texts(store.log.get(ADA, ["c", "nope", "a", "c"])) == ["c", "a"]
        assert store.log.get(ADA, []) == []

    def test_one_text_is_no_list_of_ids(self, store: Store) -> None:
        say(store, ADA, "a", "b")
        for mistaken in (store.log.get, store.log.erase, store.records.get, store.records.delete):
            with pytest.raises(ConfigError, match="give a list of ids, not one text"):
                mistaken(ADA, "ab")
        assert texts(store.log.read(ADA)) == ["a", "b"]

    def test_get_over_a_whole_user(self, store: Store) -> None:
        say(store, ADA, "a")
        say(store, ADA_TOO, "b")
        say(store, BOB, "a")
        entries = store.log.get(USER, ["b", "a"])
        assert [(entry.scope, entry.message.text) for entry in entries] == [(ADA_TOO, "b"), (ADA, "a")]

    def test_get_an_id_that_two_sessions_have(self, store: Store) -> None:
        say(store, ADA_TOO, "a", "b")
        say(store, ADA, "a")
        entries = store.log.get(USER, ["b", "a"])
        assert [(entry.scope, entry.message.id) for entry in entries] == [(ADA_TOO, "b"), (ADA_TOO, "a"), (ADA, "a")]

    def test_get_an_id_that_the_older_session_got_later(self, store: Store) -> None:
        say(store, ADA, "b")
        say(store, ADA_TOO, "a")
        say(store, ADA, "a")
        assert [entry.scope for entry in store.log.get(USER, ["a"])] == [ADA_TOO, ADA]

    def test_get_many(self, store: Store) -> None:
        names = [str(number) for number in range(1_500)]
        say(store, ADA, *names)
        assert texts(store.log.get(ADA, names[::-1])) == names[::-1]

    def test_sessions_at_a_glance(self, store: Store, clock: ManualClock) -> None:
        store.log.append(ADA, [said("a")], tokens=[5])
        clock.forward(hours=1)
        store.log.append(ADA, [said("b")], tokens=[6])
        (session,) = store.log.sessions(ACME)
        assert (session.scope, session.messages, session.tokens) == (ADA, 2, 11)
        assert (session.first, session.last) == (NOON, clock.now)

    def test_sessions_the_last_written_first(self, store: Store) -> None:
        for scope in (ADA, ADA_TOO, ADA):
            store.log.append(scope, [said("x")])
        assert [session.scope for session in store.log.sessions(USER)] == [ADA, ADA_TOO]

    def test_sessions_page_by_page(self, store: Store) -> None:
        scopes = [Scope("acme", "ada", str(number)) for number in range(12)]
        for scope in scopes:
            say(store, scope, "x")
        pages, before = [], None
        while page := store.log.sessions(USER, before=before, limit=5):
            pages += page
            before = page[-1].position
        assert [session.scope for session in pages] == scopes[::-1]
        assert store.log.sessions(scopes[0], before=pages[-1].position + 1) == pages[-1:]
        assert store.log.sessions(scopes[0], before=pages[-1].position) == []

    def test_tag_lays_over_metadata(self, store: Store) -> None:
        store.log.append(ADA, [said("a", "a", metadata={"kept": 1, "changed": 1, "removed": 1})])
        entry = store.log.tag(ADA, "a", {"changed": 2, "removed": None, "new": [1, {"deep": True}]})
        assert entry.message.metadata == {"kept": 1, "changed": 2, "new": [1, {"deep": True}]}
        assert store.log.read(ADA) == [entry]

    def test_which_tags_were_taken_off_is_known(self, store: Store) -> None:
        store.log.append(ADA, [said("a", "a", metadata={"x": 1}), said("b", "b")])
        assert store.log.tag(ADA, "a", {"x": None, "y": None, "z": 1}).taken_off == {"x", "y"}
        store.log.tag(ADA, "a", {"y": 2})
        assert [entry.taken_off for entry in store.log.read(ADA)] == [{"x"}, set()]

    def test_the_openings_of_many_sessions(self, store: Store) -> None:
        for scope in EVERYONE:
            say(store, scope, "a", "b", "c")
        store.log.erase(ADA, ["a"])
        far = Scope("acme", "u" * 300, "s" * 300)
        say(store, far, "far")
        asked = [far, ADA_TOO, ADA, BOB, Scope("acme", "ada", "none")]
        assert store.log.openings(asked, 2) == [store.log.read(scope, limit=2) for scope in asked]
        assert [texts(entries) for entries in store.log.openings(asked, 1)] == [["far"], ["a"], ["b"], ["a"], []]
        assert store.log.openings([], 1) == []
        with pytest.raises(ConfigError):
            store.log.openings([USER], 1)

    def test_tags_add_up(self, store: Store) -> None:
        say(store, ADA, "a")
        store.log.tag(ADA, "a", {"x": 1, "y": 1})
        store.log.tag(ADA, "a", {"y": 2})
        assert store.log.read(ADA)[0].message.metadata == {"x": 1, "y": 2}

    def test_tag_leaves_content_and_hash(self, store: Store) -> None:
        (before,) = say(store, ADA, "a")
        after = store.log.tag(ADA, "a", {"x": 1})
        assert (after.hash, after.position, after.message.text) == (before.hash, before.position, "a")
        assert store.log.verify(ADA) == []

    def test_tag_of_nothing_is_not_found(self, store: Store) -> None:
        say(store, ADA, "a")
        for scope, id in ((ADA, "b"), (ADA_TOO, "a"), (RIVAL, "a")):
            with pytest.raises(NotFound):
                store.log.tag(scope, id, {"x": 1})

    def test_hashes_chain(self, store: Store) -> None:
        entries = say(store, ADA, "a", "b", "c")
        assert len({entry.hash for entry in entries}) == 3
        assert store.log.verify(ADA) == []

    def test_the_clock_changes_no_order(self, store: Store, clock: ManualClock) -> None:
        for number, days in enumerate((0, 3_650, -7_300, 1, -1, 3_650)):
            clock.forward(days=days)
            say(store, (ADA, ADA_TOO)[number % 2], str(number))
        assert texts(store.log.scan(USER)) == list("012345")
        assert texts(store.log.read(ADA)) == list("024")
        assert [session.scope for session in store.log.sessions(ACME)] == [ADA_TOO, ADA]
        assert store.log.verify(ACME) == []
