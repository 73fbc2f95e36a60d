"""The MCP server: over stdio and streamable HTTP, as a program, with the official client and by the bare protocol."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import TextResourceContents

from recollect import Memory
from recollect.adapters.mcp import serve, server
from recollect.errors import ConfigError
from tests.ports import free_port
from tests.programs import gone_after
from tests.wrong import wrong

PROGRAM = str(Path(__file__).parent / "mcp_server.py")
TOOLS = ["search_memory", "get_context", "list_facts", "add_memory"]


async def said(client: Client, uri: str) -> Any:
    """The messages of a resource."""
    (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    return json.loads(contents.text)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with things said by two users."""
    path = tmp_path_factory.mktemp("mcp") / "memory.db"
    with Memory.open(path, embedder=None) as memory:
        ada = memory.session("a trip/to Oslo?", user="ada")
        ada.add("user", "My name is Ada Byron. My sister Nadia moved to Oslo in May.")
        ada.add("assistant", "Noted!")
        memory.session("secrets", user="bob").add("user", "My sister Nadia has a secret: avocado.")
        memory.drain()
    return path


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


@contextmanager
def http(file: Path, **options: Any) -> Iterator[str]:
    """The server's address while it runs as a program."""
    given = {"transport": "http", "port": free_port(), **options}
    with gone_after(subprocess.Popen([sys.executable, PROGRAM, str(file), json.dumps(given)], text=True)) as process:
        while not _listens(given["port"]):
            with suppress(subprocess.TimeoutExpired):
                pytest.fail(f"the server ended with {process.wait(0.05)}")
        try:
            yield f"http://127.0.0.1:{given['port']}/mcp"
        finally:
            process.terminate()
            process.wait(60)


async def everything(client: Client) -> None:
    """What a host does with a server: look what there is, and use it."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == TOOLS
    assert not {"user", "tenant"} & {name for tool in tools.values() for name in tool.input_schema["properties"]}
    assert all(tool.output_schema and tool.description for tool in tools.values())
    assert (hints := tools["search_memory"].annotations) and hints.read_only_hint
    found = (await client.call_tool("search_memory", {"query": "Where does my sister live?"})).structured_content
    assert "Oslo" in found["result"][0]["text"]
    assert "avocado" not in json.dumps(found)
    kept = await client.call_tool("add_memory", {"text": "Nadia's flat is in Grünerløkka. 🏠", "role": "user"})
    assert kept.structured_content["session"] == "mcp"
    prompt = (await client.call_tool("get_context", {"question": "Where is Nadia's flat?"})).structured_content
    assert "Grünerløkka" in prompt["messages"][-1]["content"] + prompt["messages"][0]["content"]
    assert prompt["tokens"] <= prompt["budget"]
    facts = (await client.call_tool("list_facts", {})).structured_content["result"]
    assert "Ada Byron" in [fact["value"] for fact in facts]
    listed = (await client.list_resources()).resources
    assert {resource.name for resource in listed} == {"a trip/to Oslo?", "mcp"}
    for resource in listed:
        assert (await said(client, resource.uri))[0]["role"] == "user"


def with_client(how: Any, use: Callable[[Client], Awaitable[None]], mode: str = "auto") -> None:
    async def run() -> None:
        async with Client(how, mode=mode) as client:
            await use(client)

    asyncio.run(asyncio.wait_for(run(), 120))


def test_the_official_client_over_stdio(file: Path) -> None:
    with_client(StdioServerParameters(command=sys.executable, args=[PROGRAM, str(file), "{}"]), everything)


def test_the_official_client_over_http(file: Path) -> None:
    with http(file) as address:
        with_client(address, everything, mode="legacy")


def test_many_clients_at_once_and_a_restart_lose_nothing_and_what_comes_twice_is_kept_once(tmp_path: Path) -> None:
    texts = [f"Box number {n} holds the {n} red cups." for n in range(24)]

    async def add(url: str, some: list[str]) -> None:
        async with Client(url, mode="legacy") as client:
            for text in some:
                given = {"text": text, "role": "user", "id": text}
                for _ in range(2):
                    kept = (await client.call_tool("add_memory", given)).structured_content
                    assert kept["id"] == text

    async def add_all(url: str) -> None:
        await asyncio.gather(*(add(url, texts[start::8]) for start in range(8)))

    async def look(client: Client) -> None:
        (resource,) = (await client.list_resources()).resources
        assert sorted(message["content"] for message in await said(client, resource.uri)) == sorted(texts)
        asked = {"question": "What is in box number 7?", "budget": 300}
        prompt = (await client.call_tool("get_context", asked)).structured_content
        assert prompt["tokens"] <= 300
        assert "7 red cups" in json.dumps(prompt["messages"])

    with http(tmp_path / "boxes.db") as url:
        asyncio.run(asyncio.wait_for(add_all(url), 120))
    with http(tmp_path / "boxes.db") as url:
        with_client(url, look, mode="legacy")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_over_http_does_not_notice_that_the_server_was_restarted(tmp_path: Path, mode: str) -> None:
    port, running = free_port(), ExitStack()

    def start() -> str:
        return running.enter_context(http(tmp_path / "memory.db", port=port))

    async def restart(client: Client) -> None:
        running.close()
        start()
        kept = (await client.call_tool("add_memory", {"text": "I live in Oslo.", "id": "home"})).structured_content
        assert kept["id"] == "home"

    with running:
        with_client(start(), restart, mode=mode)


def test_over_http_with_a_token_nobody_comes_in_without_it(file: Path) -> None:
    import httpx2

    async def with_token(address: str) -> list[str]:
        headers = {"Authorization": "Bearer mellon"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http_client,
            Client(streamable_http_client(address, http_client=http_client)) as client,
        ):
            return [tool.name for tool in (await client.list_tools()).tools]

    with http(file, token="mellon", erasure=True) as address:
        for headers in ({}, {"Authorization": "Bearer friend"}, {"Authorization": "mellon"}):
            assert httpx2.post(address, json={}, headers=headers, timeout=30).status_code == 401
        small = {"Authorization": "bearer mellon"}
        assert httpx2.post(address, json={}, headers=small, timeout=30).status_code != 401
        assert asyncio.run(with_token(address)) == [*TOOLS, "forget", "forget_fact"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "LocalHost", "::1", "0:0:0:0:0:0:0:1"])
def test_at_any_address_of_this_machine_no_page_from_elsewhere_comes_in(
    host: str, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from starlette.testclient import TestClient

    apps: list[Any] = []
    monkeypatch.setattr("uvicorn.run", lambda app, **_: apps.append(app))
    serve(memory, user="ada", transport="http", host=host)
    at = f"[{host}]" if ":" in host else host.lower()
    asked = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    with TestClient(apps[0], base_url=f"http://{at}:8765") as client:
        rebound = {**asked, "Host": "evil.example:8765"}
        foreign = {**asked, "Origin": "https://evil.example"}
        own = {**asked, "Origin": f"http://{at}:8765"}
        found = [
            client.post("/mcp", json={}, headers=headers).status_code for headers in (rebound, foreign, asked, own)
        ]
    assert found == [421, 403, 400, 400]


def test_the_steps_of_the_inspector_over_stdio_by_the_bare_protocol(file: Path) -> None:
    """One line of JSON each way, as the inspector sends them; and nothing else on the server's output."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "inspector", "version": "1"}}
    steps: list[tuple[str, dict[str, Any]]] = [
        ("initialize", hello),
        ("ping", {}),
        ("tools/list", {}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("prompts/list", {}),
        ("tools/call", {"name": "search_memory", "arguments": {"query": "Oslo", "limit": 1}}),
        ("tools/call", {"name": "search_memory", "arguments": {"query": "Oslo", "limit": 0}}),
        ("resources/read", {"uri": "memory://sessions/nothing"}),
        ("no/such/method", {}),
    ]
    command = [sys.executable, PROGRAM, str(file), "{}"]
    piped = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
    with gone_after(piped) as process:
        assert process.stdin and process.stdout
        answers = []
        for number, (method, params) in enumerate(steps):
            request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            print(json.dumps(request), file=process.stdin, flush=True)
            answers.append(json.loads(process.stdout.readline()))
            if method == "initialize":
                print('{"jsonrpc": "2.0", "method": "notifications/initialized"}', file=process.stdin, flush=True)
        process.stdin.close()
        assert process.stdout.read() == ""
    assert [answer["id"] for answer in answers] == list(range(len(steps)))
    first, _, tools, resources, templates, prompts, good, bad, missing, unknown = answers
    assert first["result"]["serverInfo"] == {"name": "recollect", "title": "Recollect", "version": version("recollect")}
    assert [tool["name"] for tool in tools["result"]["tools"]] == TOOLS
    listed = {resource["uri"]: resource["title"] for resource in resources["result"]["resources"]}
    assert (
        listed["memory://sessions/a%20trip%2Fto%20Oslo%3F"]
        == "My name is Ada Byron. My sister Nadia moved to Oslo in May."
    )
    assert templates["result"]["resourceTemplates"][0]["uriTemplate"] == "memory://sessions/{session}"
    assert prompts["result"]["prompts"] == []
    assert not good["result"].get("isError")
    assert bad["result"]["isError"]
    assert "greater than or equal to 1" in bad["result"]["content"][0]["text"]
    assert "resources/list" in missing["error"]["message"]
    assert unknown["error"]["code"] == -32601


def call(memory: Memory, name: str, /, erasure: bool = False, **arguments: Any) -> Any:
    """What a tool answers, in this process."""
    served = server(memory, user="ada", erasure=erasure)
    answer: Any = asyncio.run(served.call_tool(name, arguments))
    return answer.structured_content


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open(":memory:", embedder=None) as memory:
        yield memory


def test_nothing_can_be_erased_unless_it_is_enabled(memory: Memory) -> None:
    said = memory.session("trip", user="ada").add("user", "The code is avocado.")
    other = memory.session("trip", user="bob").add("user", "The code is banana.")
    with pytest.raises(ToolError, match="Unknown tool"):
        call(memory, "forget", message_ids=[said.id], session="trip")
    with pytest.raises(ToolError, match="search_memory shows ids"):
        call(memory, "forget", erasure=True, message_ids=[other.id], session="trip")
    assert call(memory, "forget", erasure=True, message_ids=[said.id], session="trip")["messages"] == 1
    assert call(memory, "search_memory", query="code")["result"] == []
    assert memory.session("trip", user="bob").history() == (other,)


def test_a_fact_is_erased_and_its_messages_are_named(memory: Memory) -> None:
    said = memory.session("trip", user="ada").add("user", "I live in Paris.")
    with pytest.raises(ToolError, match="perhaps 'place' is meant"):
        call(memory, "forget_fact", erasure=True, key="plac")
    (gone,) = call(memory, "forget_fact", erasure=True, key="place")["result"]
    assert (gone["value"], gone["message_ids"]) == ("Paris", [said.id])
    assert call(memory, "list_facts")["result"] == []


def test_a_conversation_of_one_message_is_told_as_one(memory: Memory) -> None:
    memory.session("trip", user="ada").add("user", "The code is 1234.")

    async def look(client: Client) -> None:
        assert [resource.description for resource in (await client.list_resources()).resources] == ["1 message"]

    with_client(server(memory, user="ada"), look)


def test_a_conversation_of_which_all_is_erased_is_not_listed(memory: Memory) -> None:
    memory.session("work", user="ada").add("user", "The code is 1234.")
    trip = memory.session("trip", user="ada")
    trip.forget([trip.add("user", "The code is 4321.").id])

    async def look(client: Client) -> None:
        assert [resource.name for resource in (await client.list_resources()).resources] == ["work"]

    with_client(server(memory, user="ada"), look)


def test_conversations_are_listed_page_by_page(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.adapters.mcp.MOST_LISTED", 2)
    for number in range(5):
        memory.session(f"{number}", user="ada").add("user", "Hello.")

    async def look(client: Client) -> None:
        names, cursor = list[list[str]](), None
        while not names or cursor:
            page = await client.list_resources(cursor=cursor)
            names.append([resource.name for resource in page.resources])
            cursor = page.next_cursor
        assert names == [["4", "3"], ["2", "1"], ["0"]]
        for other in ("x", "-1", "9" * 30):
            with pytest.raises(MCPError, match="list the resources from the start"):
                await client.list_resources(cursor=other)

    with_client(server(memory, user="ada"), look)


def test_half_a_surrogate_pair_in_memory_is_told_as_a_question_mark(memory: Memory) -> None:
    chat = memory.session("trip", user="ada")
    chat.add("user", "My sister Nad\ud83dia moved to Oslo.")
    chat.remember("sister", "Nad\ud83dia")

    async def look(client: Client) -> None:
        for name, asked in {"search_memory": "query", "get_context": "question"}.items():
            assert "Nad?ia" in str((await client.call_tool(name, {asked: "Who moved to Oslo?"})).content)
        assert "Nad?ia" in str((await client.call_tool("list_facts", {})).content)
        assert "Nad?ia" in str(await client.read_resource("memory://sessions/trip"))
        assert [found.title for found in (await client.list_resources()).resources] == [
            "My sister Nad?ia moved to Oslo."
        ]

    with_client(server(memory, user="ada"), look)


def test_an_error_tells_the_model_what_to_do_next(memory: Memory) -> None:
    with pytest.raises(ToolError, match=r"^\d+ tokens must stay, .*Raise the budget"):
        call(memory, "get_context", question="And now? " * 100, budget=100)
    with pytest.raises(ToolError, match=r"^nothing was said by ada in the session trp: resources/list"):
        call(memory, "search_memory", query="Oslo", session="trp")
    with pytest.raises(ToolError, match="NUL"):
        call(memory, "add_memory", text="hi", session="\x00")
    with pytest.raises(ToolError, match="at least 1 character"):
        call(memory, "add_memory", text="")


@pytest.mark.parametrize(
    ("tool", "given", "says"),
    [
        ("search_memory", {}, "query: it is missing. "),
        ("search_memory", {"query": "x", "limit": 99}, "limit: it must be less than or equal to 50. "),
        ("search_memory", {"query": "x", "limit": "many"}, "limit: it must be a valid integer. "),
        ("add_memory", {"text": "", "role": "robot"}, "text: it must have at least 1 character; role: it must be "),
        ("search_memory", {"query": " \n"}, "query: it says nothing: give some words. "),
        ("get_context", {"question": " "}, "question: it says nothing: give some words. "),
        ("add_memory", {"text": "\t"}, "text: it says nothing: give some words. "),
        ("forget", {"message_ids": [], "session": ""}, "message_ids: it must have at least 1 item; session: it must "),
        ("search_memory", {"query": "x", "sesion": "a"}, "sesion: no such argument, perhaps 'session' is meant. "),
        ("search_memory", {"question": "x"}, "question: no such argument, there are query, limit, session. "),
    ],
)
def test_wrong_arguments_are_told_in_words_and_what_to_do(
    memory: Memory, tool: str, given: dict[str, Any], says: str
) -> None:
    with pytest.raises(ToolError) as told:
        call(memory, tool, erasure=True, **given)
    assert str(told.value).startswith(says)
    assert str(told.value).endswith(f"Nothing was done: call {tool} again with that put right")
    assert "pydantic" not in str(told.value)


@pytest.mark.parametrize("session", ["", " ", None])
def test_a_conversation_of_no_name_is_that_of_the_server(memory: Memory, session: str | None) -> None:
    assert call(memory, "add_memory", text="I live in Oslo.", session=session)["session"] == "mcp"
    assert len(call(memory, "search_memory", query="Oslo", session=session)["result"]) == 1


def test_a_tool_that_takes_nothing_bears_what_a_host_fills_in(memory: Memory) -> None:
    assert call(memory, "list_facts", random_string="x") == {"result": []}


def test_what_the_user_told_is_known_as_facts_and_in_contexts(memory: Memory) -> None:
    call(memory, "add_memory", text="My name is Anna and I live in Oslo.")
    known = call(memory, "list_facts")["result"]
    assert [(fact["value"], fact["origin"]) for fact in known] == [("Anna", "note"), ("Oslo", "note")]
    assert "Oslo" in str(call(memory, "get_context", question="Where do I live?", session="later")["messages"])


def test_what_a_model_concludes_is_not_taken_for_the_users_words(memory: Memory) -> None:
    call(memory, "add_memory", text="My name is Mallory.", role="assistant")
    (kept,) = memory.session("mcp", user="ada").history()
    assert (kept.role, kept.metadata) == ("assistant", {"via": "mcp"})
    assert call(memory, "list_facts")["result"] == []


def test_a_plan_is_listed_with_its_day(memory: Memory) -> None:
    memory.session("mcp", user="ada").add("user", "I like tea. Remind me to call Bob on 2150-05-16.")
    assert [fact["due"] for fact in call(memory, "list_facts")["result"]] == [None, "2150-05-16"]


def test_it_is_not_served_to_others_without_a_token(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uvicorn.run", lambda *_, **__: None)
    for token in (None, ""):
        with pytest.raises(ConfigError, match="token"):
            serve(memory, user="ada", transport="http", host="0.0.0.0", token=token)
    with pytest.raises(ConfigError, match="'stdio' or 'http'"):
        serve(memory, user="ada", transport=wrong("pigeon"))
    with pytest.raises(ConfigError, match="user"):
        server(memory, user="")


def test_over_http_a_connection_is_kept_for_longer_than_callers_keep_theirs(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = dict[str, Any]()
    monkeypatch.setattr("uvicorn.run", lambda _, **options: given.update(options))
    serve(memory, user="ada", transport="http")
    assert given["timeout_keep_alive"] > 60


def test_a_conversation_that_is_not_there_is_an_error_of_the_protocol(memory: Memory) -> None:
    async def read(client: Client) -> None:
        for address in ("nothing", "", "%20"):
            with pytest.raises(MCPError, match="resources/list"):
                await client.read_resource(f"memory://sessions/{address}")

    call(memory, "add_memory", text="I live in Oslo.")

    with_client(server(memory, user="ada"), read)
