"""What a beat does for a queue, whoever runs it."""

from __future__ import annotations

from echomq_app.protocol import replies
from echomq_app.protocol.calls.call import Call, lease_ms, scripted, whole
from echomq_app.protocol.calls.claiming import MAX_CLAIMS
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import Repeat


def beat(keys: QueueKeys, *, batch: int, lease: int, size: int, label: str) -> Call[replies.Beat]:
    """Reap, promote, trim and claim in one script; with ``size`` 0 nothing is claimed."""
    return scripted(
        "beat",
        (keys.schedule, keys.pending, keys.active, keys.dead, keys.base, keys.wake),
        (
            whole("a batch", batch, 0),
            lease_ms(lease),
            whole("a batch size", size, 0, MAX_CLAIMS),
            label,
        ),
        replies.beat,
        Repeat.NEVER if size else Repeat.SAFE,
    )


def promote(keys: QueueKeys, batch: int) -> Call[int]:
    """Move at most ``batch`` due jobs to their waiting sets; how many moved."""
    names = (keys.schedule, keys.pending, keys.base, keys.wake)
    return scripted("promote", names, (whole("a batch", batch, 1),), replies.number)


def reap(keys: QueueKeys, limit: int = 100) -> Call[int]:
    """Give back at most ``limit`` lapsed jobs; how many came back."""
    names = (keys.active, keys.pending, keys.base, keys.wake)
    return scripted("reap", names, (whole("a limit", limit, 1),), replies.number)


def trim(keys: QueueKeys, limit: int = 100) -> Call[int]:
    """Forget at most ``limit`` receipts and outcomes whose time is over; how many."""
    return scripted("trim", (keys.base,), (whole("a limit", limit, 1),), replies.number)
