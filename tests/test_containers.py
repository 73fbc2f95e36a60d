"""`compose.yaml` and the Dockerfile say what can be done; an engine is needed to do it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from recollect.cli.app import app
from tests.ports import free_port
from tests.postgres import running
from tests.programs import gone_after

ROOT = Path(__file__).parent.parent
RECOLLECT = Path(sys.executable).with_name("recollect")
ALONE = {name: value for name, value in os.environ.items() if not name.startswith("RECOLLECT_")}


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


def ignored(name: str) -> bool:
    """Whether .dockerignore, which lets in only what it names, keeps a file from the image."""
    first, *rules = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert first == "*"
    return f"!{name}" not in rules


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**ALONE, "RECOLLECT_EMBEDDER": "none", **environment}
    return subprocess.run([RECOLLECT, *command], env=env, capture_output=True, text=True, check=False, timeout=120)


def exists(words: list[str]) -> None:
    """Refuse a command or an option that the command line does not have."""
    command: Any = get_command(app)
    for word in words:
        if word in getattr(command, "commands", {}):
            command = command.commands[word]
    options = {name for parameter in command.params for name in parameter.opts}
    assert not hasattr(command, "commands"), words
    assert {word for word in words if word.startswith("--")} <= options, words


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
    (config,) = services["database"]["configs"]
    assert config["source"] in compose["configs"]


def test_the_service_connects_as_a_role_that_row_level_security_holds_for(compose: Any) -> None:
    url = compose["services"]["service"]["environment"]["RECOLLECT_STORE"]
    script, url = (re.sub(r"\$\{POSTGRES_PASSWORD[^}]*\}", "secret", text) for text in (*_scripts(compose), url))
    with running() as server:
        server.script(script)
        checked = run("doctor", "--json", RECOLLECT_STORE=url.replace("database", "") + f"?host={server.data}")
    assert checked.returncode == 0 and json.loads(checked.stdout) == [], checked


def _scripts(compose: Any) -> list[str]:
    return [config["content"] for config in compose["configs"].values()]


def test_a_port_that_is_published_is_the_one_that_is_served(compose: Any) -> None:
    command = compose["services"]["service"]["command"]
    port = command[command.index("--port") + 1]
    assert compose["services"]["service"]["ports"] == [f"{port}:{port}"]
    assert dockerfile()["EXPOSE"] == [port]
    assert f":{port}/healthz" in dockerfile()["HEALTHCHECK"][0]


def test_the_image_installs_extras_that_exist_and_files_that_are_there() -> None:
    extras = re.search(r"\.\[([\w,-]+)\]", " ".join(dockerfile()["RUN"]))
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert extras and set(extras[1].split(",")) <= set(known)
    for copied in dockerfile()["COPY"]:
        for name in copied.split()[:-1]:
            assert (ROOT / name).exists() and not ignored(name), name


def test_the_packages_of_the_image_can_be_had_as_they_are_locked(tmp_path: Path) -> None:
    steps = [shlex.split(step) for step in dockerfile()["RUN"][0].split("&&")]
    (install,) = [step for step in steps if step[:3] == ["uv", "pip", "install"]]
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, tmp_path / "image"], check=True)
    here = [word for word in install[1:] if word not in ("--system", "--no-cache")]
    done = subprocess.run(
        [uv, *here, "--dry-run", "--python", tmp_path / "image"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "recollect" in done.stderr, done.stderr


def test_the_environment_names_options_of_the_service(compose: Any) -> None:
    from recollect.server.options import Options

    options = {f"RECOLLECT_{name.upper()}" for name in Options.model_fields}
    theirs = {"OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"}
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    assert all(f'"{name}"' in sources for name in theirs)
    assert set(compose["services"]["service"]["environment"]) <= options | theirs
    assert [name for name in dockerfile()["ENV"] if f'"{name.partition("=")[0]}"' not in sources] == []


def test_a_stop_lasts_as_long_as_open_answers_may_take(compose: Any) -> None:
    from recollect.server.options import Options

    grace = compose["services"]["service"]["stop_grace_period"]
    assert float(grace.removesuffix("s")) > Options.model_fields["drain_seconds"].default


def test_a_container_serves_once_it_has_a_key_and_is_healthy_then(tmp_path: Path) -> None:
    home = {"RECOLLECT_DATA_DIR": str(tmp_path)}
    assert dockerfile()["ENTRYPOINT"] == ['["recollect"]']
    command = json.loads(dockerfile()["CMD"][0])
    refused = run(*command, **home)
    assert refused.returncode == 1 and "recollect keys add" in refused.stderr
    assert run("keys", "add", "--may", "read", "--may", "write", **home).stdout.startswith("rk_")
    port = str(free_port())
    check = json.loads(dockerfile()["HEALTHCHECK"][0].removeprefix("CMD "))[-1].replace("8642", port)
    served = [RECOLLECT, *(port if word == "8642" else word for word in command)]
    env = {**ALONE, "RECOLLECT_EMBEDDER": "none", **home}
    with gone_after(subprocess.Popen(served, env=env, stderr=subprocess.PIPE, text=True)) as process:
        assert process.stderr
        assert any("running on" in line for line in process.stderr)
        healthy = subprocess.run([sys.executable, "-c", check], check=False, timeout=60)
        process.terminate()
        process.stderr.read()
    assert healthy.returncode == 0
