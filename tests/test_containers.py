"""`compose.yaml` and the Dockerfile say what can be done; an engine is needed to do it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
RECOLLECT = Path(sys.executable).with_name("recollect")


@pytest.fixture(scope="module")
def compose() -> Any:
    return yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))


def dockerfile() -> dict[str, list[str]]:
    text = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            word, rest = line.split(" ", 1)
            found.setdefault(word, []).append(rest.strip())
    return found


def exists(command: list[str]) -> None:
    """Each option of a command is one that its help names."""
    words = [word for word in command if not word.startswith("-")]
    said = subprocess.run([RECOLLECT, *words[:2], "--help"], capture_output=True, text=True, check=False)
    if said.returncode:
        said = subprocess.run([RECOLLECT, words[0], "--help"], capture_output=True, text=True, check=True)
    for option in (word for word in command if word.startswith("--")):
        assert option in said.stdout, (command, option)


def test_the_commands_exist(compose: Any) -> None:
    exists(compose["services"]["service"]["command"])
    exists(json.loads(dockerfile()["CMD"][0]))
    comments = re.findall(r"docker compose run --rm service (.+)", (ROOT / "compose.yaml").read_text("utf-8"))
    assert comments
    for comment in comments:
        exists(shlex.split(comment))


def test_the_service_waits_for_a_database_that_is_there(compose: Any) -> None:
    services = compose["services"]
    for name, service in services.items():
        assert set(service.get("depends_on", {})) <= set(services), name
        assert {volume.split(":")[0] for volume in service["volumes"]} <= set(compose["volumes"]), name
    assert "@database/" in services["service"]["environment"]["RECOLLECT_STORE"]
    assert services["database"]["environment"]["POSTGRES_DB"] in services["service"]["environment"]["RECOLLECT_STORE"]


def test_a_port_that_is_published_is_the_one_that_is_served(compose: Any) -> None:
    command = compose["services"]["service"]["command"]
    port = command[command.index("--port") + 1]
    assert compose["services"]["service"]["ports"] == [f"{port}:{port}"]
    assert dockerfile()["EXPOSE"] == [port]
    assert f":{port}/readyz" in dockerfile()["HEALTHCHECK"][0]


def test_the_image_installs_extras_that_exist_and_files_that_are_there() -> None:
    extras = re.search(r"\.\[([\w,-]+)\]", " ".join(dockerfile()["RUN"]))
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert extras and set(extras[1].split(",")) <= set(known)
    for copied in dockerfile()["COPY"]:
        for name in copied.split()[:-1]:
            assert (ROOT / name).exists(), name


def test_the_environment_names_options_of_the_service(compose: Any) -> None:
    from recollect.server.options import Options

    named = [name for name in compose["services"]["service"]["environment"] if name.startswith("RECOLLECT_")]
    assert {name.removeprefix("RECOLLECT_").lower() for name in named} <= set(Options.model_fields)
