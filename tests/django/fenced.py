"""Models with a fence, as projects have them, and claims that write them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

from django.db import connections, models

from echomq_app.fencing import FencedModel
from echomq_app.protocol.ids import encode

OLDER, NEWER = encode(61), encode(62)


class Claim(NamedTuple):
    """What a task's context tells of its claim."""

    fence: int
    job_id: str = OLDER


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


@contextmanager
def tables_in(alias: str) -> Iterator[None]:
    """The tables of all these models, dropped again."""
    found = [Sheet, Bound, Ledger, Audited]
    with connections[alias].schema_editor() as editor:
        for model in found:
            editor.create_model(model)
    yield
    with connections[alias].schema_editor() as editor:
        for model in reversed(found):
            editor.delete_model(model)


class ToTheOther:
    """Routes these models to the alias ``other``."""

    def db_for_read(self, model: type[models.Model], **_: Any) -> str | None:
        return "other" if model._meta.app_label == "fenced" else None

    db_for_write = db_for_read
