"""A memory over MCP: `python examples/mcp_server.py serve memory.db ada` is a server for any host that speaks MCP.

Without arguments it starts itself as a server over stdio, and talks to it as a host would. It needs no key.
"""

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp import Client, StdioServerParameters

from recollect import Memory
from recollect.adapters.mcp import serve


async def talk(file: Path) -> None:
    server = StdioServerParameters(command=sys.executable, args=[__file__, "serve", str(file), "ada"])
    async with Client(server) as client:
        print("tools:", ", ".join(tool.name for tool in (await client.list_tools()).tools))
        await client.call_tool("add_memory", {"text": "My sister Nadia moved to Oslo in May."})
        found = await client.call_tool("search_memory", {"query": "Where does my sister live?", "limit": 1})
        print("found:", found.structured_content["result"][0]["text"])
        print("resources:", ", ".join(str(resource.uri) for resource in (await client.list_resources()).resources))


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        with Memory.open(sys.argv[2], embedder=None) as memory:
            serve(memory, user=sys.argv[3])
    else:
        with TemporaryDirectory() as folder:
            asyncio.run(talk(Path(folder) / "memory.db"))
