"""What the admin and the permissions hang on. No table: queues and jobs live on the server."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class Queue(models.Model):
    """A queue by its name. Never read from or written to the database."""

    name = models.CharField(_("name"), max_length=128, primary_key=True)

    class Meta:
        managed = False
        app_label = "echomq_app"
        verbose_name = _("queue")
        verbose_name_plural = _("queues")
        default_permissions = ()
        permissions = [
            ("view_queue", "Can view queues and their jobs"),
            ("pause_queue", "Can pause and resume queues"),
            ("requeue_job", "Can requeue dead jobs"),
            ("remove_job", "Can remove jobs"),
        ]

    def __str__(self) -> str:
        return self.name
