"""Strings that a page must show, and never obey."""

from __future__ import annotations

import re

SCRIPTS = (
    "<script>alert({n})</script>",
    "<img src=x onerror=alert({n})>",
    "<img src=https://evil.example/{n}.png>",
    "<svg onload=alert({n})></svg>",
    "<svg><script>alert({n})</script></svg>",
    "<iframe src='javascript:alert({n})'></iframe>",
    "<iframe srcdoc='<script>alert({n})</script>'></iframe>",
    "<body onload=alert({n})>",
    "<a href='javascript:alert({n})'>click</a>",
    "<link rel=stylesheet href=https://evil.example/{n}.css>",
    "<style>@import 'https://evil.example/{n}.css';</style>",
    "<object data=https://evil.example/{n}></object>",
    "<embed src=https://evil.example/{n}>",
    "<video><source onerror=alert({n})></video>",
    "<audio src=x onerror=alert({n})></audio>",
    "<details open ontoggle=alert({n})>x</details>",
    "<input autofocus onfocus=alert({n})>",
    "<form action=https://evil.example/{n}><button>go</button></form>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/{n}'>",
    "<base href=https://evil.example/{n}/>",
    "<math><mtext><script>alert({n})</script></mtext></math>",
    "<template><script>alert({n})</script></template>",
    "<marquee onstart=alert({n})>x</marquee>",
    "javascript:alert({n})",
    "data:text/html,<script>alert({n})</script>",
    "{{{{constructor.constructor('alert({n})')()}}}}",
    "${{alert({n})}}",
    "&lt;script&gt;alert({n})&lt;/script&gt; &amp; {n}",
    "url(https://evil.example/{n}) expression(alert({n}))",
    "__proto__ constructor toString {n}",
)
FRAMES = ("{}", "\"'>{}", "</textarea></title></style></script>{}", "`;{};//", "\u202e{}\u202c Z\u0351\u0343\u0342algo")
HOSTILE = tuple(
    frame.replace("{}", script.format(n=f"{row}{column}"))
    for row, script in enumerate(SCRIPTS)
    for column, frame in enumerate(FRAMES)
)
TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
ODD = ("\x00 nul", "\ud83d half a pair", "a\u2028b\u2029c", "مرحبا بالعالم", "👩‍👩‍👧‍👦" * 20, "x" * 5_000)


def named(name: str) -> str:
    """How a name is shown among other words: isolated from them, and what would turn text around as a mark."""
    return f"\u2068{TURNS.sub(chr(0xFFFD), name)}\u2069"
