"""What the site's tasks write."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from echomq_app.fencing import FencedModel


class Sheet(FencedModel):
    """A row for each job that writes one."""

    job = models.CharField(max_length=14, primary_key=True)
    text = models.TextField(default="")
    objects: ClassVar[models.Manager[Sheet]] = models.Manager()

    def __str__(self) -> str:
        return self.text
