"""What ``emq_worker`` builds: a worker in this process, or a supervisor of processes."""

from __future__ import annotations

import os
from typing import Any

from django.core.management.base import CommandError
from django.utils.autoreload import get_child_arguments
from django.utils.translation import gettext as _

from echomq_app.backend import registry
from echomq_app.backend.execution import TaskRunner
from echomq_app.backend.limiting import Limiter
from echomq_app.conf import echomq_settings
from echomq_app.management.arguments import last_words, queues_to_serve, report_for, started
from echomq_app.runtime.children import ChildProcess, follow, join_supervisor
from echomq_app.runtime.events import Event, told_to
from echomq_app.runtime.limits import any_hard
from echomq_app.runtime.loop import abandon, serve, stop_on_signals, supervise
from echomq_app.runtime.publishing import Publisher
from echomq_app.runtime.supervisor import Supervisor, SupervisorOptions
from echomq_app.runtime.survey import tell_of_processes, tell_of_worker, tell_on_signal
from echomq_app.runtime.threads import Bell, ThreadExecutor
from echomq_app.runtime.worker import Worker, WorkerOptions


def work(options: dict[str, Any]) -> None:
    """Serve in this process, which may be one of a supervisor's."""
    settings, ledger = echomq_settings(), join_supervisor()
    registry.discover()
    queues = queues_to_serve(options["queues"])
    report = report_for("worker", options["verbosity"])
    publisher = Publisher(queues[0].wire) if settings.events else None
    if publisher is not None:
        report = told_to(report, publisher)
    facts = started(queues, report)
    choice = WorkerOptions(
        concurrency=options["concurrency"],
        lease=options["lease"] or settings.lease,
        drain=options["drain"],
        burst=options["burst"],
        sweep=not options["no_sweep"],
        max_lapses=settings.max_lapses,
    )
    if ledger is None and (settings.hard_time_limit is not None or any_hard()):
        report(Event.LIMIT_UNKEPT)
    bell, run = Bell(), TaskRunner(settings, limiter=Limiter(settings, ledger))
    executor = ThreadExecutor(choice.concurrency, ledger.watched(run) if ledger else run, bell)
    worker = Worker(queues[0].wire, queues, executor, choice, report=report, keeper=ledger)
    stop_on_signals(worker.stop, bell)
    tell_on_signal(lambda: tell_of_worker(worker, report))
    if ledger is not None:
        follow(worker.stop, bell)
        ledger.hold(())
    names = ",".join(queue.name for queue in queues)
    report(Event.STARTED, name=worker.name, queues=names, slots=choice.concurrency, **facts)
    with last_words():
        serve(worker, bell)
    executor.close()
    if publisher is not None:
        publisher.close()
    report(Event.STOPPED, name=worker.name)
    if ledger is not None:
        ledger.leave()
    if worker.running:
        abandon()


def oversee(options: dict[str, Any]) -> None:
    """Keep processes that each serve; this one runs no task."""
    settings = echomq_settings()
    queues = queues_to_serve(options["queues"])
    report = report_for("supervisor", options["verbosity"])
    facts = started(queues, report)
    choice = SupervisorOptions(
        processes=options["processes"],
        lease=options["lease"] or settings.lease,
        drain=options["drain"],
        burst=options["burst"],
    )
    command = [str(word) for word in get_child_arguments()]
    supervisor = Supervisor(
        wire=queues[0].wire,
        spawn=lambda: ChildProcess(command, options["concurrency"]),
        overrun=TaskRunner(settings).overrun,
        options=choice,
        report=report,
    )
    bell = Bell()
    stop_on_signals(supervisor.stop, bell, supervisor.kill)
    tell_on_signal(lambda: tell_of_processes(supervisor, report))
    names = ",".join(queue.name for queue in queues)
    report(Event.STARTED, pid=os.getpid(), queues=names, processes=choice.processes, **facts)
    with last_words():
        supervise(supervisor, bell)
    report(Event.STOPPED, pid=os.getpid())
    if supervisor.failed:
        raise CommandError(
            _(
                "No process of the worker could serve: the lines before say why the first ones ended."
            )
        )
