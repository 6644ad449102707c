"""What operators did, in the admin's own log. English, whatever the operator reads."""

from __future__ import annotations

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.http import HttpRequest

from echomq_app.models import Queue


def record(
    request: HttpRequest, queue: str, change: str, *, job_id: str = "", flag: int = CHANGE
) -> None:
    """Write who did ``change`` to the queue, or to one of its jobs."""
    LogEntry.objects.create(
        user=request.user,  # type: ignore[misc]  # staff: the gate let nobody else in
        content_type=ContentType.objects.get_for_model(Queue),
        object_id=queue,
        object_repr=f"{queue}, job {job_id}" if job_id else queue,
        action_flag=flag,
        change_message=change,
    )
