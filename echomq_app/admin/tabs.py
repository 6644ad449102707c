"""The sets of a queue as tabs with their counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext_lazy as _

from echomq_app.protocol.replies import Counts
from echomq_app.protocol.states import JobSet

NAMES: Final = {
    JobSet.PENDING: _("Pending"),
    JobSet.ACTIVE: _("Active"),
    JobSet.SCHEDULE: _("Scheduled"),
    JobSet.DEAD: _("Dead"),
    JobSet.DONE: _("Done"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tab:
    """A set, how many jobs it holds (``None``: cannot be told), whether it is the one shown."""

    which: JobSet
    name: Any
    count: int | None
    current: bool


def tabs(current: JobSet, counts: Counts | None) -> list[Tab]:
    """A tab a set; without ``counts`` they have no numbers."""
    return [
        Tab(
            which=which,
            name=name,
            count=None if counts is None else getattr(counts, which.value),
            current=which is current,
        )
        for which, name in NAMES.items()
    ]
