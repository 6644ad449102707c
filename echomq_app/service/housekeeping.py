"""What is done to a whole queue takes many scripts, each bounded: plans that a wire follows."""

from __future__ import annotations

from typing import Final

from echomq_app.protocol import calls, replies
from echomq_app.protocol.keyspace import QUEUES, QueueKeys
from echomq_app.service import plans
from echomq_app.service.plans import Plan

DRAIN_BATCH: Final = 500


def drain(keys: QueueKeys, *, most: int, scheduled: bool, label: str, receipt_ms: int) -> Plan[int]:
    """End what waits, a page at a time; how many left their sets."""
    total = 0
    while total < most:
        page = min(DRAIN_BATCH, most - total)
        ended = yield from plans.one(
            calls.drain(keys, page, scheduled=scheduled, label=label, receipt_ms=receipt_ms)
        )
        total += ended
        if ended < page:
            break
    return total


def obliterate(keys: QueueKeys, *, force: bool) -> Plan[None]:
    """Let everything go, then strike the queue off the known ones."""
    while (yield from plans.one(calls.obliterate(keys, force=force))):
        pass
    yield from plans.one(calls.command(QUEUES, "SREM", QUEUES, keys.name, read=replies.number))
