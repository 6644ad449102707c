"""Who gets through to a view: staff, with the permission, and for an act by POST."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_POST, require_safe

from echomq_app.admin.permissions import VIEW

Page = Callable[..., HttpResponseBase]
"""Takes the request, the admin site and the parts of the address."""
Act = Callable[..., HttpResponseBase]
"""Takes the request and the parts of the address; it changes something and says so."""


def reading(site: AdminSite, view: Page) -> Callable[..., HttpResponseBase]:
    """``view`` for staff who may look at queues."""

    @wraps(view)
    def gate(request: HttpRequest, **parts: Any) -> HttpResponseBase:
        _demand(request, VIEW)
        return view(request, site, **parts)

    return site.admin_view(require_safe(gate))


def acting(site: AdminSite, view: Act, permission: str) -> Callable[..., HttpResponseBase]:
    """``view`` by POST for staff who may look at queues and have ``permission``."""
    post_only = require_POST(view)

    @wraps(view)
    def gate(request: HttpRequest, **parts: Any) -> HttpResponseBase:
        _demand(request, VIEW, permission)
        return post_only(request, **parts)

    return site.admin_view(gate)


def _demand(request: HttpRequest, *permissions: str) -> None:
    if not request.user.has_perms(permissions):
        raise PermissionDenied
