"""A web page becomes the text people read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.flow.html import html_text

PIECES = [
    "<p>",
    "</p>",
    "word ",
    "<h2>",
    "</h2>",
    "<script>",
    "</script>",
    "&amp;",
    "<",
    "<!--",
    "-->",
    "<td>",
    "<pre>",
    "<nav>",
    "</nav>",
    "<main>",
    "<footer>",
]


def test_headings_are_marked_and_what_no_one_reads_is_left_out() -> None:
    page = """<!doctype html><html><head><title>T</title><style>p {color: red}</style></head>
    <body><h1>The <b>guide</b></h1><script>track()</script><p>One &amp; two,
    wrapped.</p><ul><li>first<li>second</ul><table><tr><td>a<td>b</table><pre>x = 1
  y = 2</pre></body></html>"""
    assert html_text(page) == ("# The guide\n\nOne & two, wrapped.\n\n- first\n\n- second\n\na | b\n\nx = 1\n  y = 2")


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_no_page_breaks_it(page: str) -> None:
    assert isinstance(html_text(page), str)


@given(st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=1))
def test_plain_words_stay(words: list[str]) -> None:
    assert html_text(f"<p>{' '.join(words)}</p>").split() == words


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>a<![if !supportLists]>b<![foo]>c</p>", "abc"),
        (f"<p>a&#{'9' * 5_000};b &#65;&#x110000;</p>", "a\ufffdb A\ufffd"),
        ("<p>a<!-- never closed", "a"),
        ('<p>a<b title="never closed', "a"),
        ("<p>1 < 2, don't</p>", "1 < 2, don't"),
        ("<script>'<p>no</p>'</script><p don't>yes</p>", "yes"),
        ("<script>s = '<!--'</script><style>a { content: '<b title=\"' }</style><p>yes</p>", "yes"),
        ("<p>a</p><script src='x'/><p>b</p>", "a\n\nb"),
        ("</pre><pre>a\n  b</pre>", "a\n  b"),
        ("</article><article>a<footer>b</footer></article>", "a\n\nb"),
        ("<nav><svg></svg>x</nav>y", "y"),
    ],
)
def test_what_no_page_should_hold_is_read_as_browsers_do(page: str, text: str) -> None:
    assert html_text(page) == text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<table><tr><th></th><th>2023</th><th>2024</th></tr><tr><td>Oslo</td><td></td><td>7</td></tr></table>",
         "| 2023 | 2024\n\nOslo |  | 7"),
        ("<table><td>a<td>b</table><table><td>c<td>d</table>", "a | b\n\nc | d"),
        ("<tr>\n <td>a</td>\n <td> <b>b </b> </td>\n <td></td>\n <td>d</td>\n</tr>", "a | b |  | d"),
        ("<table><tr><td><div>a</div></td><td> b</td><td>c<br>d</td><td>e</td></tr></table>", "a\n\nb | c\n\nd | e"),
        ("<pre>x = 1\n# set\n</pre><p># 1</p>", "x = 1\n # set\n\n\n# 1"),
        ("<pre><p>a</p>  b\n  c</pre>", "a\n\n  b\n  c"),
        ("<pre><span># set</span></pre><pre>#!/bin/sh</pre>", " # set\n\n#!/bin/sh"),
    ],
)  # fmt: skip
def test_cells_stay_in_their_columns_and_comments_in_code_become_no_headings(page: str, text: str) -> None:
    assert html_text(page) == text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<nav><a>Home</a><a>About</a></nav><main><p>Text</p></main><footer>© 2025</footer>", "Text"),
        (
            "<aside>Ads</aside><article><p>Text</p><aside>Note</aside><footer>By Ada</footer></article>",
            "Text\n\nNote\n\nBy Ada",
        ),
        ("<article><nav>1 2 3</nav>Text</article><p>After</p>", "Text\n\nAfter"),
        ("<nav>never closed <main>Text</main>", "Text"),
        ("<nav><ul><li>All there is</ul></nav>", "- All there is"),
    ],
)
def test_menus_and_footers_are_left_out_unless_there_is_nothing_else(page: str, text: str) -> None:
    assert html_text(page) == text
