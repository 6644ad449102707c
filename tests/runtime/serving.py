"""A worker that serves in a thread of the test: a real loop, real threads, a real clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from echomq_app.runtime.held import Held
from echomq_app.runtime.loop import serve
from echomq_app.runtime.outcomes import Completed, Outcome
from echomq_app.runtime.threads import Bell, ThreadExecutor
from echomq_app.runtime.worker import Worker, WorkerOptions
from echomq_app.service.queue import Queue
from echomq_app.wire.exchange import Bus
from echomq_app.wire.link import Wire
from tests.runtime.scene import LEASE, Client, Tale


def nothing(_: Held) -> Outcome:
    return Completed()


@contextmanager
def serving(
    client: Client,
    *names: str,
    run: Callable[[Held], Outcome] = nothing,
    concurrency: int = 2,
    now: Callable[[], float] = time.monotonic,
    **options: Any,
) -> Iterator[Tale]:
    """Serve ``names`` until the block ends; what the worker tells."""
    bell, tale = Bell(), Tale()
    executor = ThreadExecutor(concurrency, run, bell)
    wire = Wire(client, Bus(patience_s=1.0))
    choice = WorkerOptions(concurrency=concurrency, **{"lease": LEASE, **options})
    queues = [Queue(wire, name) for name in names]
    worker = Worker(wire, queues, executor, choice, report=tale, now=now)
    loop = threading.Thread(target=serve, args=(worker, bell))
    loop.start()
    try:
        yield tale
    finally:
        worker.stop()
        bell.ring()
        loop.join(30)
        executor.close()
        assert not loop.is_alive(), "the worker did not leave"
        bell.close()
