"""Every address of the operator's pages: a page or an act a line."""

from __future__ import annotations

from django.contrib.admin import AdminSite
from django.urls import URLPattern, path

from echomq_app.admin import acts, pages
from echomq_app.admin.gates import Act, Page, acting, reading
from echomq_app.admin.permissions import PAUSE, REMOVE, REQUEUE
from echomq_app.admin.segments import QueueSegment, SetSegment

__all__ = ["QueueSegment", "SetSegment", "queue_urls"]

QUEUE = "<emq_queue:queue>"
JOB = f"{QUEUE}/job/<str:job_id>"


def queue_urls(site: AdminSite) -> list[URLPattern]:
    """The addresses below the queue list, named ``admin:echomq_app_queue_<name>``."""

    def page(route: str, view: Page, name: str) -> URLPattern:
        return path(route, reading(site, view), name=f"echomq_app_queue_{name}")

    def act(route: str, view: Act, permission: str, name: str) -> URLPattern:
        return path(route, acting(site, view, permission), name=f"echomq_app_queue_{name}")

    return [
        page("", pages.show_queues, "changelist"),
        page(f"{QUEUE}/<emq_set:which>/", pages.show_set, "set"),
        page(f"{QUEUE}/find/", pages.find_job, "find"),
        page(f"{JOB}/", pages.show_job, "job"),
        act(f"{QUEUE}/pause/", acts.pause_queue, PAUSE, "pause"),
        act(f"{QUEUE}/resume/", acts.resume_queue, PAUSE, "resume"),
        act(f"{QUEUE}/requeue/", acts.requeue_selected, REQUEUE, "requeue_selected"),
        act(f"{JOB}/requeue/", acts.requeue_job, REQUEUE, "requeue"),
        act(f"{JOB}/remove/", acts.remove_job, REMOVE, "remove"),
        page("<str:object_id>/", pages.open_logged_queue, "change"),
    ]
