"""Time limits of a task: what they are, and the exceptions they end in."""

from __future__ import annotations


class HardTimeLimitExceeded(Exception):
    """The reason of a failure that was written for a job whose process was killed for it."""
