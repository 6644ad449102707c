"""Models with a fence, as projects have them."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from echomq_app.fencing import FencedModel


class Sheet(FencedModel):
    """All in one table."""

    text = models.TextField(default="")
    pages = models.IntegerField(default=0)
    printed = models.DateTimeField(auto_now=True)
    objects: ClassVar[models.Manager[Sheet]] = models.Manager()

    class Meta:
        app_label = "fenced"

    def __str__(self) -> str:
        return self.text


class Bound(Sheet):
    """A table more, below the fence's."""

    cover = models.TextField(default="")
    objects: ClassVar[models.Manager[Bound]] = models.Manager()

    class Meta:
        app_label = "fenced"


class Ledger(models.Model):
    """A table without a fence."""

    title = models.TextField(default="")
    objects: ClassVar[models.Manager[Ledger]] = models.Manager()

    class Meta:
        app_label = "fenced"

    def __str__(self) -> str:
        return self.title


class Audited(FencedModel, Ledger):
    """The fence in a table below another."""

    verdict = models.TextField(default="")
    objects: ClassVar[models.Manager[Audited]] = models.Manager()

    class Meta:
        app_label = "fenced"
