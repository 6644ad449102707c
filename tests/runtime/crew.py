"""A supervisor on a real server whose processes are puppets: real ledgers, and ends that the test makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from echomq_app.protocol.ids import JobId
from echomq_app.runtime.held import Held, Loss
from echomq_app.runtime.ledger import Ledger
from echomq_app.runtime.outcomes import Failed
from echomq_app.runtime.supervisor import Supervisor, SupervisorOptions
from echomq_app.service.queue import Queue
from echomq_app.service.records import Lease
from echomq_app.wire.exchange import Bus
from echomq_app.wire.link import Wire
from tests.runtime.scene import LEASE, MINTER, Client, Clock, Tale, new_payload

KILLED = -9


class Puppet:
    """A process that does what the test says; ``own`` is its end of the ledger."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.ledger = Ledger.create(4)
        self.own = Ledger.join(str(self.ledger.path))
        self.code: int | None = None
        self.told: list[str] = []

    def serve(self, *held: Held) -> None:
        """It is ready and holds these."""
        self.own.hold(held)
        self.own.beat(held)

    def poll(self) -> int | None:
        return self.code

    def drain(self) -> None:
        self.told.append("drain")

    def ask(self) -> None:
        self.told.append("ask")

    def kill(self) -> None:
        self.told.append("kill")
        self.code = KILLED

    def leave(self, code: int = 0) -> None:
        """End as a process should."""
        self.own.leave()
        self.code = code

    def close(self) -> None:
        self.told.append("close")


class Crew:
    """A queue seen directly, and a supervisor over a wire of its own."""

    def __init__(self, direct: Client, supervisors: Client, **options: Any) -> None:
        self.client = direct
        self.queue = Queue(Wire(direct), "q")
        self.clock = Clock()
        self.tale = Tale()
        self.puppets: list[Puppet] = []
        self.fails: list[OSError] = []
        choice = SupervisorOptions(**{"processes": 1, "lease": LEASE, **options})
        self.supervisor = Supervisor(
            Wire(supervisors, Bus(patience_s=0.05)),
            self._spawn,
            overrun,
            choice,
            report=self.tale,
            now=self.clock,
        )

    def _spawn(self) -> Puppet:
        if self.fails:
            raise self.fails.pop()
        self.puppets.append(Puppet(100 + len(self.puppets)))
        return self.puppets[-1]

    @property
    def puppet(self) -> Puppet:
        """The one that was started last."""
        return self.puppets[-1]

    def tick(self, seconds: float = 0.0) -> float | None:
        """A tick after so many seconds."""
        self.clock.pass_(seconds)
        return self.supervisor.tick()

    def claim(self, count: int = 1, lease: timedelta = LEASE) -> list[Held]:
        """Jobs that a process holds from now on."""
        ids = MINTER.mint_many(count)
        self.queue.enqueue_many([(job_id, new_payload()) for job_id in ids])
        leases = self.queue.claim_many(lease, count, "host:1:0")
        until = self.clock.now + lease.total_seconds()
        return [Held(one, self.clock.now, Loss(until, self.clock)) for one in leases]

    def deadline_in_s(self, held: Held) -> float:
        """Seconds until the lease ends on the server."""
        deadline = self.queue.job(held.lease.job_id).deadline_ms
        assert deadline is not None
        return (deadline - self.queue.facts().counts.now_ms) / 1000

    def row(self, held: Held) -> dict[str, bytes]:
        fields = self.queue.job(held.lease.job_id).fields
        assert fields is not None
        return fields

    def states(self, jobs: Sequence[Held]) -> list[str]:
        return [self.queue.state(JobId(one.lease.job_id)).value for one in jobs]

    def close(self) -> None:
        for puppet in self.puppets:
            Ledger.close(puppet.ledger)
            Ledger.close(puppet.own)


def overrun(lease: Lease, seconds: float) -> Failed:
    """A failure with two attempts at most."""
    error = f"took {seconds:g} s in attempt {lease.attempt}"
    return Failed(error=error, report=None, delay=timedelta(hours=1), max_attempts=2)


@contextmanager
def crew(direct: Client, supervisors: Client, **options: Any) -> Iterator[Crew]:
    """One whose ledgers are gone at the end."""
    made = Crew(direct, supervisors, **options)
    try:
        yield made
    finally:
        made.close()
