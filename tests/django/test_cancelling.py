"""A task is asked to stop by its own process, and what comes of it when it does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from echomq_app.backend.execution import TaskRunner
from echomq_app.conf import Settings
from echomq_app.runtime.held import Held, Loss
from echomq_app.runtime.outcomes import Completed, Failed, Outcome
from echomq_app.service.queue import Queue

MINUTE = timedelta(minutes=1)


@pytest.fixture
def held(site: Any, queue: Queue) -> Held:
    """A task in hand that looks once whether it shall stop."""
    site.heed.enqueue()
    (lease,) = queue.claim_many(MINUTE, 1, "ours")
    return Held(lease, 0.0, Loss(1.0, lambda: 0.0))


def run_in_thread(held: Held) -> Outcome:
    """Run a job as a worker's thread does."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(TaskRunner(Settings()), held).result()


def test_a_task_that_heeds_a_wish_to_stop_is_dead_with_the_reason_and_not_tried_again(
    held: Held,
) -> None:
    held.cancellation.cancel("shop closed")

    outcome = run_in_thread(held)

    assert isinstance(outcome, Failed)
    assert outcome.max_attempts == 0
    assert outcome.error.endswith(".Cancelled: cancelled: shop closed")


def test_a_task_that_nobody_asked_to_stop_goes_on(held: Held) -> None:
    assert isinstance(run_in_thread(held), Completed)
