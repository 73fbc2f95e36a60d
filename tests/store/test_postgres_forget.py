"""What is forgotten is in no table of a PostgreSQL server."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta
from typing import Any, cast

import psycopg
import pytest

from recollect import Memory, Message, Scope, retention
from recollect.layers.ledger import Ledger
from recollect.retention import Policy
from recollect.store.postgres import PostgresStore
from recollect.types import Role
from tests.forgetting import EAGER, LEVELS, MARKER, NOW, OTHERS, SECRETS, SESSIONS, Parrot, searched, shown, tell

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
def test_what_is_forgotten_is_in_no_table_and_no_context(url: str, forget: Callable[[Memory], None]) -> None:
    dice = random.Random(5)
    store, model = PostgresStore(url, clock=lambda: NOW), cast("Any", Parrot())
    with Memory(store, settings=EAGER, model=model, search=searched, clock=lambda: NOW) as memory:
        for _ in range(2):
            lines = [(dice.choice(SESSIONS), dice.choice(ROLES), dice.choice(SECRETS + OTHERS)) for _ in range(12)]
            tell(memory, lines)
            assert MARKER in tables(url)
            forget(memory)
            memory.drain()
            assert MARKER not in tables(url)
            assert MARKER not in shown(memory)
        assert store.check() == []


def test_two_that_forget_in_a_whole_tenant_wait_for_each_other(url: str) -> None:
    with Memory(PostgresStore(url)) as one, Memory(PostgresStore(url)) as other:
        for n in range(5):
            for user in ("ada", "bob"):
                one.session("trip", user=user).add_many([Message("user", text, id=f"{text} {n}") for text in "ab"])
            with ThreadPoolExecutor(2) as both:
                erased = both.map(lambda memory, text, n=n: memory.forget(Scope(), [f"{text} {n}"]), (one, other), "ab")
                assert [each.messages for each in erased] == [2, 2]


def test_a_message_said_while_old_ones_go_stays(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scope, found = Scope("acme", "ada", "trip"), retention._found
    with (
        PostgresStore(url) as store,
        PostgresStore(url) as second,
        ThreadPoolExecutor(1) as meanwhile,
    ):
        store.log.append(scope, [Message("user", "Hello.", at=NOW - timedelta(days=90))])
        plan = retention.preview(store, scope.owner, [Policy("messages", idle=30)], NOW)

        def interrupted(*given: Any) -> Any:
            going = found(*given)
            wait([meanwhile.submit(second.log.append, scope, [Message("user", "I am back.")])], timeout=0.5)
            return going

        monkeypatch.setattr(retention, "_found", interrupted)
        assert retention.apply(store, plan).messages == 1
        meanwhile.shutdown()
        assert [entry.message.text for entry in store.log.read(scope)] == ["I am back."]


def test_no_call_of_a_model_is_lost_where_many_count(url: str) -> None:
    with PostgresStore(url) as store, PostgresStore(url) as second, ThreadPoolExecutor(4) as many:
        ledgers = [Ledger(each, lambda: NOW, 1_000, 1_000) for each in (store, second)]
        list(many.map(lambda n: ledgers[n % 2].add("acme", 2), range(40)))
        assert (ledgers[0].today("acme").calls, ledgers[0].today("acme").tokens) == (40, 80)
