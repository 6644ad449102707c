"""What stands beside each loop of a command, and waits for none: presence, health, watchdog."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from echomq_app.protocol.states import Wish
from echomq_app.runtime.children import supervisor_name
from echomq_app.runtime.desk import beside
from echomq_app.runtime.events import Event, Report
from echomq_app.runtime.health import (
    Facts,
    HealthFile,
    HealthPort,
    supervisor_facts,
    worker_facts,
)
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
from echomq_app.runtime.watchdog import Watchdog, tell_and_end
from echomq_app.runtime.witness import Witness
from echomq_app.runtime.worker import Worker
from echomq_app.service.queue import Queue
from echomq_app.service.workers import Workers

Look = Callable[[], None]
Options = Mapping[str, Any]


@contextmanager
def attended(worker: Worker, bell: Bell, witness: Witness, options: Options) -> Iterator[None]:
    """A worker, which may be one of a supervisor's: then that one tells health for it."""
    above, report = supervisor_name(), worker.report
    witness.report = report
    told = Told(worker.name, "child" if above else "worker", worker.queues, above)
    presence = Presence(
        Workers(witness.wire), lambda: worker_record(told, worker), obeying(worker, bell), report
    )
    watchdog = Watchdog(worker, options["watchdog"])
    asked = {} if above else options

    with _health(asked, lambda: worker_facts(worker, watchdog.stuck), report) as health:

        def guard() -> None:
            watchdog.look()
            if watchdog.stuck:
                health()
                tell_and_end(worker, watchdog, report)

        with beside([guard, health]), beside([presence.look, witness.look]):
            yield
        witness.look()
        presence.leave()


@contextmanager
def supervised(
    name: str,
    supervisor: Supervisor,
    queues: Sequence[Queue],
    bell: Bell,
    report: Report,
    options: Options,
) -> Iterator[None]:
    """A supervisor, which tells health for all its processes."""
    presence = _of_loop(name, "supervisor", supervisor, queues, bell, report)
    with _health(options, lambda: supervisor_facts(supervisor), report) as health:
        with beside([health]), beside([presence.look]):
            yield
        presence.leave()


@contextmanager
def swept(
    name: str, pump: Pump, queues: Sequence[Queue], bell: Bell, report: Report
) -> Iterator[None]:
    """A reaper."""
    presence = _of_loop(name, "reaper", pump, queues, bell, report)
    with beside([presence.look]):
        yield
    presence.leave()


def _of_loop(
    name: str,
    kind: str,
    loop: Supervisor | Pump,
    queues: Sequence[Queue],
    bell: Bell,
    report: Report,
) -> Presence:
    """The presence of a loop that claims nothing itself."""
    told = Told(name, kind, queues)
    presence = Presence(
        Workers(queues[0].wire.sibling()),
        lambda: told.of(state_of(loop.stopping, presence.heard is Wish.QUIET)),
        stopping_on_wish(loop.stop, bell),
        report,
    )
    return presence


@contextmanager
def _health(options: Options, facts: Callable[[], Facts], report: Report) -> Iterator[Look]:
    """Tell health where the options say; what writes the file when it is time."""
    file, port = None, None
    path, place = options.get("health_file"), options.get("health_port")
    try:
        if path is not None:
            file = HealthFile(path, facts, report)
        if place is not None:
            host, number = place
            port = HealthPort(host, number, facts)
            report(Event.HEALTH_AT, at=port.address)
    except OSError as error:
        where = path if file is None and path is not None else ":".join(map(str, place or ()))
        raise CommandError(
            _("Health cannot be told at %(where)s: %(error)s") % {"where": where, "error": error}
        ) from error
    try:
        yield file.look if file is not None else _nothing
    finally:
        if file is not None:
            file.remove()
        if port is not None:
            port.close()


def _nothing() -> None:
    """Nobody asked for a file."""
