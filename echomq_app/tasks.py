"""What a project's task modules import: time limits, and the exception that a soft one raises."""

from __future__ import annotations

from echomq_app.runtime.limits import HardTimeLimitExceeded, SoftTimeLimitExceeded, limits

__all__ = ["HardTimeLimitExceeded", "SoftTimeLimitExceeded", "limits"]
