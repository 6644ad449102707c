"""What every page has around its own content."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils import timezone

from echomq_app.admin.permissions import May
from echomq_app.models import Queue


def framed(
    request: HttpRequest, site: AdminSite, template: str, status: int = 200, **content: Any
) -> TemplateResponse:
    """A page of the admin: ``template`` with ``content`` and what its frame needs."""
    request.current_app = site.name
    context = {
        **site.each_context(request),
        "opts": Queue._meta,
        "may": May.by(request),
        "time_zone": timezone.get_current_timezone_name(),
        **content,
    }
    return TemplateResponse(request, f"admin/echomq/{template}", context, status=status)
