"""The files of the page at `/`: served with their rules, and safe in what they do with words."""

from __future__ import annotations

import re

import pytest

from recollect.server import page as served
from recollect.server.app import document
from tests.server.running import Running, running


def test_the_page_is_served_with_its_rules(service: Running) -> None:
    home = service.http.get("/")
    assert home.headers["content-type"].startswith("text/html")
    rules = home.headers["content-security-policy"]
    for rule in ("default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"):
        assert rule in rules
    assert service.http.get("/", headers={"If-None-Match": home.headers["etag"]}).status_code == 304
    kinds = {"app.js": "text/javascript", "style.css": "text/css", "icon.svg": "image/svg+xml"}
    for name, kind in kinds.items():
        part = service.http.get(f"/inspector/{name}")
        assert (part.status_code, part.headers["content-type"].split(";")[0]) == (200, kind)
        assert part.headers["content-security-policy"] == rules
    assert "/" not in document()["paths"]


@pytest.mark.parametrize("name", ["nothing.js", "..%2Fapp.py", "../app.py", "page.py", "%00"])
def test_only_its_own_files_are_served(service: Running, name: str) -> None:
    assert service.http.get(f"/inspector/{name}").status_code in (404, 405)


def test_words_only_ever_become_text() -> None:
    forbidden = re.compile(
        rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|https?://(?!www\.w3\.org/2000/svg)"
    )
    assert [
        name for name, body in served.parts().items() if name.endswith((".js", ".html")) and forbidden.search(body)
    ] == []


def test_a_proxy_may_have_the_page_in_a_folder_of_its_site() -> None:
    rooted = re.compile(rb"""(?:src|href)="/|fetch\(["'`]/|(?:from|import\()\s*["'`]/""")
    assert [name for name, body in served.parts().items() if rooted.search(body)] == []


def test_suggestions_are_only_ever_words(service: Running) -> None:
    assert b'<meta name="questions" content="[]">' in service.http.get("/").content
    with running(questions=['"><script>alert(1)</script>']) as other:
        assert b"<script>alert" not in other.http.get("/").content
