"""A job's connections to the site's database are fresh, whatever the job before did to them."""

from __future__ import annotations

import pytest

from tests.processes.project import Project

HARMS = [
    ("breaks_its_connection", "default"),
    ("leaves_an_error", "default"),
    ("leaves_an_error", "kept"),
    ("leaves_autocommit_off", "kept"),
    ("leaves_a_transaction_open", "default"),
    ("leaves_a_transaction_open", "kept"),
    ("leaves_an_unseen_transaction_open", "kept"),
    ("closes_its_connection_in_a_transaction", "kept"),
]


@pytest.mark.parametrize(("harm", "alias"), HARMS)
def test_a_task_that_spoils_its_connection_does_not_hurt_the_next_job(
    project: Project, alias: str, harm: str
) -> None:
    (before,) = project.enqueue("counted", alias)
    project.enqueue(harm, alias)
    (after,) = project.enqueue("counted", alias)

    worker = project.run("emq_worker", "--burst", "--concurrency", "1")

    assert worker.code() == 0
    assert project.runs() == [before, after]
    assert not [line for line in worker.lines("job failed") if line["job"] == after]


def test_connections_are_closed_before_and_after_each_job(project: Project) -> None:
    project.enqueue("counted", "default")
    project.enqueue("open_connections")

    assert project.run("emq_worker", "--burst", "--concurrency", "1").code() == 0

    assert [entry.what for entry in project.journal()] == ["closed"]
