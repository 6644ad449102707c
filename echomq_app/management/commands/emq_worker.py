"""``manage.py emq_worker``: claim jobs and run them until told to stop."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils.translation import gettext as _

from echomq_app.management.arguments import (
    count,
    jobs,
    lease,
    listening,
    memory,
    queue,
    seconds,
    watch,
)
from echomq_app.management.supervisors import oversee
from echomq_app.management.workers import work
from echomq_app.runtime.children import is_supervised


class Command(BaseCommand):
    """Exits with 0 after a drain or a burst, 130 after a second signal, 1 when it cannot serve.

    With 70 when its loop was stuck.
    """

    help = _("Claim jobs and run them. TERM or Ctrl-C drains; a second one leaves at once.")

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add(
            "--queue",
            action="append",
            dest="queues",
            type=queue,
            metavar="NAME[=WEIGHT]",
            help=_("queue to serve; with a weight: its share of the jobs that run"),
        )
        add("--order", choices=("turns", "strict"), default="turns", help=_("who is asked first"))
        add("--concurrency", type=count, default=8, help=_("jobs at a time (default 8)"))
        add("--processes", type=count, help=_("so many of them, each a process; one is replaced"))
        add("--lease", type=lease, help=_("how long a claim lasts, such as 60s or 2m"))
        add("--drain", type=seconds, default=timedelta(seconds=30), help=_("time to finish in"))
        add("--max-jobs", type=jobs, help=_("leave, or be replaced in --processes, after so many"))
        add("--max-memory", type=memory, help=_("the same when bigger than this, such as 512M"))
        add("--reload", action="store_true", help=_("start afresh when a source file changes"))
        add(
            "--watchdog",
            type=watch,
            default=timedelta(seconds=60),
            help=_("end when stuck so long"),
        )
        add("--health-file", type=Path, metavar="PATH", help=_("tell health in this file"))
        add("--health-port", type=listening, metavar="PORT", help=_("tell health over HTTP"))
        add("--burst", action="store_true", help=_("leave when nothing waits, runs or is due"))
        add("--no-sweep", action="store_true", help=_("leave promote and reap to emq_reaper"))

    def handle(self, *args: Any, **options: Any) -> None:
        if (options["processes"] or options["reload"]) and not is_supervised():
            oversee(options)
        else:
            work(options)
