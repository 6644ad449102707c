"""``manage.py emq_status``: the queues, and the processes that serve them."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from echomq_app.connections import address
from echomq_app.management.status import as_json, as_text, overview
from echomq_app.protocol.errors import EchoMQError


class Command(BaseCommand):
    """Exits with 0, or with 1 when the server does not answer."""

    help = _("Show the queues with their numbers, and the workers.")
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help=_("for programs"))

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            seen = overview()
        except EchoMQError as error:
            raise CommandError(f"{address()}: {error}") from error
        self.stdout.write(json.dumps(as_json(seen)) if options["json"] else as_text(seen))
