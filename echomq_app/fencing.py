"""Rows that refuse what an older claim writes: a job's fence, kept in the site's own database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from asgiref.sync import sync_to_async
from django.db import models, router, transaction
from django.db.models import F, Q

from echomq_app.protocol.errors import EchoMQError
from echomq_app.protocol.ids import encode, parse


class Claim(Protocol):
    """What a fenced write needs to know; a task's context has it."""

    @property
    def job_id(self) -> str: ...

    @property
    def fence(self) -> int: ...


class FencedOff(EchoMQError):
    """A newer claim has written the row: the write of this one changed nothing.

    ``newer_job_id`` and ``newer_fence`` name the claim that has.
    """

    def __init__(self, row: str, claim: Claim, newer_job_id: str, newer_fence: int) -> None:
        same = newer_job_id == claim.job_id
        whose = "the same job" if same else f"the newer job {newer_job_id}"
        super().__init__(
            f"{row} was not written: claim {claim.fence} of job {claim.job_id} came too late: "
            f"claim {newer_fence} of {whose} has written it; stop, and write nothing more"
        )
        self.newer_job_id = newer_job_id
        self.newer_fence = newer_fence


class FenceField(models.BigIntegerField):  # type: ignore[type-arg]  # Django's own takes none
    """A number that ``save()`` leaves as the row has it: the instance may have been read long ago."""

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        return super().pre_save(model_instance, add) if add else F(self.attname)

    def deconstruct(self) -> Any:
        """Migrations of projects name Django's own field, so that they need nothing of this app."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.BigIntegerField", args, kwargs


class FencedModel(models.Model):
    """Adds the newest claim that has written the row; a write by an older one is refused.

    Claims are ordered by job, as minted, and then by token: of two claims of one job the later wins,
    and of two jobs the newer. Plain ``save()`` and ``update()`` ask no fence and move none.
    """

    fence_job = FenceField(default=0, editable=False)
    """The job's id as a number: as text its order would depend on the database's collation."""
    fence = FenceField(default=0, editable=False)

    class Meta:
        abstract = True

    def fenced_update(self, claim: Claim, /, **values: Any) -> None:
        """Write ``values`` here and in the row, in one ``UPDATE``; ``claim`` is the task's context.

        Raises ``FencedOff`` when a newer claim has written the row, ``DoesNotExist`` when it is gone.
        """
        using = router.db_for_write(type(self), instance=self)
        table = self._meta.get_field("fence").model
        for name in values:
            if (field := table._meta.get_field(name)) not in table._meta.local_concrete_fields:
                raise ValueError(
                    f"{self._meta.label}.{field.name} is not in the table of the fence: "
                    "write it in a fenced() block"
                )
        row = table._base_manager.using(using).filter(pk=getattr(self, table._meta.pk.attname))
        job = parse(claim.job_id).snowflake
        not_newer = Q(fence_job__lt=job) | Q(fence_job=job, fence__lte=claim.fence)
        written = {"fence_job": job, "fence": claim.fence} | values
        if not row.filter(not_newer).update(**written):
            newest, fence = row.values_list("fence_job", "fence").get()
            raise FencedOff(f"{self._meta.label} {self.pk}", claim, encode(newest), fence)
        self._take(written, using)

    async def afenced_update(self, claim: Claim, /, **values: Any) -> None:
        """``fenced_update`` for a task that is ``async def``."""
        await sync_to_async(self.fenced_update)(claim, **values)

    @contextmanager
    def fenced(self, claim: Claim, /) -> Iterator[None]:
        """A transaction that holds the row under this claim; whatever it writes is fenced with it.

        Raises ``FencedOff`` before anything in it runs. Read what you build on inside.
        """
        with transaction.atomic(using=router.db_for_write(type(self), instance=self)):
            self.fenced_update(claim)
            yield

    def _take(self, written: dict[str, Any], using: str) -> None:
        computed = [name for name, value in written.items() if hasattr(value, "resolve_expression")]
        for name in written.keys() - set(computed):
            setattr(self, name, written[name])
        if computed:
            self.refresh_from_db(using=using, fields=computed)
