"""A memory served over MCP, as a program: `python mcp_server.py FILE '{"transport": "http", …}'`."""

from __future__ import annotations

import json
import sys

from recollect import Memory
from recollect.adapters.mcp import serve

if __name__ == "__main__":
    with Memory.open(sys.argv[1], embedder=None) as memory:
        serve(memory, user="ada", **json.loads(sys.argv[2]))
