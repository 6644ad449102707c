"""Filters for instants and spans on the operator's pages."""

from __future__ import annotations

from datetime import UTC, datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

register = template.Library()

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


@register.filter
def clock(instant: datetime | None) -> str:
    """An instant in the operator's time zone, to the second."""
    return "" if instant is None else f"{timezone.localtime(instant):%Y-%m-%d %H:%M:%S}"


@register.filter
def moment(instant: datetime | None) -> SafeString | str:
    """``<time>``: the operator's local time, with UTC to the millisecond as its title."""
    if instant is None:
        return ""
    utc = instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "")
    return format_html(
        '<time datetime="{}Z" title="{} UTC">{}</time>', utc, utc.replace("T", " "), clock(instant)
    )


@register.filter
def span(seconds: float | None) -> str:
    """A span in its two largest units: ``3 min 12 s``; under a second ``0 s``."""
    if seconds is None:
        return ""
    left = int(seconds)
    parts: list[str] = []
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if count or parts:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


@register.filter
def due(seconds: float | None) -> str:
    """How far off an instant is: ``in 3 min 12 s``, ``5 s ago``."""
    if seconds is None:
        return ""
    if seconds < 0:
        return _("%(span)s ago") % {"span": span(-seconds)}
    return _("in %(span)s") % {"span": span(seconds)}
