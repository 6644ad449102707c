"""However many jobs have run, their threads hold a connection each and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.eventually import eventually
from tests.processes.on_postgresql import KEPT, ProjectOnPostgreSQL
from tests.servers.postgresql import PostgreSQL
from tests.servers.server import Server

POOL = {"CONN_HEALTH_CHECKS": True, "OPTIONS": {"pool": {"min_size": 1, "max_size": 6}}}


@pytest.fixture
def site_that(
    engine_server: Server, postgresql: PostgreSQL
) -> Iterator[Callable[[dict[str, Any]], ProjectOnPostgreSQL]]:
    """Makes the site, its connections kept as told."""
    made: list[ProjectOnPostgreSQL] = []

    def site_that(kept: dict[str, Any]) -> ProjectOnPostgreSQL:
        made.append(ProjectOnPostgreSQL(engine_server, postgresql, kept).start())
        return made[-1]

    yield site_that
    for site in made:
        site.close()


def most_clients(site: ProjectOnPostgreSQL, threads: int, *words: str) -> int:
    """Let a worker do all that waits, none of it twice; the most connections that were seen."""
    worker = site.run("emq_worker", "--burst", "--concurrency", str(threads), *words)
    seen: list[int] = []

    def ended() -> bool:
        seen.append(site.postgresql.clients())
        return not worker.alive

    eventually(ended, within=240, every=0.05)
    assert worker.code() == 0
    assert "job failed" not in worker.said()
    eventually(lambda: site.postgresql.clients() == 0)
    return max(seen)


@pytest.mark.parametrize(
    ("kept", "jobs", "most"),
    [
        (KEPT["kept for ever"], 10_000, 50),
        (KEPT["closed after each job"], 2_000, 50),
        (POOL, 2_000, 6),
    ],
)
def test_fifty_threads_hold_no_more_connections_than_they_are(
    site_that: Any, kept: dict[str, Any], jobs: int, most: int
) -> None:
    site = site_that(kept)
    expected = site.enqueue("counted", "default", count=jobs)

    assert 0 < most_clients(site, threads=50) <= most
    assert sorted(site.runs()) == expected


@pytest.mark.parametrize(
    ("kept", "most"), [(KEPT["kept for ever"], 8), (KEPT["closed after each job"], 8), (POOL, 6)]
)
@pytest.mark.parametrize("task", ["awaits_the_database", "awaits_the_database_elsewhere"])
def test_awaited_tasks_hold_no_more_connections_than_their_threads(
    site_that: Any, kept: dict[str, Any], most: int, task: str
) -> None:
    site = site_that(kept)
    expected = site.enqueue(task, count=200)

    assert 0 < most_clients(site, threads=8) <= most
    assert sorted(site.runs()) == expected


def test_processes_hold_no_more_connections_than_their_threads_and_their_supervisor_none(
    site_that: Any,
) -> None:
    site = site_that(KEPT["kept for ever"])
    expected = site.enqueue("counted", "default", count=500)

    assert 0 < most_clients(site, 4, "--processes", "2") <= 8
    assert sorted(site.runs()) == expected
