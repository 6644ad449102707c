"""Placing an order: the row, its jobs and their ids, all or nothing."""

from __future__ import annotations

from django.db import transaction

from project.shop.models import Order, OrderJob
from project.shop.tasks import call_warehouse, send_receipt, update_stock


def place(order: Order) -> None:
    """Store an unsaved order with its jobs' ids; the jobs go out when the transaction commits.

    ``enqueue()`` mints the id in this process, so the row that names the job and the order are
    committed together. A rollback sends nothing.
    """
    kinds = OrderJob.Kind
    with transaction.atomic():
        order.save()
        for kind, job in (
            (kinds.RECEIPT, send_receipt),
            (kinds.STOCK, update_stock),
            (kinds.WEBHOOK, call_warehouse),
        ):
            result = job.enqueue(order.pk)
            order.jobs.create(kind=kind, queue=job.queue_name, job_id=result.id)
