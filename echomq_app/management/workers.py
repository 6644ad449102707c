"""What ``emq_worker`` builds: a worker in this process, which may be one of a supervisor's."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from echomq_app.backend import registry
from echomq_app.backend.execution import TaskRunner
from echomq_app.backend.limiting import Limiter
from echomq_app.conf import echomq_settings
from echomq_app.management.arguments import (
    last_words,
    order,
    queues_to_serve,
    report_for,
    started,
    weights,
)
from echomq_app.management.desks import attended
from echomq_app.runtime.children import follow, join_supervisor
from echomq_app.runtime.events import Event, Report, told_to
from echomq_app.runtime.ledger import Ledger
from echomq_app.runtime.limits import any_hard
from echomq_app.runtime.loop import abandon, serve, stop_on_signals
from echomq_app.runtime.posts import RECYCLED
from echomq_app.runtime.publishing import Publisher
from echomq_app.runtime.recycling import Recycling
from echomq_app.runtime.survey import tell_of_worker, tell_on_signal
from echomq_app.runtime.threads import Bell, Run, ThreadExecutor
from echomq_app.runtime.witness import Witness
from echomq_app.runtime.worker import Worker, WorkerOptions
from echomq_app.service.queue import Queue


def work(options: dict[str, Any]) -> None:
    """Serve until told to stop; leaves the interpreter at once when tasks outlive that."""
    ledger, bell = join_supervisor(), Bell()
    registry.discover()
    queues = queues_to_serve(list(weights(options["queues"] or ())))
    turns = order(options["queues"], [queue.name for queue in queues], options["order"])
    witness = Witness(queues[0].wire.sibling())
    with _telling(queues, options["verbosity"], witness) as report:
        facts = started(queues, report)
        if ledger is None and (echomq_settings().hard_time_limit is not None or any_hard()):
            report(Event.LIMIT_UNKEPT)
        run, recycling = _run(options, ledger, report)
        choice = _choice(options)
        executor = ThreadExecutor(choice.concurrency, run, bell)
        worker = Worker(
            queues[0].wire, queues, executor, choice, report=report, keeper=ledger, order=turns
        )
        stop_on_signals(worker.stop, bell)
        tell_on_signal(lambda: tell_of_worker(worker, report))
        if recycling is not None:
            recycling.retire = worker.retire
        if ledger is not None:
            follow(worker.stop, bell)
            ledger.hold(())
        names = ",".join(queue.name for queue in queues)
        report(Event.STARTED, name=worker.name, queues=names, slots=choice.concurrency, **facts)
        with last_words(), attended(worker, bell, witness, options):
            serve(worker, bell, witness.wire)
        executor.close()
    report(Event.STOPPED, name=worker.name)
    _leave(worker, ledger, recycling)


def _leave(worker: Worker, ledger: Ledger | None, recycling: Recycling | None) -> None:
    if ledger is not None:
        ledger.leave()
    if worker.running:
        abandon()
    if ledger is not None and recycling is not None and recycling.is_due:
        sys.exit(RECYCLED)


@contextmanager
def _telling(queues: Sequence[Queue], verbosity: int, witness: Witness) -> Iterator[Report]:
    """The worker's report, which publishes too when the settings ask for that."""
    report = report_for("worker", verbosity, dict.fromkeys(Witness.EVENTS, witness))
    if not echomq_settings().events:
        yield report
        return
    publisher = Publisher(queues[0].wire)
    yield told_to(report, publisher)
    publisher.close()


def _choice(options: dict[str, Any]) -> WorkerOptions:
    settings = echomq_settings()
    return WorkerOptions(
        concurrency=options["concurrency"],
        lease=options["lease"] or settings.lease,
        drain=options["drain"],
        burst=options["burst"],
        sweep=not options["no_sweep"],
        max_lapses=settings.max_lapses,
    )


def _run(
    options: dict[str, Any], ledger: Ledger | None, report: Report
) -> tuple[Run, Recycling | None]:
    """What an executor's threads call; as few layers of it as the options take."""
    settings = echomq_settings()
    run: Run = TaskRunner(settings, limiter=Limiter(settings, ledger))
    if ledger is not None:
        run = ledger.watched(run)
    if options["max_jobs"] is None and options["max_memory"] is None:
        return run, None
    most = {"max_jobs": options["max_jobs"], "max_bytes": options["max_memory"]}
    recycling = Recycling(run, report, **most)
    return recycling, recycling
