"""Text of many kinds to fit the token estimator on: generated, or shipped with Python and the `fit` packages."""

from __future__ import annotations

import ast
import base64
import csv
import gettext
import io
import json
import random
import re
import string
import sys
import sysconfig
import unicodedata
import uuid
from collections.abc import Callable, Iterator
from importlib.metadata import distributions
from pathlib import Path

from faker import Faker

STDLIB = Path(sysconfig.get_path("stdlib"))
PACKAGES = Path(sysconfig.get_path("purelib"))
LANGUAGES = {
    "German": "de", "French": "fr", "Spanish": "es", "Polish": "pl", "Czech": "cs", "Turkish": "tr",
    "Finnish": "fi", "Hungarian": "hu", "Indonesian": "id", "Swahili": "sw",
    "Vietnamese": "vi", "Greek": "el", "Russian": "ru", "Ukrainian": "uk", "Armenian": "hy", "Hebrew": "he",
    "Arabic": "ar", "Persian": "fa", "Hindi": "hi", "Bengali": "bn", "Tamil": "ta", "Telugu": "te", "Kannada": "kn",
    "Malayalam": "ml", "Thai": "th",
    "Georgian": "ka", "Khmer": "km", "Burmese": "my", "Chinese": "zh_Hans",
    "Chinese (traditional)": "zh_Hant", "Japanese": "ja", "Korean": "ko",
}  # fmt: skip
LOREM = {
    "German": "de_DE", "French": "fr_FR", "Spanish": "es_ES", "Polish": "pl_PL", "Czech": "cs_CZ",
    "Vietnamese": "vi_VN", "Greek": "el_GR", "Russian": "ru_RU", "Ukrainian": "uk_UA", "Armenian": "hy_AM",
    "Hebrew": "he_IL", "Arabic": "ar_AA", "Persian": "fa_IR", "Bengali": "bn_BD", "Thai": "th_TH",
    "Chinese": "zh_CN", "Chinese (traditional)": "zh_TW", "Japanese": "ja_JP",
}  # fmt: skip

# Syriac to N'Ko; Sinhala, Lao and Tibetan; Ethiopic, Cherokee to Mongolian, Limbu to Tai Tham; rare Chinese.
RARE = ((0x700, 0x7F5), (0xD85, 0xDC7), (0xE81, 0xEDA), (0xF40, 0xFBD), (0x1200, 0x1357), (0x13A0, 0x1878),
        (0x1900, 0x1AAE), (0x3400, 0x4DB6))  # fmt: skip


def _files(root: Path, pattern: str, skip: str = "\0") -> str:
    found = sorted(path for path in root.glob(pattern) if skip not in str(path))
    return "\n".join(path.read_text("utf-8", "ignore")[:30_000] for path in found[:60])


def _english() -> str:
    topics = (STDLIB / "pydoc_data" / "topics.py").read_text("utf-8")
    prose = ast.literal_eval(topics.partition("topics = ")[2])
    licence = (STDLIB / "LICENSE.txt").read_text("utf-8")
    return licence + "\n".join(prose[key] for key in sorted(prose))[:300_000]


def _readmes() -> str:
    return "\n".join((d.read_text("METADATA") or "")[:20_000] for d in sorted(distributions(), key=lambda d: d.name))


def _translated(code: str) -> str:
    texts = []
    for path in sorted((PACKAGES / "django").glob(f"**/locale/{code}/LC_MESSAGES/*.mo")):
        with path.open("rb") as file:
            catalog = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
        texts += [re.sub(r"%\(\w+\)[sd]|%[sd]", "", text) for key, text in catalog.items() if key]
    random.Random(code).shuffle(texts)
    return " ".join(texts)


def _language(name: str) -> str:
    text = _translated(LANGUAGES[name])
    if name in LOREM:
        fake = Faker(LOREM[name])
        fake.seed_instance(7)
        text += "\n" + "\n".join(fake.paragraph(nb_sentences=6) for _ in range(120))
        text += "\n" + "\n".join(f"{fake.name()}, {fake.address()}, {fake.company()}" for _ in range(80))
    return text


def _records(rng: random.Random, count: int) -> list[dict[str, object]]:
    fake = Faker("en_US")
    fake.seed_instance(rng.random())
    return [
        {"id": rng.randrange(10**6), "uuid": str(uuid.UUID(int=rng.getrandbits(128))), "name": fake.name(),
         "createdAt": fake.iso8601(), "score": round(rng.random() * 100, rng.randrange(1, 7)),
         "tags": fake.words(3), "is_active": rng.random() < 0.5, "parent": None,
         "geo": {"lat": float(fake.latitude()), "lng": float(fake.longitude())}}
        for _ in range(count)
    ]  # fmt: skip


def _csv(rng: random.Random) -> str:
    out = io.StringIO()
    rows = ([i, rng.randrange(10**9), round(rng.gauss(0, 50), 4), rng.random(), rng.randrange(9)] for i in range(2500))
    csv.writer(out).writerows(rows)
    return out.getvalue()


def _logs(rng: random.Random) -> str:
    fake = Faker("en_US")
    fake.seed_instance(3)
    lines = (
        f"{fake.date()}T{fake.time()}.{rng.randrange(1000):03}Z {rng.choice(['INFO', 'WARN', 'ERROR', 'DEBUG'])} "
        f'[{fake.user_name()}-{rng.randrange(64)}] {fake.ipv4()} "{rng.choice(["GET", "POST"])} {fake.uri_path()}'
        f'?q={fake.word()}" {rng.choice([200, 404, 500])} {rng.randrange(9000)}ms 0x{rng.getrandbits(48):012x}'
        for _ in range(1500)
    )
    return "\n".join(lines)


def _paths(rng: random.Random) -> str:
    fake = Faker("en_US")
    fake.seed_instance(5)
    made = (f"{fake.uri()}?id={rng.getrandbits(40)}&utm_source={fake.word()}#{fake.slug()}" for _ in range(1000))
    return "\n".join([*made, *(str(p.relative_to(PACKAGES)) for p in sorted(PACKAGES.glob("*/*/*"))[:2000])])


def _emoji(rng: random.Random) -> str:
    faces = [chr(c) for lo, hi in ((0x1F300, 0x1F650), (0x1F680, 0x1F700), (0x1F900, 0x1FA00)) for c in range(lo, hi)]
    faces += ["❤️", "☀️", "✅", "⚠️", "👍🏽", "👨‍👩‍👧", "🏳️‍🌈", "🇩🇪", "🇯🇵", "1️⃣"] * 20
    return "".join(rng.choice(faces) + rng.choice(["", "", "", " "]) for _ in range(12_000))


def _chat(rng: random.Random) -> str:
    fake = Faker("en_US")
    fake.seed_instance(11)
    return "\n".join(
        f"{fake.sentence()} {chr(0x1F600 + rng.randrange(80))} lol… “{fake.word()}” — ok" for _ in range(900)
    )


def _symbols(rng: random.Random) -> str:
    signs = [
        chr(c) for c in [*range(0x2190, 0x2600), *range(0x2010, 0x2050), *range(0x20A0, 0x20C0), *range(0xFF01, 0xFF5F)]
    ]
    return "".join(rng.choice(signs) + rng.choice(["", " "]) for _ in range(9000))


def _words(rng: random.Random, blocks: tuple[tuple[int, int], ...]) -> str:
    letters = [[chr(c) for c in range(lo, hi) if unicodedata.category(chr(c))[0] in "LM"] for lo, hi in blocks]
    return " ".join("".join(rng.choices(rng.choice(letters), k=rng.randrange(2, 9))) for _ in range(5000))


def _table(rng: random.Random) -> str:
    def line() -> str:
        sign, cells = rng.choice("-=_*#~+.:<>^"), rng.randrange(2, 8)
        rule = "+" + "+".join(sign * rng.randrange(3, 30) for _ in range(cells)) + "+"
        row = "|".join(" " * rng.randrange(12) + f"{rng.random() * 10 ** rng.randrange(7):.2f} " for _ in range(cells))
        head = "|" + "|".join(rng.choice([" --- ", ":---:", "---|", " :-: "]) for _ in range(cells)) + "|"
        return rng.choice([rule, row, head, sign * rng.randrange(4, 60), "    " * rng.randrange(8) + f"{sign} x"])

    return "\n".join(line() for _ in range(2500))


def _identifiers() -> str:
    names = sorted(set(re.findall(r"\b[A-Za-z_]*[A-Z_][A-Za-z_0-9]{6,}\b", _files(STDLIB, "*.py"))))
    random.Random(4).shuffle(names)
    return " ".join(names)


def _expressions() -> str:
    found = re.findall(r"\br'([^'\n]*\\[^'\n]*)'", _files(PACKAGES / "pygments" / "lexers", "*.py", "_builtins"))
    random.Random(6).shuffle(found)
    return "\n".join(found)


def _decomposed() -> str:
    return unicodedata.normalize("NFD", _language("French") + _language("Vietnamese"))[:60_000]


def classes() -> dict[str, Callable[[], str]]:
    """Each class of text by name, with what makes it."""
    rng = random.Random(20)
    pretty, minified = _records(rng, 250), _records(rng, 500)
    made: dict[str, Callable[[], str]] = {
        "English prose": _english,
        "package readmes": _readmes,
        "Python": lambda: _files(STDLIB, "*.py"),
        "JavaScript": lambda: _files(PACKAGES / "django", "**/static/**/*.js", ".min."),
        "JavaScript, minified": lambda: _files(PACKAGES / "django", "**/*.min.js"),
        "regular expressions": _expressions,
        "HTML": lambda: _files(PACKAGES / "django", "**/templates/**/*.html"),
        "CSS": lambda: _files(PACKAGES / "django", "**/static/**/*.css"),
        "C": lambda: _files(Path(sysconfig.get_path("include")), "**/*.h"),
        "identifiers": _identifiers,
        "JSON, indented": lambda: json.dumps(pretty, indent=2),
        "JSON, minified": lambda: json.dumps(minified, separators=(",", ":")),
        "CSV of numbers": lambda: _csv(rng),
        "log lines": lambda: _logs(rng),
        "addresses and paths": lambda: _paths(rng),
        "tables and rules": lambda: _table(rng),
        "base64": lambda: base64.b64encode(rng.randbytes(40_000)).decode(),
        "hexadecimal": lambda: rng.randbytes(30_000).hex(),
        "UUIDs": lambda: "\n".join(str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(1000)),
        "digits": lambda: "".join(rng.choice(string.digits + " ") for _ in range(40_000)),
        "English in capitals": _english()[:80_000].upper,
        "emoji": lambda: _emoji(rng),
        "chat with emoji": lambda: _chat(rng),
        "symbols and arrows": lambda: _symbols(rng),
        "letters with combining marks": _decomposed,
        "rare scripts": lambda: _words(rng, RARE),
        "styled letters": lambda: _words(rng, ((0x1D400, 0x1D7CB), (0x20000, 0x20400))),
    }
    return made | {name: lambda name=name: _language(name) for name in LANGUAGES}


def chunks(text: str, lengths: tuple[int, ...], limit: int, seed: str) -> Iterator[str]:
    """Up to `limit` chunks of the text, each of one of the lengths in characters, in a random order."""
    rng, at, cut = random.Random(seed), 0, []
    while at < len(text):
        length = rng.choice(lengths)
        cut.append(text[at : at + length])
        at += length
    rng.shuffle(cut)
    yield from [chunk for chunk in cut if len(chunk) >= min(lengths)][:limit]


if __name__ == "__main__":
    for name, make in classes().items():
        sys.stdout.write(f"{name}: {len(make()):,} characters\n")
