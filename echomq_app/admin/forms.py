"""What an operator asks of a set's page."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from echomq_app.protocol.states import JobSet
from echomq_app.service.records import PageRequest

PAGE_SIZE: Final = 50
_NEWEST: Final = ("newest", _("Newest first"))
_OLDEST: Final = ("oldest", _("Oldest first"))
_LEX_ORDERS: Final = {
    JobSet.PENDING: (_OLDEST, _NEWEST),
    JobSet.DEAD: (_NEWEST, _OLDEST),
    JobSet.DONE: (_NEWEST, _OLDEST),
}
_CLOCK_ORDERS: Final = {
    JobSet.ACTIVE: (("soonest", _("Lease that ends first")), ("latest", _("Lease that ends last"))),
    JobSet.SCHEDULE: (("soonest", _("Next to run first")), ("latest", _("Last to run first"))),
}


def orders(which: JobSet) -> tuple[tuple[str, Any], ...]:
    """The orders a set can be shown in, its own first."""
    return _LEX_ORDERS.get(which) or (_OLDEST, _NEWEST, *_CLOCK_ORDERS[which])


def _instant(label: Any) -> forms.DateTimeField:
    attrs = {"type": "datetime-local", "step": "1"}
    widget = forms.DateTimeInput(format="%Y-%m-%dT%H:%M:%S", attrs=attrs)
    return forms.DateTimeField(label=label, required=False, widget=widget)


class PageForm(forms.Form):
    """Order and mint-time window, in the operator's time zone."""

    order = forms.ChoiceField(label=_("Order"), required=False)
    since = _instant(_("Minted from"))
    until = _instant(_("Minted before"))

    def __init__(self, which: JobSet, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        self.which = which
        self.fields["order"].choices = orders(which)  # type: ignore[attr-defined]  # a ChoiceField

    def clean(self) -> dict[str, Any]:
        """Refuse a window that ends before it starts."""
        asked = super().clean() or {}
        since, until = asked.get("since"), asked.get("until")
        if since and until and until <= since:
            raise forms.ValidationError(_("The window ends before it starts."))
        return asked

    def page_request(self, cursor: str | None) -> PageRequest:
        """What a valid form asks of the service."""
        order = self.cleaned_data["order"] or orders(self.which)[0][0]
        return PageRequest(
            which=self.which,
            newest_first=order in ("newest", "latest"),
            by_clock=order in ("soonest", "latest"),
            cursor=cursor,
            limit=PAGE_SIZE,
            since_ms=_ms(self.cleaned_data["since"]),
            until_ms=_ms(self.cleaned_data["until"]),
        )


def _ms(instant: datetime | None) -> int | None:
    return None if instant is None else int(instant.timestamp() * 1000)
