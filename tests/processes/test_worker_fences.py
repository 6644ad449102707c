"""What a frozen worker writes when it wakes is refused by the row itself."""

from __future__ import annotations

import signal

from echomq_app.protocol.ids import JobId
from echomq_app.protocol.states import Completion
from echomq_app.service.records import Lease
from tests.processes.project import Project


def lease_of(project: Project, job: str) -> Lease:
    """The lease that somebody holds of a job."""
    fields = project.queue.job(job).fields
    assert fields is not None
    token, label = fields["worker"].decode().split(" ")
    return Lease(
        queue="default",
        job_id=JobId(job),
        payload=fields["payload"],
        token=int(token),
        label=label,
    )


def test_a_zombie_whose_job_another_worker_has_written_loses_its_write_and_its_settle(
    project: Project,
) -> None:
    (job,) = project.enqueue("writes_late", 1.5)
    zombie = project.worker("--lease", "1s", "--no-sweep")
    project.wait_for("start")
    zombies = lease_of(project, job)
    zombie.send(signal.SIGSTOP)
    heir = project.worker("--lease", "1s")
    project.wait_for("wrote")
    project.wait_until_empty()

    zombie.send(signal.SIGCONT)

    (refused,) = project.wait_for("fenced_off")
    assert (refused.pid, refused.token) == (zombie.pid, 1)
    assert [(one.pid, one.token) for one in project.journal("wrote")] == [(heir.pid, 2)]
    assert project.ask("SELECT job, text, fence FROM site_sheet") == [(job, "by claim 2", 2)]
    assert project.queue.complete(zombies) is Completion.GONE
    zombie.says("outcome not sent")
    assert [line["token"] for line in heir.lines("job done ")] == ["2"]
    assert project.queue.facts().counts.completed == 1
