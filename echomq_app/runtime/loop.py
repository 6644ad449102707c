"""Drives a tick: waits as long as it says, wakes when it should, stops on a signal."""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, NoReturn

from echomq_app.protocol import calls, replies
from echomq_app.runtime.batches import BatchConsumer
from echomq_app.runtime.heartbeat import Heartbeat
from echomq_app.runtime.pump import Pump
from echomq_app.runtime.supervisor import Supervisor
from echomq_app.runtime.threads import Bell
from echomq_app.runtime.turns import Turns
from echomq_app.runtime.worker import Worker
from echomq_app.wire.link import Wire
from echomq_app.wire.parking import Parking

LEFT_AT_ONCE: Final = 130
"""Exit code after a second signal."""


_STOPS: Final = (signal.SIGTERM, signal.SIGINT)
_DEFAULTS: Final[dict[signal.Signals, Any]] = {
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGINT: signal.default_int_handler,
    **({signal.SIGUSR1: signal.SIG_DFL} if hasattr(signal, "SIGUSR1") else {}),
}


def serve(worker: Worker, bell: Bell, aside: Wire | None = None) -> None:
    """Tick until the worker is done; between ticks park on the wake lists and the bell.

    ``aside``: the wire of the heartbeat, which others that wait for no loop may share.
    """
    lists = [queue.keys.wake for queue in worker.queues]
    parking = Parking(worker.wire, lists, block_s=worker.options.beat.total_seconds())
    turns, woken = Turns(worker, bell), set[str]()
    worker.executor.call = turns.offer
    try:
        with _beating(worker, aside or worker.wire.sibling()) as heart:
            while (pause := turns.take(woken)) is not None:
                woken = parking.wait(pause, park=worker.may_park, bell=bell.fileno())
                bell.hush()
                if woken and worker.free == 0:
                    _hand_on(worker, woken)
                if not heart.is_alive():
                    raise RuntimeError("the heartbeat died: leases are not renewed any more")
    finally:
        parking.close()


@contextmanager
def _beating(worker: Worker, wire: Wire) -> Iterator[threading.Thread]:
    """Renew what the worker holds in a thread of its own until the block ends."""
    over = threading.Event()
    queues = {queue.name: queue.keys for queue in worker.queues}
    heartbeat = Heartbeat(wire, queues, worker.leases, worker.now)

    def beat() -> None:
        while not over.wait(heartbeat.tick()):
            worker.pulse.beaten_at = worker.now()

    thread = threading.Thread(target=beat, name="emq-heartbeat", daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        over.set()


def _hand_on(worker: Worker, woken: set[str]) -> None:
    """A token that reached a full worker belongs to an idle one."""
    tokens = [calls.command(key, "LPUSH", key, "1", read=replies.number) for key in sorted(woken)]
    worker.wire.answer(tokens)


def sweep(pump: Pump, bell: Bell) -> None:
    """Tick until the pump is stopped."""
    parking = Parking(pump.wire, [])
    while (pause := pump.tick()) is not None:
        parking.wait(pause, park=False, bell=bell.fileno())
        bell.hush()


def gather(consumer: BatchConsumer, bell: Bell) -> None:
    """Tick until the consumer is stopped; an idle one parks on its queue's wake list."""
    parking = Parking(
        consumer.queue.wire,
        [consumer.queue.keys.wake],
        block_s=consumer.options.beat.total_seconds(),
    )
    try:
        while (pause := consumer.tick()) is not None:
            parking.wait(pause, park=consumer.idle, bell=bell.fileno())
            bell.hush()
    finally:
        parking.close()


def supervise(supervisor: Supervisor, bell: Bell) -> None:
    """Tick until all processes have left; the bell rings for signals, and for ends of children."""
    if hasattr(signal, "SIGCHLD"):
        signal.signal(signal.SIGCHLD, lambda *_: bell.ring())
    while (pause := supervisor.tick()) is not None:
        select.select([bell], [], [], pause)
        bell.hush()


def stop_on_signals(
    stop: Callable[[], None], bell: Bell, kill: Callable[[], None] | None = None
) -> None:
    """TERM and INT stop; a second one leaves at once, after ``kill``, and leases lapse.

    Processes that a task forks take these signals as any other does.
    """
    seen = 0

    def take(_: int, __: FrameType | None) -> None:
        nonlocal seen
        seen += 1
        if seen > 1:
            if kill is not None:
                kill()
            os._exit(LEFT_AT_ONCE)
        stop()
        bell.ring()

    for number in _STOPS:
        signal.signal(number, take)
    if hasattr(os, "register_at_fork"):
        _restore_in_forks()


def _restore_in_forks() -> None:
    """Give a forked process the default handlers before a signal can reach it.

    Python forgets a signal that came to a fork before its first line; a blocked one waits.
    """
    masks = threading.local()

    def before() -> None:
        masks.old = signal.pthread_sigmask(signal.SIG_BLOCK, _DEFAULTS)

    def after() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, masks.old)

    def after_in_child() -> None:
        for number, handler in _DEFAULTS.items():
            signal.signal(number, handler)
        after()

    os.register_at_fork(before=before, after_in_parent=after, after_in_child=after_in_child)


def abandon() -> NoReturn:
    """End the process now though tasks still run; their jobs were given back.

    An ordinary exit joins threads that a task may have started, and so could last as long as it.
    """
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
