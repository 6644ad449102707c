"""Views that enqueue as views do."""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.db.transaction import atomic
from django.http import HttpRequest, JsonResponse
from django.urls import path

from echomq_app.compat import task_backends


def order(request: HttpRequest) -> JsonResponse:
    """A row and its job in one transaction."""
    from tests.django.site.tasks import count_groups

    with atomic():
        Group.objects.create(name="order")
        result = count_groups.enqueue()
    return JsonResponse({"id": result.id})


async def order_later(request: HttpRequest) -> JsonResponse:
    """Two jobs awaited, and a row and its job in one transaction on the way."""
    from tests.django.site.tasks import add

    first = await add.aenqueue(1)
    second = await sync_to_async(order)(request)
    third = await add.aenqueue(2, right=2)
    return JsonResponse({"ids": [first.id, third.id], "order": second.content.decode()})


async def look(request: HttpRequest, job_id: str) -> JsonResponse:
    """What became of a job."""
    result = await task_backends["default"].aget_result(job_id)
    await result.arefresh()
    return JsonResponse({"status": result.status, "attempts": result.attempts})


urlpatterns = [
    path("order", order),
    path("order-later", order_later),
    path("look/<job_id>", look),
]
