"""The harness's PostgreSQL is its own, private and empty."""

from __future__ import annotations

import psycopg
import pytest

from tests.eventually import eventually
from tests.servers.postgresql import DATABASES, PostgreSQL


def test_each_test_finds_two_empty_databases_and_nobody_connected(postgresql: PostgreSQL) -> None:
    tables = "SELECT * FROM pg_tables WHERE schemaname = 'public'"

    assert [postgresql.ask(tables, name) for name in DATABASES] == [[], []]
    assert postgresql.clients() == 0

    postgresql.ask("CREATE TABLE left_behind ()")


def test_it_listens_on_a_socket_alone(postgresql: PostgreSQL) -> None:
    assert postgresql.ask("SHOW listen_addresses") == [("",)]
    assert (postgresql.folder / ".s.PGSQL.5432").is_socket()


def test_clients_are_counted_and_cut_off(postgresql: PostgreSQL) -> None:
    with psycopg.connect(postgresql.address(), autocommit=True) as link:
        assert postgresql.clients() == 1
        assert postgresql.cut() == 1

        with pytest.raises(psycopg.OperationalError):
            link.execute("SELECT 1")

    eventually(lambda: postgresql.clients() == 0)


def test_a_restart_keeps_what_was_written(postgresql: PostgreSQL) -> None:
    first = postgresql.pid
    postgresql.ask("CREATE TABLE kept ()")

    postgresql.restart()

    assert postgresql.pid != first
    assert postgresql.ask("SELECT * FROM kept") == []
