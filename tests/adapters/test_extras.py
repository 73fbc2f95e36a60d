"""The SDKs are extras: nothing of them comes with the core, and who lacks one is told what to install."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tomllib

from tests.test_house_rules import ROOT, closure

SDKS = ("agents", "anthropic", "langchain", "langgraph", "mcp", "openai", "pydantic_ai", "strands")
WANTED = """
import sys
sys.modules.update(dict.fromkeys({sdks!r}))
from recollect import Memory, MissingExtra
import recollect.adapters.clients, recollect.adapters.langgraph, recollect.settings, recollect.store
for import_it in (
    "from recollect.adapters.langgraph import RecollectSaver",
    "from recollect.adapters.langgraph import RecollectStore",
    "from recollect.adapters.langgraph import RecollectMiddleware",
    "import recollect.adapters.mcp",
    "import recollect.adapters.openai_agents",
    "import recollect.adapters.pydantic_ai",
    "import recollect.adapters.strands",
    "import recollect.server.app",
    "import recollect.server.options",
    "Memory.open('postgresql://localhost/memory')",
    "recollect.store.open(':memory:', index='chroma:///index')",
    "recollect.settings.load()",
):
    try:
        exec(import_it)
    except MissingExtra as error:
        print(error)
"""


def test_the_core_needs_none_of_the_sdks() -> None:
    named = {name.replace("-", "_") for name in closure("recollect")}
    assert "recollect" in named
    assert not named & {
        *SDKS, "langchain_core", "openai_agents", "pydantic", "pydantic_ai_slim", "strands_agents", "xllamacpp",
    }  # fmt: skip


def test_who_lacks_an_sdk_is_told_what_to_install() -> None:
    code = WANTED.format(sdks=(*SDKS, "chromadb", "fastapi", "langchain_core", "psycopg", "pydantic_settings"))
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    told = [line.split("pip install ")[1] for line in out.splitlines()]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    wanted = ["langgraph"] * 3 + ["mcp", "openai-agents", "pydantic-ai", "strands"] + ["server"] * 2
    wanted += ["postgres", "chroma", "settings"]
    assert [sorted(shlex.split(line)) for line in told] == [
        sorted(need for need in extras[extra] if ";" not in need) for extra in wanted
    ]
