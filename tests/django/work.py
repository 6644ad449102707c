"""A worker of the site, in this process."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from echomq_app.backend.execution import TaskRunner
from echomq_app.conf import echomq_settings
from echomq_app.connections import new_wire
from echomq_app.runtime.loop import serve
from echomq_app.runtime.threads import Bell, ThreadExecutor
from echomq_app.runtime.worker import Worker, WorkerOptions
from echomq_app.service.queue import Queue


def work(*names: str, threads: int = 1, **options: Any) -> None:
    """Run until nothing is pending, running or due on the queues ``names`` (``default``)."""
    settings = echomq_settings()
    wire = new_wire()
    bell = Bell()
    executor = ThreadExecutor(threads, TaskRunner(settings), bell)
    chosen = {"burst": True, "concurrency": threads, "beat": timedelta(seconds=0.05), **options}
    queues = [Queue(wire, name) for name in names or ("default",)]
    try:
        serve(Worker(wire, queues, executor, WorkerOptions(**chosen)), bell)
    finally:
        executor.close()
        bell.close()
