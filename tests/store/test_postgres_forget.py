"""What is forgotten is in no table of a PostgreSQL server."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, cast

import psycopg
import pytest

from recollect import Memory
from recollect.store.postgres import PostgresStore
from recollect.types import Role
from tests.test_forget import EAGER, LEVELS, MARKER, NOW, OTHERS, SECRETS, SESSIONS, Parrot, searched, shown, tell

ROLES: tuple[Role, ...] = ("user", "user", "assistant")


def tables(url: str) -> str:
    """Everything that is in the tables."""
    with psycopg.connect(url) as db:
        db.execute("SELECT set_config('recollect.every_tenant', 'on', false)")
        names = [row[0] for row in db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'recollect'")]
        found = [
            db.execute(psycopg.sql.SQL("SELECT * FROM recollect.{}").format(psycopg.sql.Identifier(name)))
            for name in names
        ]
        return repr([rows.fetchall() for rows in found]).lower()


@pytest.mark.parametrize("forget", LEVELS)
def test_what_is_forgotten_is_in_no_table_and_no_context(postgres_url: str, forget: Callable[[Memory], None]) -> None:
    dice = random.Random(5)
    store, model = PostgresStore(postgres_url, clock=lambda: NOW), cast("Any", Parrot())
    with Memory(store, settings=EAGER, model=model, search=searched, clock=lambda: NOW) as memory:
        for _ in range(2):
            lines = [(dice.choice(SESSIONS), dice.choice(ROLES), dice.choice(SECRETS + OTHERS)) for _ in range(12)]
            tell(memory, lines)
            assert MARKER in tables(postgres_url)
            forget(memory)
            memory.drain()
            assert MARKER not in tables(postgres_url)
            assert MARKER not in shown(memory)
        assert store.check() == []
