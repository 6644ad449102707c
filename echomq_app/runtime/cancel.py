"""Asking a job that runs in this process to stop. The job decides when to look (protocol 4.19)."""

from __future__ import annotations


class Cancelled(Exception):
    """A job was asked to stop, and does. ``reason`` is what the asker said."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"cancelled: {reason}" if reason else "cancelled")
        self.reason = reason


class Cancellation:
    """Whether somebody asked for a stop, and why. Asked from any thread; what was asked stays asked."""

    __slots__ = ("_reason",)

    def __init__(self) -> None:
        self._reason: str | None = None

    def cancel(self, reason: str = "") -> bool:
        """Ask for a stop; ``False`` when that was asked before, whose reason stands."""
        if self._reason is not None:
            return False
        self._reason = reason
        return True

    def check(self) -> str | None:
        """The reason to stop, ``None`` while there is none. Never waits."""
        return self._reason

    def raise_if_asked(self) -> None:
        """Raise ``Cancelled`` when a stop was asked for."""
        if self._reason is not None:
            raise Cancelled(self._reason)
