"""Instants as this project's Django has them."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.utils.timezone import get_default_timezone, make_naive

from echomq_app.service.records import moment


def instant(ms: int | None) -> datetime | None:
    """A time in ms since 1970 as a datetime: in UTC, or naive and local where ``USE_TZ`` is ``False``."""
    found = moment(ms)
    if found is None or settings.USE_TZ:
        return found
    return make_naive(found, get_default_timezone())
