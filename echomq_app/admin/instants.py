"""Instants from numbers that anybody may have written."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from django.utils.dateparse import parse_datetime

from echomq_app.service.records import moment

LAST_MS: Final = 253_370_764_800_000
"""The start of the year 9999: later instants have no local time everywhere."""


def as_instant(ms: Any) -> datetime | None:
    """An instant from whole ms since 1970; ``None`` for what is none."""
    if isinstance(ms, bool) or not isinstance(ms, int) or not 0 <= ms <= LAST_MS:
        return None
    return moment(ms)


def read_instant(value: Any) -> datetime | None:
    """From ms since 1970 or ISO 8601 text; text without a zone is UTC."""
    if not isinstance(value, str):
        return as_instant(value)
    try:
        found = parse_datetime(value)
    except ValueError:
        return None
    if found is None or not 1970 < found.year < 9999:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
