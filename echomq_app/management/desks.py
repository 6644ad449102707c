"""What stands beside each loop of a command: it makes the process known, and hears its operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from echomq_app.protocol.states import Wish
from echomq_app.runtime.children import supervisor_name
from echomq_app.runtime.desk import beside
from echomq_app.runtime.events import Report
from echomq_app.runtime.presence import Presence
from echomq_app.runtime.pump import Pump
from echomq_app.runtime.records import (
    Told,
    obeying,
    state_of,
    stopping_on_wish,
    worker_record,
)
from echomq_app.runtime.supervisor import Supervisor
from echomq_app.runtime.threads import Bell
from echomq_app.runtime.worker import Worker
from echomq_app.service.queue import Queue
from echomq_app.service.workers import Workers


@contextmanager
def attended(worker: Worker, bell: Bell, workers: Workers, report: Report) -> Iterator[None]:
    """A worker, which may be one of a supervisor's."""
    above = supervisor_name()
    told = Told(worker.name, "child" if above else "worker", worker.queues, above)
    presence = Presence(workers, lambda: worker_record(told, worker), obeying(worker, bell), report)
    with beside([presence.look]):
        yield
    presence.leave()


@contextmanager
def attended_by_name(
    name: str,
    kind: str,
    queues: Sequence[Queue],
    loop: Supervisor | Pump,
    bell: Bell,
    report: Report,
) -> Iterator[None]:
    """A loop that claims nothing itself."""
    told = Told(name, kind, queues)
    presence = Presence(
        Workers(queues[0].wire.sibling()),
        lambda: told.of(state_of(loop.stopping, presence.heard is Wish.QUIET)),
        stopping_on_wish(loop.stop, bell),
        report,
    )
    with beside([presence.look]):
        yield
    presence.leave()
