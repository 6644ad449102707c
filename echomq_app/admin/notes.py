"""What a set's page says about its own limits."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from echomq_app.protocol.states import JobSet
from echomq_app.service.pages import SORTABLE
from echomq_app.service.records import Page, PageRequest, QueueFacts


def notes(asked: PageRequest, page: Page, facts: QueueFacts) -> list[str]:
    """Sentences for an operator who would otherwise miss something."""
    said: list[str] = []
    if page.by_clock and not asked.by_clock:
        said.append(
            _(
                "More than %(most)s jobs are too many to sort by mint time: they are shown in time "
                "order, the soonest first or last."
            )
            % {"most": f"{SORTABLE:,}"}
        )
    if asked.which is JobSet.PENDING and facts.counts.laned:
        said.append(
            ngettext(
                "%(count)s more job waits in a lane and is not listed here.",
                "%(count)s more jobs wait in lanes and are not listed here.",
                facts.counts.laned,
            )
            % {"count": facts.counts.laned}
        )
    return said
