"""Workers of a site on PostgreSQL: whatever becomes of a connection, the next job works."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.eventually import eventually, stays
from tests.processes.on_postgresql import ALIASES, KEPT, ProjectOnPostgreSQL
from tests.processes.project import Command
from tests.servers.postgresql import DATABASES, PostgreSQL
from tests.servers.server import Server

BOTH = ",".join(ALIASES)
HARMS = [
    ("breaks_its_connection", "default"),
    ("leaves_an_error", "default"),
    ("leaves_an_error_in_a_transaction", "default"),
    ("leaves_a_transaction_open", "default"),
    ("leaves_a_transaction_open", BOTH),
    ("closes_its_connection_in_a_transaction", "default"),
    ("leaves_autocommit_off", "other"),
    ("leaves_an_unseen_transaction_open", "default"),
    ("leaves_an_unseen_transaction_broken", "other"),
]


@pytest.fixture(params=KEPT)
def site(
    request: pytest.FixtureRequest, engine_server: Server, postgresql: PostgreSQL
) -> Iterator[ProjectOnPostgreSQL]:
    """The site, for each way to keep connections."""
    with ProjectOnPostgreSQL(engine_server, postgresql, KEPT[request.param]) as site:
        yield site


def written(site: ProjectOnPostgreSQL) -> list[list[str]]:
    """What jobs have written, database by database."""
    return [[job for (job,) in site.ask("SELECT job FROM runs", name)] for name in DATABASES]


def work(site: ProjectOnPostgreSQL, worker: Command) -> str:
    """A job that writes into both databases, once it is done at its first attempt."""
    (job,) = site.enqueue("counted", *ALIASES)
    eventually(lambda: job in written(site)[1] or "job failed" in worker.said(), within=30)
    assert "job failed" not in worker.said()
    return job


def test_a_worker_loses_no_attempt_to_connections_that_ended_while_it_idled(
    site: ProjectOnPostgreSQL,
) -> None:
    worker = site.worker("--concurrency", "1")
    jobs = [work(site, worker)]

    site.postgresql.cut()
    stays(lambda: worker.alive)
    jobs.append(work(site, worker))
    site.postgresql.restart()
    jobs.append(work(site, worker))

    assert written(site) == [jobs, jobs]


def test_a_job_that_spoils_its_connections_leaves_nothing_to_the_next(
    site: ProjectOnPostgreSQL,
) -> None:
    jobs = site.enqueue("counted", *ALIASES)
    for harm, where in HARMS:
        site.enqueue(harm, *where.split(","))
        jobs += site.enqueue("counted", *ALIASES)

    worker = site.run("emq_worker", "--burst", "--concurrency", "1")

    assert worker.code() == 0
    assert [sorted(one) for one in written(site)] == [jobs, jobs]
