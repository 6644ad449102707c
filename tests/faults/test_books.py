"""The books of a plant tell when somebody ran or settled what was not theirs."""

from __future__ import annotations

from typing import cast

from tests.faults.plant import Plant


def _worked(plant: Plant) -> str:
    """The one job of a plant whose worker has left."""
    (job,) = plant.admit("work", 0.0)
    assert plant.run("emq_worker", "--burst").code() == 0
    plant.check_books()
    return job


def test_a_job_that_ran_twice_under_one_token_is_told(plant: Plant) -> None:
    job = _worked(plant)

    plant.scribble("start", job, 1)

    assert plant.contradictions() == [f"{job} was run 2 times under token 1"]
    assert plant.contradictions(history_was_lost=True) == []


def test_a_settle_by_somebody_who_had_not_done_the_work_is_told(plant: Plant) -> None:
    job = _worked(plant)
    key = plant.queue.keys.result(job)
    mark, _, rest = cast("bytes", plant.client.get(key)).split(b" ", 2)

    plant.client.set(key, b" ".join((mark, b"7", rest)))

    holder = plant.journal("end")[0].pid
    assert plant.contradictions() == [
        f"{job} was settled by {holder} under 7, who had not ended it",
        f"{job} was settled under 1, and not by its receipt",
    ]


def test_a_job_that_was_settled_twice_is_told(plant: Plant) -> None:
    job = _worked(plant)

    plant.run("shell", "-c", f"print('job done job={job} token=1')").code()

    assert plant.contradictions() == [f"{job} was settled 2 times"]
