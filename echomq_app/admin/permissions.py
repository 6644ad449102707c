"""Who may do what: a permission each for looking, pausing, requeueing and removing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from django.http import HttpRequest

VIEW: Final = "echomq_app.view_queue"
PAUSE: Final = "echomq_app.pause_queue"
REQUEUE: Final = "echomq_app.requeue_job"
REMOVE: Final = "echomq_app.remove_job"


@dataclass(frozen=True, slots=True, kw_only=True)
class May:
    """What an operator may press."""

    pause: bool
    requeue: bool
    remove: bool

    @classmethod
    def by(cls, request: HttpRequest) -> Self:
        """What the user of ``request`` may press."""
        return cls(
            pause=request.user.has_perm(PAUSE),
            requeue=request.user.has_perm(REQUEUE),
            remove=request.user.has_perm(REMOVE),
        )
