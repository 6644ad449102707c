"""``manage.py emq_reaper``: give back what dead workers held, and move what is due."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from echomq_app.management.arguments import (
    last_words,
    queues_to_serve,
    report_for,
    seconds,
    started,
)
from echomq_app.management.desks import swept
from echomq_app.runtime.events import Event
from echomq_app.runtime.loop import stop_on_signals, sweep
from echomq_app.runtime.names import process_name
from echomq_app.runtime.pump import Pump
from echomq_app.runtime.threads import Bell


class Command(BaseCommand):
    """Runs no task; any number may run beside workers."""

    help = _("Promote and reap alone: give back lapsed jobs, move due ones. Ctrl-C stops.")

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("--queue", action="append", dest="queues", metavar="NAME", help=_("queue to sweep"))
        add("--beat", type=seconds, default=timedelta(seconds=1), help=_("how often to look"))
        add("--once", action="store_true", help=_("sweep once and leave"))

    def handle(self, *args: Any, **options: Any) -> None:
        queues = queues_to_serve(options["queues"])
        report = report_for("reaper", options["verbosity"])
        facts = started(queues, report)
        pump = Pump(queues[0].wire, queues, beat=options["beat"], report=report)
        bell = Bell()
        stop_on_signals(pump.stop, bell)
        name, names = process_name(), ",".join(queue.name for queue in queues)
        report(Event.STARTED, name=name, queues=names, **facts)
        with last_words():
            if options["once"]:
                _sweep_once(pump)
            else:
                with swept(name, pump, queues, bell, report):
                    sweep(pump, bell)
        report(Event.STOPPED, name=name, queues=names)


def _sweep_once(pump: Pump) -> None:
    while pump.tick() == 0.0:
        continue
    if pump.away:
        raise CommandError(_("The server went away before the sweep was done."))
