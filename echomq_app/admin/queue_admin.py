"""EchoMQ in the admin's list of apps."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import URLPattern

from echomq_app.admin.permissions import VIEW
from echomq_app.admin.urls import queue_urls
from echomq_app.models import Queue


@admin.register(Queue)
class QueueAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # none at run time
    """Queues of the server; nothing here asks the database for one."""

    def get_urls(self) -> list[URLPattern]:
        return queue_urls(self.admin_site)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm(VIEW)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
