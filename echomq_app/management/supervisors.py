"""What ``emq_worker --processes`` builds: a supervisor of processes that each serve."""

from __future__ import annotations

import os
from typing import Any

from django.core.management.base import CommandError
from django.utils.autoreload import get_child_arguments
from django.utils.translation import gettext as _

from echomq_app.backend import registry
from echomq_app.backend.execution import TaskRunner
from echomq_app.conf import echomq_settings
from echomq_app.management.arguments import (
    last_words,
    order,
    queues_to_serve,
    report_for,
    started,
    weights,
)
from echomq_app.management.desks import supervised
from echomq_app.management.reloading import watch_files
from echomq_app.runtime.children import ChildProcess
from echomq_app.runtime.events import Event, Report
from echomq_app.runtime.loop import stop_on_signals, supervise
from echomq_app.runtime.names import process_name
from echomq_app.runtime.supervisor import Supervisor, SupervisorOptions
from echomq_app.runtime.survey import tell_of_processes, tell_on_signal
from echomq_app.runtime.threads import Bell


def oversee(options: dict[str, Any]) -> None:
    """Keep processes until told to stop; this one runs no task."""
    settings, bell = echomq_settings(), Bell()
    queues = queues_to_serve(list(weights(options["queues"] or ())))
    order(options["queues"], [queue.name for queue in queues], options["order"])
    report = report_for("supervisor", options["verbosity"])
    facts = started(queues, report)
    choice = SupervisorOptions(
        processes=options["processes"] or 1,
        lease=options["lease"] or settings.lease,
        drain=options["drain"],
        burst=options["burst"],
    )
    command = [str(word) for word in get_child_arguments()]
    name = process_name()
    supervisor = Supervisor(
        wire=queues[0].wire,
        spawn=lambda: ChildProcess(command, options["concurrency"], name),
        overrun=TaskRunner(settings).overrun,
        options=choice,
        report=report,
    )
    stop_on_signals(supervisor.stop, bell, supervisor.kill)
    tell_on_signal(lambda: tell_of_processes(supervisor, report))
    if options["reload"]:
        _renew_on_changes(supervisor, bell, report)
    names = ",".join(queue.name for queue in queues)
    about = {"name": name, "pid": os.getpid(), "queues": names, "processes": choice.processes}
    report(Event.STARTED, **about, **facts)
    with last_words(), supervised(name, supervisor, queues, bell, report, options):
        supervise(supervisor, bell)
    report(Event.STOPPED, name=name, pid=os.getpid())
    if supervisor.failed:
        raise CommandError(
            _("No process of the worker could serve: the lines above say why the first one ended.")
        )


def _renew_on_changes(supervisor: Supervisor, bell: Bell, report: Report) -> None:
    """The tasks are imported here too, so that their files are known to be watched."""
    registry.discover()

    def changed(path: str) -> None:
        report(Event.RELOADING, path=path)
        supervisor.renew()
        bell.ring()

    watch_files(changed)
