"""Calls a task within its time limits."""

from __future__ import annotations

from typing import Any, Protocol

from echomq_app.backend.awaiting import call, call_within
from echomq_app.compat import Task
from echomq_app.conf import Settings
from echomq_app.runtime.held import Held
from echomq_app.runtime.limits import NO_LIMITS, Limits, limits_of


class Warden(Protocol):
    """Whoever sees to it that a job has ended in its hard time limit: the supervisor's ledger."""

    def limit(self, held: Held, seconds: float) -> None: ...


class Limiter:
    """Calls tasks; those without limits as plainly as can be. Without a warden no hard limit is kept."""

    def __init__(self, settings: Settings, warden: Warden | None = None) -> None:
        spans = (settings.soft_time_limit, settings.hard_time_limit)
        self._defaults = Limits(*(None if one is None else one.total_seconds() for one in spans))
        self._plain = self._defaults == NO_LIMITS
        self._warden = warden

    def call(self, held: Held, task: Task[..., Any], args: Any, kwargs: Any) -> Any:
        """What the task returns; raises what it raises, or ``SoftTimeLimitExceeded``."""
        declared = limits_of(task.func)
        if declared is None and self._plain:
            return call(task, args, kwargs)
        own = (declared or Limits()).within(self._defaults)
        if isinstance(own.hard_s, float) and self._warden is not None:
            self._warden.limit(held, own.hard_s)
        if isinstance(own.soft_s, float):
            return call_within(own.soft_s, task, args, kwargs)
        return call(task, args, kwargs)
