"""Tasks that leak, hang, dawdle, exit, crash and chatter among good ones: the good ones are done."""

from __future__ import annotations

from tests.eventually import eventually
from tests.faults.plant import Plant

GOOD = 300
MEGABYTES = 100
LIMITS = "echomq_app.runtime.limits"


def test_bad_tasks_are_dead_with_their_reasons_and_good_ones_are_done(plant: Plant) -> None:
    plant.settings |= {"MAX_LAPSES": 2, "MAX_ATTEMPTS": 1}
    crashing = plant.admit("exits") + plant.admit("segfaults")
    late = plant.admit("hangs")
    slow, leaving = plant.admit("dawdles"), plant.admit("leaves")
    plant.admit_short(GOOD)
    plant.admit("leaks", 160, count=2)
    plant.admit("chatters", MEGABYTES)

    supervisor = plant.hire(
        "--processes", "2", "--concurrency", "1", "--lease", "2s", "--max-memory", "160M"
    )

    def is_recycled() -> bool:
        plant.admit_short(1)
        return bool(supervisor.lines("recycling: nothing more is claimed "))

    eventually(is_recycled, within=60, every=0.1)
    plant.finish()

    plant.check_books()
    assert plant.reasons(crashing) == {"its worker died 2 times: the job was not started again"}
    assert plant.reasons(late) == {
        f"{LIMITS}.HardTimeLimitExceeded: the hard time limit of 1 s has passed"
    }
    assert plant.reasons(slow) == {
        f"{LIMITS}.SoftTimeLimitExceeded: the soft time limit of 0.5 s has passed"
    }
    assert plant.reasons(leaving) == {"SystemExit: enough"}
    assert len(plant.receipts()) == len(plant.jobs) - 5
    assert supervisor.said().count("x") >= MEGABYTES * 999_000
