"""Archives are read as they come, large ones piece by piece; what is broken is told, and what is no export refused."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import ConfigError
from recollect.imports import FORMATS, Skipped, detect, read, source
from tests.imports.exports import JSON, all_of, chatgpt, claude, written


@pytest.mark.parametrize("data", [chatgpt(), claude()], ids=["chatgpt", "claude"])
def test_the_archive_can_be_read_as_it_comes(tmp_path: Path, data: JSON) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("user.json", "{}")
        archive.writestr(
            "conversations-001.json", json.dumps([{**data, "uuid": "2", "id": "2", "conversation_id": "2"}])
        )
        archive.writestr("conversations-000.json", json.dumps([data]))
    found, skipped = all_of(tmp_path / "export.zip")
    assert [len(f.messages) for f in found] == [8, 8]
    assert (found[1].session, skipped) == ("2", [])


def test_an_archive_without_conversations_says_so(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.writestr("user.json", "{}")
    with pytest.raises(ConfigError, match=r"no conversations\.json"):
        detect(tmp_path / "export.zip")
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04")
    with pytest.raises(ConfigError, match="can't be read"):
        detect(tmp_path / "broken.zip")


def test_a_bad_conversation_is_skipped_and_told(tmp_path: Path) -> None:
    broken = {**chatgpt("bad"), "mapping": {"q1": 7}, "current_node": "q1"}
    empty = {**chatgpt("empty"), "mapping": {"root": {"id": "root", "message": None, "parent": None}}}
    path = written(tmp_path / "conversations.json", [chatgpt("a"), broken, 7, empty, chatgpt("b")])
    found, skipped = all_of(path)
    assert [f.session for f in found] == ["a", "b"]
    assert [(s.where, s.why) for s in skipped] == [
        ("conversations.json[1]", "node q1 is not an object"),
        ("conversations.json[2]", "no `mapping` of messages"),
        ("conversations.json[3]", "it has no messages"),
    ]


@pytest.mark.parametrize(
    ("conversation", "told"),
    [
        (chatgpt("a"), ("message q1", "author role 'wizard' is not user, assistant, system or tool")),
        (claude("a"), ("message m1", "sender 'wizard' is not human or assistant")),
    ],
)
def test_a_message_of_someone_unknown_costs_no_other(tmp_path: Path, conversation: JSON, told: tuple[str, str]) -> None:
    whole, _ = all_of(written(tmp_path / "conversations.json", [conversation]))
    broken = json.loads(json.dumps(conversation))
    if "mapping" in broken:
        broken["mapping"]["q1"]["message"]["author"]["role"] = "wizard"
    else:
        broken["chat_messages"][0]["sender"] = "wizard"
    found, skipped = all_of(written(tmp_path / "conversations.json", [broken]))
    gone = told[0].removeprefix("message ")
    left = [message for message in whole[0].messages if not message.id.startswith(gone)]
    assert [message.id for message in found[0].messages] == [message.id for message in left]
    assert [(s.where, s.why) for s in skipped] == [(f"conversations.json[0], {told[0]}", told[1])]


def test_a_file_that_breaks_off_gives_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([chatgpt("a"), chatgpt("b")])[:-200], "utf-8")
    found, skipped = all_of(path)
    assert [f.session for f in found] == ["a"]
    assert skipped[0].where == "conversations.json[1] and all after it"
    path.write_text(json.dumps([chatgpt("a")])[:-1], "utf-8")
    found, skipped = all_of(path)
    assert [f.session for f in found] == ["a"]
    assert skipped == [Skipped("conversations.json after [0]", "the file ends in the middle of the list")]


@pytest.mark.parametrize("chunk", [50, source.CHUNK])
def test_a_byte_that_is_no_text_costs_the_conversation_it_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(source, "CHUNK", chunk)
    raw = json.dumps([chatgpt("a"), chatgpt("b"), {**chatgpt("c"), "title": "\u00e9"}], ensure_ascii=False).encode()
    at = raw.index(b"What is one?", raw.index(b"What is one?") + 1)
    path = tmp_path / "conversations.json"
    path.write_bytes(raw[:at] + b"\xff" + raw[at + 1 :])
    found, skipped = all_of(path)
    assert [f.session for f in found] == ["a", "c"]
    assert [s.where for s in skipped] == ["conversations.json[1]"]
    assert skipped[0].why.startswith("not UTF-8 text: 'utf-8' codec can't decode byte 0xff")
    path.write_bytes(raw[:-1] + b",\xff]")
    found, skipped = all_of(path)
    assert [f.session for f in found] == ["a", "b", "c"]
    assert skipped[0].why.startswith("not UTF-8 text")


@pytest.mark.parametrize("place", [1, -1])
def test_an_archive_with_a_damaged_name_says_so(tmp_path: Path, place: int) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("é/conversations.json", json.dumps([chatgpt()]))
    parts = path.read_bytes().split("é".encode())
    path.write_bytes("é".encode().join(parts[:place]) + b"\xff\xff" + "é".encode().join(parts[place:]))
    with pytest.raises(ConfigError, match="can't be read"):
        list(read(path))


@pytest.mark.parametrize("packed", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_an_archive_that_is_damaged_inside_says_so(tmp_path: Path, packed: int) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", packed) as archive:
        archive.writestr("conversations.json", json.dumps([chatgpt(str(n)) for n in range(50)]))
    whole = path.read_bytes()
    for at in range(60, len(whole) - 200, 101):
        path.write_bytes(whole[:at] + b"\xff\x00\xff" + whole[at + 3 :])
        with pytest.raises(ConfigError):
            list(read(path))


@pytest.mark.parametrize("indent", [None, 1])
def test_values_that_stand_one_after_the_other_are_all_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, indent: int | None
) -> None:
    monkeypatch.setattr(source, "CHUNK", 50)  # the first line is longer
    path = tmp_path / "conversations.json"
    path.write_text("\n".join(json.dumps(chatgpt(id), indent=indent) for id in "abc"), "utf-8")
    assert [f.session for f in all_of(path)[0]] == ["a", "b", "c"]
    path.write_text("".join(json.dumps([chatgpt(id)], indent=indent) for id in "abc") + "]", "utf-8")
    found, skipped = all_of(path)
    assert [f.session for f in found] == ["a", "b", "c"]
    assert [s.where for s in skipped] == ["conversations.json value 4"]


UNREAD = r"can't be read \(not .*\): give an export as JSON, JSON lines or its archive, or convert it"
UNKNOWN = "format of .* is not recognised .* name it by format="


@pytest.mark.parametrize(
    ("junk", "told"),
    [
        *((empty, "is empty: give an export that has conversations in it") for empty in (b"", b"   ", b"[]")),
        *((broken, UNREAD) for broken in (b"\xff\xfe\x00", b"{", b"Hello!")),
        *((other, UNKNOWN) for other in (b"[1, 2", b'{"a": 1}', b"null")),
        *((other, UNKNOWN) for other in (b'{"message": "Hi"}', b'{"lc": 1, "id": 5, "kwargs": {}}')),
        (b'{"lc": 1, "id": {"a": 1}, "kwargs": {}}', UNKNOWN),
        (b"[" * 100_000, r"can't be read \(it is nested too deeply"),
    ],
)
def test_what_is_no_export_is_refused_with_what_was_tried(tmp_path: Path, junk: bytes, told: str) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(junk)
    with pytest.raises(ConfigError, match=told) as caught:
        detect(path)
    assert len(str(caught.value)) < 400 or junk.startswith(b"{")


def test_a_message_beside_a_role_is_no_row_of_langchain(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text('{"message": "Hi", "role": "user", "content": "Hello"}\n')
    assert detect(path) == "openai"


def test_the_error_names_each_format_and_why(tmp_path: Path) -> None:
    path = written(tmp_path / "file.json", [{"foo": 1}])
    with pytest.raises(ConfigError) as caught:
        read(path)
    for name in FORMATS:
        assert f"{name}: no " in str(caught.value)
    with pytest.raises(ConfigError, match="not one of"):
        read(path, "word")
    with pytest.raises(ConfigError, match=r"can't be read \(No such file or directory\): give .*export"):
        detect(tmp_path / "nowhere.json")


def test_a_large_file_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "CHUNK", 50)
    path = written(tmp_path / "conversations.json", [chatgpt(str(n)) for n in range(20)])
    found, skipped = all_of(path)
    assert [f.session for f in found] == [str(n) for n in range(20)]
    assert skipped == []


@given(
    st.lists(
        st.recursive(
            st.text() | st.booleans() | st.none(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=5,
        ),
        max_size=8,
    ),
    st.integers(1, 30),
)
def test_members_of_a_list_come_one_by_one_as_they_are(
    tmp_path_factory: pytest.TempPathFactory, data: list[JSON], chunk: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "list.json"
    path.write_text(json.dumps(data, indent=1, ensure_ascii=True), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "CHUNK", chunk)
        assert [value.data for value in source.values(path) if isinstance(value, source.Value)] == data
