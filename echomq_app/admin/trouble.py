"""What an operator reads when a page or an act meets a failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext as _

from echomq_app.admin.text import visible
from echomq_app.connections import address
from echomq_app.protocol.errors import (
    ConnectionLost,
    EchoMQError,
    InvalidInput,
    InvalidJobId,
    InvalidQueueName,
    Locked,
    WrongState,
    WrongType,
)

FAILURES: Final = (EchoMQError, ImproperlyConfigured)
Failure = EchoMQError | ImproperlyConfigured


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What is wrong, what to do, and what was seen."""

    what: str
    advice: str
    seen: str


def trouble(failure: Failure) -> Trouble:
    """The failure in an operator's words."""
    what, advice = _sentences(failure)
    return Trouble(what=what, advice=advice, seen=visible(str(failure)))


def _sentences(failure: Failure) -> tuple[str, str]:
    match failure:
        case ConnectionLost():
            what = _("The server at %(address)s does not answer.") % {"address": address()}
            return what, _(
                "Check that it runs and that ECHOMQ['CONNECTION'] names it; then reload."
            )
        case WrongType():
            return _("A key of this queue is not of EchoMQ's type."), _(
                "Another program has written it. Rename or delete that key on the server."
            )
        case Locked():
            return _("A worker holds this job; it was left as it is."), _(
                "Wait until it ends or its lease runs out, then try again."
            )
        case WrongState():
            return _("This job is not dead; it was left as it is."), _(
                "Only dead jobs are requeued."
            )
        case InvalidQueueName():
            return _("This is no queue's name."), _(
                "Another program has put it into the list of queues on the server."
            )
        case InvalidJobId():
            return _("Something here is no job id."), _(
                "It stands in the address, or another program has put it into this set."
            )
        case InvalidInput():
            return _("This address asks for something that cannot be."), _(
                "Start again at the queue."
            )
        case ImproperlyConfigured():
            return _("The settings of EchoMQ cannot be used."), _("Run “manage.py check”.")
    return _("The server refused."), _("See below for what it said.")
