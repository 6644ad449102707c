"""``manage.py emq_server run | stop | status``: the embedded server, by hand."""

from __future__ import annotations

import json
import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from echomq_app.connections import embedded_server
from echomq_app.management.embedded_report import describe
from echomq_app.runtime.embedded import EmbeddedError, EmbeddedServer, EmbeddedStatus


class Command(BaseCommand):
    """``status`` exits with 0 when the server answers and with 3 when it does not."""

    help = _("Run the embedded server until Ctrl-C, stop it, or report on it.")
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=("run", "stop", "status"))
        parser.add_argument("--json", action="store_true", help=_("report as JSON"))

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        server = embedded_server()
        self.as_json: bool = options["json"]
        try:
            {"run": self.run, "stop": self.stop, "status": self.status}[action](server)
        except EmbeddedError as error:
            raise CommandError(str(error)) from error

    def run(self, server: EmbeddedServer) -> None:
        leave = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *received: leave.set())
        server.ensure()
        seen = self.report(server)
        while not leave.wait(1.0) and (seen.running or seen.held):
            seen = server.status()
        if not leave.is_set():
            raise CommandError(_("The server has ended. Its log is %s.") % server.log_path)
        server.stop()

    def stop(self, server: EmbeddedServer) -> None:
        self.stdout.write(_("Stopped.") if server.stop() else _("It was not running."))

    def status(self, server: EmbeddedServer) -> None:
        raise SystemExit(0 if self.report(server).running else 3)

    def report(self, server: EmbeddedServer) -> EmbeddedStatus:
        seen = server.status()
        self.stdout.write(json.dumps(seen.as_json()) if self.as_json else describe(seen))
        self.stdout.flush()
        return seen
