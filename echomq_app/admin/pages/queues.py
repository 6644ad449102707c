"""The list of queues."""

from __future__ import annotations

from django.contrib.admin import AdminSite
from django.contrib.admin.utils import unquote
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from echomq_app.admin.pages.frame import framed
from echomq_app.admin.queue_rows import queue_rows, server_address
from echomq_app.protocol.errors import InvalidQueueName
from echomq_app.protocol.keyspace import valid_queue_name
from echomq_app.protocol.states import JobSet


def show_queues(request: HttpRequest, site: AdminSite) -> HttpResponse:
    """Every known queue with its numbers; the page stands whatever fails."""
    rows, trouble = queue_rows()
    return framed(
        request,
        site,
        "queues.html",
        title=_("Queues"),
        rows=rows,
        trouble=trouble,
        laned=any(row.facts and row.facts.counts.laned for row in rows),
        server=server_address(),
    )


def open_logged_queue(request: HttpRequest, site: AdminSite, object_id: str) -> HttpResponse:
    """Where the admin's own log of actions links to: the queue, its name quoted Django's way."""
    try:
        name = valid_queue_name(unquote(object_id))
    except InvalidQueueName as error:
        raise Http404(str(error)) from error
    return redirect(f"{site.name}:echomq_app_queue_set", name, JobSet.PENDING)
