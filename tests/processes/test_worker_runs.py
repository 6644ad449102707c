"""``manage.py emq_worker`` runs the tasks of a site."""

from __future__ import annotations

from datetime import timedelta

from echomq_app.protocol.states import State
from tests.eventually import eventually
from tests.processes.project import Project


def test_a_burst_runs_every_kind_of_task_and_leaves_with_0(project: Project) -> None:
    (quick,) = project.enqueue("work")
    (awaited,) = project.enqueue("awaited", 0.0)
    (plain,) = project.enqueue("plain", "text")
    (reporting,) = project.enqueue("reporting")
    (failing,) = project.enqueue("failing")
    (unknown,) = project.enqueue("nowhere")
    (mail,) = project.enqueue("plain", "mail", queue="other")

    worker = project.run("emq_worker", "--burst")

    assert worker.code() == 0
    outcomes = {job: project.queue.job(job) for job in (quick, awaited, plain, reporting)}
    assert {job: one.state for job, one in outcomes.items()} == dict.fromkeys(outcomes, State.DONE)
    said = worker.said()
    done = {line["job"] for line in worker.lines("job done ")}
    assert done == {quick, awaited, plain, reporting, mail}
    assert len(worker.lines("job failed, will be tried again ")) >= 1
    assert [line["job"] for line in worker.lines("job parked for later")] == [unknown]
    assert project.queue.state(unknown) is State.SCHEDULED
    assert project.queue.state(failing) in (State.SCHEDULED, State.DEAD)
    assert 'error="ValueError: no good:\\nnever was"' in said
    assert " started name=" in said
    assert " slots=8 server=" in said
    assert said.rstrip().splitlines()[-1].split(" stopped ")[1].startswith("name=")


def test_a_failing_task_is_tried_again_and_then_dead_with_its_traceback(project: Project) -> None:
    (job,) = project.enqueue("failing")
    worker = project.worker("--concurrency", "2")

    eventually(lambda: project.queue.state(job) is State.DEAD, within=30)

    details = project.queue.job(job)
    assert details.fields is not None
    assert details.fields["last_error"] == b"ValueError: no good:\nnever was"
    assert len(details.errors) == 2
    assert b"Traceback (most recent call last)" in details.errors[0]
    assert [entry.token for entry in project.journal("start")] == [1, 2]
    worker.says("job is dead")


def test_two_workers_share_the_work_and_run_each_job_once(project: Project) -> None:
    one = project.worker("--concurrency", "2")
    other = project.worker("--concurrency", "2")
    jobs = project.enqueue("work", 0.02, count=100)

    project.wait_until_empty()

    ended = project.journal("end")
    assert sorted(entry.job for entry in ended) == sorted(jobs)
    assert {entry.pid for entry in ended} == {one.pid, other.pid}
    assert project.queue.facts().counts.completed == 100


def test_a_reaper_alone_gives_back_a_dead_workers_job(project: Project) -> None:
    (job,) = project.enqueue("work", 30)
    dead = project.worker("--no-sweep", "--lease", "1s")
    project.wait_for("start")
    dead.kill()
    idle = project.worker("--no-sweep", "--concurrency", "1", "--queue", "other")
    assert project.queue.state(job) is State.ACTIVE

    reaper = project.run("emq_reaper", "--beat", "100ms").ready()

    eventually(lambda: project.queue.state(job) is State.PENDING, within=15)
    reaper.says("swept queue=default reaped=1 promoted=0")
    assert idle.alive


def test_a_reaper_sweeps_once_and_leaves(project: Project) -> None:
    (job,) = project.enqueue("work")
    project.queue.claim_many(timedelta(minutes=1), 1, "dead")
    project.client.zadd(project.queue.keys.active, {job: 1})

    reaper = project.run("emq_reaper", "--once", "--queue", "default")

    assert reaper.code() == 0
    assert project.queue.state(job) is State.PENDING


def test_a_task_that_django_enqueued_is_run_and_its_result_is_read(project: Project) -> None:
    script = "from tests.processes.site.tasks import plain; print('id', plain.enqueue('text').id)"
    producer = project.run("shell", "-c", script)
    assert producer.code() == 0, producer.said()
    job = producer.said().split("id ")[1].split()[0]

    assert project.run("emq_worker", "--burst").code() == 0

    read = f"from tests.processes.site.tasks import plain; r = plain.get_result({job!r})"
    reader = project.run("shell", "-c", f"{read}; print(r.status, r.return_value)")
    assert reader.code() == 0
    assert "TEXT" in reader.said()


def test_a_strict_worker_empties_the_first_queue_first_and_its_processes_are_told_so(
    project: Project,
) -> None:
    low = project.enqueue("work", 0.1, count=5, queue="other")
    high = project.enqueue("work", 0.1, count=5)
    order = ("--queue", "default", "--queue", "other", "--order", "strict")

    worker = project.run("emq_worker", "--burst", "--processes", "1", "--concurrency", "1", *order)

    assert worker.code() == 0
    assert [entry.job for entry in project.journal("start")] == [*high, *low]


def test_weights_and_strict_order_are_refused_together(project: Project) -> None:
    worker = project.run("emq_worker", "--queue", "default=2", "--order", "strict")

    assert worker.code() == 1
    assert "--order strict leaves no use for weights" in worker.said()
