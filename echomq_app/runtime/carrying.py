"""What a beat does when it finds an outbox: tell parents on other queues how their children ended."""

from __future__ import annotations

from typing import Final

from echomq_app.protocol.errors import EchoMQError, FenceMismatch
from echomq_app.runtime.events import Event, Report
from echomq_app.runtime.served import Served
from echomq_app.service import flow_plans
from echomq_app.wire.link import Wire

CARRY_BATCH: Final = 100
CARRY_PAUSE_S: Final = 10.0
"""How long an outbox is left alone after a parent's queue could not be told."""


def carry(wire: Wire, served: Served, report: Report, now: float) -> bool:
    """Carry the oldest entries; whether more may wait. Raises ``FenceMismatch``."""
    if now < served.carry_at:
        return False
    queue = served.queue
    try:
        carried = wire.follow(flow_plans.carry(queue.keys, CARRY_BATCH))
    except FenceMismatch:
        raise
    except EchoMQError as error:
        served.carry_at = now + CARRY_PAUSE_S
        if served.uncarried != str(error):
            served.uncarried = str(error)
            report(Event.QUEUE_BROKEN, queue=queue.name, error=f"its outbox: {error}")
        return False
    served.uncarried = ""
    report(Event.CARRIED, queue=queue.name, entries=carried.entries, aside=carried.aside)
    return carried.entries >= CARRY_BATCH
