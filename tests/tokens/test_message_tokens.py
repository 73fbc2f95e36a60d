"""What messages, parts, images and tool schemas cost, by the providers' rules."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.frozen import freeze_dict
from recollect.tokens import REPLY_TOKENS, count_message, count_messages, count_tools, counter, estimate, image_tokens
from recollect.tokens.images import LOW_DETAIL_TOKENS, MAX_IMAGE_TOKENS, size_of
from recollect.types import Image, Message, Opaque, Role, Text, Thinking, ToolCall, ToolResult

EXAMPLE: list[tuple[Role, str | None, str]] = [
    ("system", None, "You are a helpful, pattern-following assistant that translates corporate jargon into plain "
                     "English."),
    ("system", "example_user", "New synergies will help drive top-line growth."),
    ("system", "example_assistant", "Things working well together will increase revenue."),
    ("system", "example_user", "Let's circle back when we have more bandwidth to touch base on opportunities for "
                               "increased leverage."),
    ("system", "example_assistant", "Let's talk later when we're less busy about how to do better."),
    ("user", None, "This late pivot means we don't have time to boil the ocean for the client deliverable."),
]  # fmt: skip
"""The messages of OpenAI's published example of counting tokens."""


@pytest.mark.parametrize("encoding, published", [("cl100k_base", 129), ("o200k_base", 124)])
def test_openais_published_example_comes_out(encoding: str, published: int) -> None:
    messages = [Message(role, text, name=name) for role, name, text in EXAMPLE]
    assert count_messages(messages, counter(f"tiktoken:{encoding}")) == published


def words(text: str) -> int:
    return len(text.split())


def test_a_message_costs_four_more_than_its_text() -> None:
    assert count_message(Message("user", "one two"), words) == 4 + 2


def test_a_name_costs_its_text_and_one() -> None:
    assert count_message(Message("user", "one two", name="ada"), words) == 4 + 2 + 1 + 1


def test_plain_text_asks_the_counter_once() -> None:
    asked: list[str] = []

    def heard(text: str) -> int:
        asked.append(text)
        return 1

    count_message(Message("user", "one two"), heard)
    assert asked == ["one two"]


def test_no_messages_cost_the_start_of_the_reply() -> None:
    assert count_messages([], words) == REPLY_TOKENS == 3


@given(st.text(), st.text(), st.text())
def test_a_tool_call_is_never_free(call_id: str, name: str, arguments: str) -> None:
    bare = count_message(Message("assistant", ()), estimate)
    assert count_message(Message("assistant", (ToolCall(call_id, name, arguments),)), estimate) > bare


def test_a_tool_call_counts_its_name_and_all_its_arguments() -> None:
    short = Message("assistant", (ToolCall("c1", "search", '{"q":"x"}'),))
    long = Message("assistant", (ToolCall("c1", "search", '{"q":"x' + " word" * 499 + '"}'),))
    assert count_message(long, estimate) - count_message(short, estimate) >= 499


def test_a_call_and_its_result_count_their_ids_and_what_marks_them() -> None:
    assert count_message(Message("assistant", (ToolCall("call-1", "look", '{"a":1}'),)), len) == 4 + 4 + 6 + 4 + 7
    assert count_message(Message("tool", (ToolResult("call-1", "sunny"),)), len) == 4 + 4 + 6 + 5


def test_a_tool_result_counts_its_text_and_its_images() -> None:
    image = Image(data="", width=512, height=512)
    mixed = Message("tool", (ToolResult("c1", (Text("one two"), image)),))
    plain = Message("tool", (ToolResult("c1", "one two"),))
    assert count_message(mixed, words) - count_message(plain, words) == image_tokens(image)


def test_thinking_counts_its_text_signature_and_hidden_part() -> None:
    message = Message("assistant", (Thinking("one two", signature="sig", redacted="hidden"),))
    assert count_message(message, words) == 4 + 2 + 1 + 1


def test_a_part_of_one_provider_counts_as_its_smallest_json() -> None:
    message = Message("assistant", (Opaque("gemini", freeze_dict({"a": [1, "é"]}, "data")),))
    assert count_message(message, len) == 4 + len('{"a":[1,"é"]}')


def test_tool_schemas_count_as_their_smallest_json() -> None:
    assert count_tools([{"name": "f"}, {"name": "g"}], len) == 2 * len('{"name":"f"}')
    assert count_tools([], len) == 0


def png(width: int, height: int) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + head
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))


def jpeg(width: int, height: int, before: int = 20) -> bytes:
    segments = b"".join(
        kind + struct.pack(">H", size) + bytes(size - 2) for kind, size in ((b"\xff\xe0", before), (b"\xff\xdb", 67))
    )
    return b"\xff\xd8" + segments + b"\xff\xff\xc0" + struct.pack(">HBHH", 17, 8, height, width) + bytes(12)


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height)


def webp(kind: bytes, body: bytes) -> bytes:
    return b"RIFF\0\0\0\0WEBP" + kind + struct.pack("<I", len(body)) + body


IMAGES: dict[str, Callable[[int, int], bytes]] = {
    "png": png,
    "jpeg": jpeg,
    "jpeg with a long header": partial(jpeg, before=65_000),
    "gif": gif,
    "older gif": lambda width, height: gif(width, height).replace(b"89", b"87"),
    "webp, lossy, to be enlarged": lambda width, height: webp(
        b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width | 1 << 14, height | 1 << 14)
    ),
    "webp, lossless, not opaque": lambda width, height: webp(
        b"VP8L", b"\x2f" + struct.pack("<I", width - 1 | height - 1 << 14 | 1 << 28)
    ),
    "webp, extended": lambda width, height: webp(
        b"VP8X", bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    ),
}


@given(st.sampled_from([*IMAGES]), st.integers(1, 2**14 - 1), st.integers(1, 2**14 - 1), st.binary(min_size=2))
def test_the_size_of_an_image_is_read_from_its_first_bytes(kind: str, width: int, height: int, rest: bytes) -> None:
    raw = IMAGES[kind](width, height) + b"\xff" + rest
    for data in (base64.b64encode(raw), base64.urlsafe_b64encode(raw).rstrip(b"="), base64.encodebytes(raw)):
        image = data.decode()
        assert size_of(image) == (width, height)
        costs = {image_tokens(Image(data=image)), image_tokens(Image(url=f"data:image/x;base64,{image}"))}
        assert costs == {image_tokens(Image(width=width, height=height))}


@pytest.mark.parametrize(
    "width, height, tokens",
    [
        (1024, 1024, 1399), (512, 512, 350), (2048, 4096, 1600), (4096, 8192, 1600), (1092, 1092, 1590),
        (200, 200, 255), (1, 1, 255), (513, 512, 425), (1025, 100, 595), (2049, 100, 765), (1040, 790, 1096),
    ],
)  # fmt: skip
def test_an_image_costs_the_larger_of_openais_and_anthropics_rule(width: int, height: int, tokens: int) -> None:
    assert image_tokens(Image(width=width, height=height)) == tokens
    assert image_tokens(Image(width=height, height=width)) == tokens


def test_an_image_with_both_data_and_an_address_is_the_data() -> None:
    small, large = (base64.b64encode(png(side, side)).decode() for side in (300, 1_000))
    assert image_tokens(Image(data=small, url=f"data:image/png;base64,{large}")) == image_tokens(Image(data=small))


def test_a_longer_file_does_not_make_an_image_dearer() -> None:
    small, large = (base64.b64encode(png(300, 300) + bytes(size)).decode() for size in (10, 1_000_000))
    assert image_tokens(Image(data=small)) == image_tokens(Image(data=large))


@pytest.mark.parametrize(
    "image",
    [
        Image(url="https://example.org/cat.png"), Image(url=f"https://x.org/?,{base64.b64encode(png(9, 9)).decode()}"),
        Image(data=base64.b64encode(webp(b"ICCP", bytes(20))).decode()), Image(data=""), Image(data="not base64 é"),
        Image(), Image(data="AAAA"),
        Image(width=5), Image(height=5),
        Image(width=0, height=5), Image(width=-3, height=5), Image(data=base64.b64encode(png(0, 10)).decode()),
        Image(url="data:"), Image(data=base64.b64encode(b"\xff\xd8\xff").decode()), Image(width=10**400, height=1),
    ],
)  # fmt: skip
def test_an_image_of_unknown_size_costs_the_most(image: Image) -> None:
    assert image_tokens(image) <= MAX_IMAGE_TOKENS
    if image.width is None or image.width < 10**6:
        assert image_tokens(image) == MAX_IMAGE_TOKENS


def test_low_detail_has_one_price() -> None:
    assert image_tokens(Image(width=4000, height=4000, detail="low")) == LOW_DETAIL_TOKENS


@given(
    st.binary(max_size=400), st.sampled_from([b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"RIFF1234WEBPVP8X", b"GIF89a"])
)
def test_no_bytes_break_the_reading_of_an_image(tail: bytes, head: bytes) -> None:
    size = size_of(base64.b64encode(head + tail).decode())
    assert size is None or all(side > 0 for side in size)
    assert 85 <= image_tokens(Image(data=base64.b64encode(head + tail).decode())) <= MAX_IMAGE_TOKENS


@given(st.integers(1, 10**5), st.integers(1, 10**5))
def test_an_image_costs_from_one_tile_to_the_most(width: int, height: int) -> None:
    assert 255 <= image_tokens(Image(width=width, height=height)) <= MAX_IMAGE_TOKENS


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.text(), x),
        max_leaves=20,
    )
)
def test_any_json_of_a_provider_can_be_counted(value: Any) -> None:
    part = Opaque("openai", freeze_dict({"value": value}, "data"))
    assert count_message(Message("assistant", (part,)), estimate) > 4
