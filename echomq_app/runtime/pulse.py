"""What shows that a worker's loop lives."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Pulse:
    """When the loop last did what it is there for, on its own clock; 0: not yet."""

    turned_at: float = 0.0
    """It came round."""
    polled_at: float = 0.0
    """A server answered its claim or its beat."""
    settled_at: float = 0.0
    """A server took an outcome, or refused it for good."""
    asking: bool = False
    """It waits for a server's answer, which has bounds of its own."""
