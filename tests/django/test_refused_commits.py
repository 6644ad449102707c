"""A transaction that PostgreSQL refuses to commit sends no job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from django.db import Error, IntegrityError, OperationalError, connections
from django.db.transaction import atomic

from echomq_app.service.queue import Queue
from tests.servers.postgresql import PostgreSQL

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])
SERIALIZABLE = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"
ONE_MORE = "INSERT INTO seats SELECT count(*) + 1 FROM seats"


@pytest.fixture
def seats(on_postgresql: str, postgresql: PostgreSQL) -> str:
    """The alias of a database with a table of seats, each to be taken once by the time of the commit."""
    postgresql.ask("CREATE TABLE seats (n INT UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    return on_postgresql


def read_the_same(_: Any, postgresql: PostgreSQL) -> None:
    """Another transaction counts the seats as well, takes one and commits first."""
    with psycopg.connect(postgresql.address()) as link:
        link.execute(SERIALIZABLE)
        link.execute("INSERT INTO seats SELECT count(*) + 100 FROM seats")


def take_it_twice(cursor: Any, _: PostgreSQL) -> None:
    """The transaction takes its seat again."""
    cursor.execute("INSERT INTO seats VALUES (1)")


def cut(_: Any, postgresql: PostgreSQL) -> None:
    """The transaction's connection ends."""
    assert postgresql.cut() == 1


@pytest.mark.parametrize(
    ("spoil", "refusal"),
    [
        (read_the_same, OperationalError),
        (take_it_twice, IntegrityError),
        (cut, OperationalError),
    ],
)
def test_a_commit_that_is_refused_sends_nothing_and_the_next_one_does(
    site: Any,
    queue: Queue,
    seats: str,
    postgresql: PostgreSQL,
    spoil: Callable[[Any, PostgreSQL], None],
    refusal: type[Error],
) -> None:
    def order(spoil: Callable[[Any, PostgreSQL], None] | None) -> str:
        with atomic(using=seats), connections[seats].cursor() as cursor:
            cursor.execute(SERIALIZABLE)
            cursor.execute(ONE_MORE)
            if spoil:
                spoil(cursor, postgresql)
            return str(site.add.enqueue(1).id)

    with pytest.raises(refusal):
        order(spoil)
    assert queue.browse() == []

    job = order(None)
    assert queue.browse() == [job]
