"""``manage.py emq_workers quiet | resume | stop``: ask workers, wherever they run."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.translation import gettext as _

from echomq_app.connections import address, workers
from echomq_app.protocol.errors import EchoMQError
from echomq_app.service.workers import EVERYONE


class Command(BaseCommand):
    """Exits with 0, or with 1 when nobody bears a name that was given."""

    help = _("Ask workers to claim nothing more, to claim again, or to leave as at a TERM.")
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("action", choices=("quiet", "resume", "stop"))
        add("names", nargs="*", metavar="NAME", help=_("a worker, a host, or a host:pid"))
        add("--all", action="store_true", help=_("every worker"))

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        names, everyone = options["names"], options["all"]
        if bool(names) == everyone:
            raise CommandError(_("Name workers, or give --all; emq_status shows who there is."))
        ask = getattr(workers(), action)
        try:
            asked = {name: ask(name) for name in names or [EVERYONE]}
        except EchoMQError as error:
            raise CommandError(f"{address()}: {error}") from error
        for one in sorted({one for found in asked.values() for one in found}):
            self.stdout.write(_("%(name)s: asked to %(action)s") % {"name": one, "action": action})
        unknown = [name for name, found in asked.items() if not found]
        if unknown:
            what = _(
                "No worker that can be asked to %(action)s is called %(names)s: see emq_status."
            )
            raise CommandError(what % {"action": action, "names": ", ".join(unknown)})
