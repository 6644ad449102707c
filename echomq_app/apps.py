"""EchoMQ as a Django app."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class EchoMQConfig(AppConfig):
    """Registers the system checks; everything else waits until it is used."""

    name = "echomq_app"
    label = "echomq_app"
    verbose_name = _("EchoMQ")

    def ready(self) -> None:
        """Register the system checks."""
        from echomq_app import checks  # noqa: F401  # importing registers them
