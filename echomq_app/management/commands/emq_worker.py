"""``manage.py emq_worker``: claim jobs and run them until told to stop."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils.translation import gettext as _

from echomq_app.backend import registry
from echomq_app.backend.execution import TaskRunner
from echomq_app.conf import echomq_settings
from echomq_app.management.arguments import (
    count,
    last_words,
    lease,
    queues_to_serve,
    report_for,
    seconds,
    started,
)
from echomq_app.runtime.events import Event, told_to
from echomq_app.runtime.loop import abandon, serve, stop_on_signals
from echomq_app.runtime.publishing import Publisher
from echomq_app.runtime.threads import Bell, ThreadExecutor
from echomq_app.runtime.worker import Worker, WorkerOptions


class Command(BaseCommand):
    """Exits with 0 after a drain or a burst, 130 after a second signal, 1 when it cannot serve."""

    help = _("Claim jobs and run them. TERM or Ctrl-C drains; a second one leaves at once.")

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("--queue", action="append", dest="queues", metavar="NAME", help=_("queue to serve"))
        add("--concurrency", type=count, default=8, help=_("jobs at a time (default 8)"))
        add("--lease", type=lease, help=_("how long a claim lasts, such as 60s or 2m"))
        add("--drain", type=seconds, default=timedelta(seconds=30), help=_("time to finish in"))
        add("--burst", action="store_true", help=_("leave when nothing waits, runs or is due"))
        add("--no-sweep", action="store_true", help=_("leave promote and reap to emq_reaper"))

    def handle(self, *args: Any, **options: Any) -> None:
        settings = echomq_settings()
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
        bell = Bell()
        executor = ThreadExecutor(choice.concurrency, TaskRunner(settings), bell)
        worker = Worker(queues[0].wire, queues, executor, choice, report=report)
        stop_on_signals(worker.stop, bell)
        names = ",".join(queue.name for queue in queues)
        report(Event.STARTED, name=worker.name, queues=names, slots=choice.concurrency, **facts)
        with last_words():
            serve(worker, bell)
        executor.close()
        if publisher is not None:
            publisher.close()
        report(Event.STOPPED, name=worker.name)
        if worker.running:
            abandon()
