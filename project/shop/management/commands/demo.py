"""``manage.py demo``: the shop with its server, workers and reaper, until Ctrl-C."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from echomq_app.runtime.embedded import EmbeddedError
from project.demo import show
from project.demo.ground import HOST, GroundTaken, alone_in, free_port
from project.demo.operator import NAME, ensure_operator
from project.demo.part import Part
from project.demo.supervisor import PartEnded, StopRequested, Supervisor
from project.shop.models import Order

ORDERS = 8


class Command(BaseCommand):
    """Start everything, say where it is, end it all together."""

    help = "Run the demo shop with its embedded server, two workers and a reaper."
    # Each part checks the system at its own start.
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until a signal (exit code 0) or until a part fails (exit code 1)."""
        self._line = threading.Lock()
        try:
            address = f"{HOST}:{free_port(settings.SHOP_PORT)}"
            with (
                suppress(StopRequested),
                alone_in(settings.STATE_DIR),
                Supervisor(self.say) as supervisor,
            ):
                self.run(supervisor, address)
        except (EmbeddedError, GroundTaken, PartEnded) as error:
            raise CommandError(str(error)) from None
        self.say("demo", "All parts have ended.")

    def run(self, supervisor: Supervisor, address: str) -> None:
        """Start the parts one after the other, then stay."""
        show.start_server(supervisor, settings.QUEUE_SERVER)
        call_command("migrate", verbosity=0)
        password = ensure_operator(settings.STATE_DIR / "operator.txt")
        show.start_site(supervisor, address)
        show.start_workers(supervisor)
        supervisor.run(Part(name="orders", arguments=("place_orders", str(ORDERS))))
        for line in (
            f"Shop      http://{address}/",
            f"An order  http://{address}{Order.objects.latest('pk').get_absolute_url()}",
            f"Admin     http://{address}/admin/  user {NAME}, password {password}",
            "Ctrl-C ends everything. Jobs that wait are there again at the next start.",
        ):
            self.say("demo", line)
        show.watch(supervisor, settings.QUEUE_SERVER, self.say)

    def say(self, name: str, line: str) -> None:
        """Write one line of a part. A terminal that is gone must not keep the demo from ending."""
        with self._line, suppress(OSError):
            self.stdout.write(f"{name:<8} | {line}")
            self.stdout.flush()
