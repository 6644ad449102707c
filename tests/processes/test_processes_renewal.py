"""Processes that make room for fresh ones: after so many jobs, when too big, when a file changed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from echomq_app.protocol.states import State
from tests.eventually import eventually
from tests.processes.project import Project


def test_a_process_is_replaced_after_its_jobs_and_none_is_lost(project: Project) -> None:
    jobs = project.enqueue("work", count=40)

    supervisor = project.run(
        *("emq_worker", "--processes", "1", "--concurrency", "2", "--max-jobs", "15", "--burst")
    )

    assert supervisor.code() == 0
    assert sorted(entry.job for entry in project.journal("end")) == sorted(jobs)
    pids = [entry.pid for entry in project.journal("start")]
    assert sorted(pids.count(pid) for pid in set(pids)) == [10, 15, 15]
    assert [line["code"] for line in supervisor.lines("process ended ")] == ["75", "75", "0"]
    assert supervisor.lines("process died") == []
    attempts = {line["attempt"] for line in supervisor.lines("job done ")}
    assert attempts == {"1"}


def test_without_processes_a_worker_leaves_with_0_after_its_jobs(project: Project) -> None:
    project.enqueue("work", count=10)

    worker = project.run("emq_worker", "--max-jobs", "4")

    assert worker.code() == 0
    assert len(project.journal("end")) == 4
    assert project.queue.pending_size() == 6


def test_a_process_that_grew_too_big_is_replaced_after_the_job(project: Project) -> None:
    (big,) = project.enqueue("grows", 300)
    supervisor = project.run("emq_worker", "--processes", "1", "--max-memory", "250M")
    supervisor.says("recycling: nothing more is claimed memory=")
    supervisor.says("process ended pid=")
    project.enqueue("work")

    project.wait_for("end", 2)

    first, second = project.journal("end")
    assert first.job == big
    assert first.pid != second.pid
    assert supervisor.lines("process died") == []


def test_a_changed_file_starts_fresh_processes_while_old_jobs_end(project: Project) -> None:
    app = project.folder / "fresh"
    app.mkdir()
    (app / "__init__.py").touch()
    write_task(app, "old")
    environment = {"SITE_APP": "fresh", "PYTHONPATH": str(project.folder)}
    supervisor = project.run("emq_worker", "--reload", **environment).says(" slots=")
    (slow,) = project.enqueue("work", 8.0)
    project.wait_for("start")
    project.enqueue_path("fresh.tasks.tell")
    (old,) = project.wait_for("old")

    write_task(app, "brand_new")

    supervisor.says("file changed, fresh processes are started path=")
    eventually(lambda: supervisor.said().count(" slots=") == 2, within=60)
    project.enqueue_path("fresh.tasks.tell")
    (new,) = project.wait_for("brand_new")
    assert new.pid != old.pid
    eventually(lambda: project.queue.state(slow) is State.DONE, within=30)
    supervisor.send(signal.SIGTERM)
    assert supervisor.code() == 0


def write_task(app: Path, word: str) -> None:
    """A module whose task notes ``word``."""
    module = app / "tasks.py"
    module.write_text(
        "from echomq_app.compat import task\n"
        "from tests.processes.site.tasks import note\n\n\n"
        "@task(takes_context=True)\n"
        f"def tell(context):\n    note('{word}', context)\n"
    )
    later = module.stat().st_mtime + len(word)
    os.utime(module, (later, later))
