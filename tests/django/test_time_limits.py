"""A task's time limits, as a worker of threads keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from echomq_app.backend.execution import TaskRunner
from echomq_app.backend.limiting import Limiter
from echomq_app.compat import TaskResultStatus
from echomq_app.conf import echomq_settings, read_settings
from echomq_app.protocol.states import State
from echomq_app.runtime.held import Held
from echomq_app.service.queue import Queue

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

LIMIT = "echomq_app.runtime.limits.SoftTimeLimitExceeded"


@pytest.fixture
def last_try(site: Any, settings: Settings) -> None:
    """A job that fails once is dead."""
    settings.ECHOMQ = {**settings.ECHOMQ, "MAX_ATTEMPTS": 1}


@pytest.mark.usefixtures("last_try")
@pytest.mark.parametrize(
    ("task", "seconds"), [("works_too_long", "0.2"), ("waits_too_long", "0.1")]
)
def test_past_its_soft_limit_a_task_fails_of_it(
    site: Any, run: Any, queue: Queue, task: str, seconds: str
) -> None:
    result = run(getattr(site, task).enqueue())

    assert result.status is TaskResultStatus.FAILED
    assert [error.exception_class_path for error in result.errors] == [LIMIT]
    fields = queue.job(result.id).fields
    assert fields is not None
    assert fields["last_error"].decode().endswith(f"the soft time limit of {seconds} s has passed")


def test_such_a_failure_counts_as_any_and_is_tried_again(site: Any, run: Any, queue: Queue) -> None:
    result = run(site.works_too_long.enqueue())

    assert queue.state(result.id) is State.SCHEDULED


def test_a_task_that_catches_it_succeeds(site: Any, run: Any) -> None:
    assert run(site.tidies_up.enqueue()).return_value == "tidied"


@pytest.mark.usefixtures("last_try")
def test_the_next_job_of_the_thread_is_left_alone(site: Any, run: Any) -> None:
    late = site.works_too_long.enqueue()
    added = site.add.enqueue(1, 2)

    assert run(added).return_value == 3
    assert run(late).status is TaskResultStatus.FAILED


@pytest.mark.usefixtures("last_try")
def test_a_task_without_limits_of_its_own_has_the_projects(
    site: Any, run: Any, settings: Settings
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "SOFT_TIME_LIMIT": 0.1}

    assert run(site.hold.enqueue()).status is TaskResultStatus.FAILED
    assert run(site.works_unlimited.enqueue(0.3)).return_value == "done"


class Warden:
    """Notes which hard limits it is to keep."""

    def __init__(self) -> None:
        self.told: list[tuple[str, float]] = []

    def limit(self, held: Held, seconds: float) -> None:
        self.told.append((held.lease.job_id, seconds))


@pytest.mark.parametrize(("task", "limit"), [("add", [7.0]), ("works_limited", [9.0])])
def test_a_hard_limit_is_told_to_whoever_keeps_it(
    site: Any, queue: Queue, hold: Any, settings: Settings, task: str, limit: list[float]
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "HARD_TIME_LIMIT": 7}
    warden = Warden()
    getattr(site, task).enqueue(1)
    held = hold(queue)

    Limiter(echomq_settings(), warden).call(held, getattr(site, task), [1], {})

    assert warden.told == [(held.lease.job_id, one) for one in limit]


def test_how_a_job_fails_whose_process_was_killed_for_it(
    site: Any, queue: Queue, hold: Any
) -> None:
    site.add.enqueue(1)
    held = hold(queue)
    runner = TaskRunner(echomq_settings())

    failed = runner.overrun(held.lease, 90.0)

    assert failed.error.endswith("HardTimeLimitExceeded: the hard time limit of 90 s has passed")
    assert failed.max_attempts == 5
    assert failed.delay.total_seconds() > 0


def test_a_soft_limit_that_is_no_shorter_than_the_hard_one_is_refused() -> None:
    _, problems = read_settings(
        {"CONNECTION": "embedded", "SOFT_TIME_LIMIT": 60, "HARD_TIME_LIMIT": 60}
    )

    (problem,) = problems
    assert problem.number == "E003"
    assert "SOFT_TIME_LIMIT" in problem.message
    assert "shorter than HARD_TIME_LIMIT" in problem.message
    assert read_settings({"SOFT_TIME_LIMIT": None, "HARD_TIME_LIMIT": 60})[1] == []
