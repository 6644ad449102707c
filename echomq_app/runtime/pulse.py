"""What shows that a worker's loop, and its heartbeat, live."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Pulse:
    """When they last did what they are there for, on the worker's clock; 0: not yet."""

    turned_at: float = 0.0
    """It came round."""
    beaten_at: float = 0.0
    """Its heartbeat came round."""
    polled_at: float = 0.0
    """A server answered its claim or its beat."""
    settled_at: float = 0.0
    """A server took an outcome, or refused it for good."""
    asking: bool = False
    """It waits for a server's answer, which has bounds of its own."""
