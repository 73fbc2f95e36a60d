"""What `open` takes for a store, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from recollect.errors import ConfigError, StoreUnavailable
from recollect.store import open
from recollect.store.reference import ReferenceStore
from recollect.store.sqlite import SqliteStore
from recollect.testing.stores.base import ADA, say, texts
from tests.wrong import wrong


@pytest.mark.parametrize("url", ["{}", "sqlite:///{}"])
def test_open_takes_files_and_urls(tmp_path: Path, url: str) -> None:
    path = tmp_path / "memory.db"
    with open(url.format(path)) as store:
        say(store, ADA, "a")
    assert path.exists()
    with SqliteStore(path) as store:
        assert texts(store.log.read(ADA)) == ["a"]


@pytest.mark.parametrize("name", ["nul\x00.db", "bytes\udcff.db", "x" * 300])
def test_what_can_be_no_name_of_a_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises((ConfigError, StoreUnavailable), match="name another file"):
        open(f"{tmp_path}/{name}")


def test_what_a_postgresql_client_takes_is_no_name_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"postgresql://user") as refused:
        open("host=db user=ada password=secret")
    assert "secret" not in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_open_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    assert all(isinstance(open(url), ReferenceStore) for url in (":memory:", "sqlite:///:memory:"))
    for nothing in ("", "sqlite://", "sqlite:///"):
        with pytest.raises(ConfigError, match="is not a store: give a file"):
            open(nothing)
    bad: list[tuple[Any, Any]] = [("redis://x", ConfigError), (str(tmp_path / "no" / "dir" / "x.db"), StoreUnavailable)]
    for url, error in bad:
        with pytest.raises(error):
            open(url)
    with pytest.raises(ConfigError, match="durability"):
        open(str(tmp_path / "x.db"), durability=wrong("maybe"))
