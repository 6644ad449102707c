"""The verbs of the reference's repeats, blocking. Schedules of our own are ``Slots``."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from echomq_app.protocol import calls, replies
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.replies import Fired
from echomq_app.service import plans
from echomq_app.service.plans import Plan
from echomq_app.service.queue import whole_ms
from echomq_app.wire.link import Wire

FIRE_BATCH: Final = 20


class Repeats:
    """The repeats of one queue. Another program's pump may fire them too, and then a run is doubled."""

    def __init__(self, wire: Wire, name: str, *, minter: Minter | None = None) -> None:
        self.keys = QueueKeys(name)
        self.name = name
        self.wire = wire
        self.minter = minter or Minter()

    def register(self, name: str, every: timedelta, template: bytes, first_in: timedelta) -> bool:
        """Register a repeat by the server's clock; ``False`` when there is one of that name.

        Safe to repeat: after a lost reply a record with the same interval and template is ours.
        """
        plan = register(
            self.keys,
            name,
            every_ms=whole_ms(every),
            template=template,
            first_ms=whole_ms(first_in),
        )
        return self.wire.follow(plan)

    def cancel(self, name: str) -> bool:
        """End a repeat; ``False`` when there is none of that name. Jobs that it admitted go on.

        Safe to repeat, and a resend takes whatever has the name by then.
        """
        return self.wire.follow(cancel(self.keys, name))

    def fire(self, most: int = 1000) -> list[Fired]:
        """Admit a job for each repeat that is due, in bounded steps; the repeats and their jobs.

        Safe to repeat; after a lost reply what that step fired is not told.
        """
        found: list[Fired] = []
        while len(found) < most:
            job_ids = self.minter.mint_many(min(FIRE_BATCH, most - len(found)))
            fired = self.wire.run(calls.repeat_fire(self.keys, job_ids))
            found += fired
            if len(fired) < len(job_ids):
                break
        return found

    def count(self) -> int:
        """How many repeats are registered."""
        key = self.keys.repeat
        return self.wire.run(calls.command(key, "ZCARD", key, read=replies.number))


def register(
    keys: QueueKeys, name: str, *, every_ms: int, template: bytes, first_ms: int
) -> Plan[bool]:
    """Register; when a lost sending may have done it, the record tells whose it is."""
    call = calls.repeat_register(
        keys, name, every_ms=every_ms, template=template, first_ms=first_ms
    )
    (answer,) = yield (call,)
    registered: bool = answer.unwrap()
    if registered or not answer.resent:
        return registered
    stands = yield from plans.one(calls.repeat_record(keys, name))
    return stands == (str(every_ms).encode(), template)


def cancel(keys: QueueKeys, name: str) -> Plan[bool]:
    """Cancel; after a lost sending *absent* means that it was done."""
    (answer,) = yield (calls.repeat_cancel(keys, name),)
    return bool(answer.unwrap()) or answer.resent
