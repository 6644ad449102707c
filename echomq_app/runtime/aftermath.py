"""What becomes of the jobs that a process held when it died."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call, Extension
from echomq_app.protocol.errors import ConnectionLost, FenceMismatch, ServerRefusal
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.runtime.events import Event, Report
from echomq_app.runtime.ledger import Entry
from echomq_app.runtime.outcomes import Failed
from echomq_app.runtime.settling import Settle, settle_call
from echomq_app.service.queue import Queue, whole_ms
from echomq_app.service.records import Lease
from echomq_app.wire.link import Wire

Overrun = Callable[[Lease, float], Failed]
"""How a job fails whose hard time limit, in seconds, has passed."""
PAUSE_AFTER_DEATH: Final = timedelta(seconds=5)
"""How soon the lease of a job that ran ends: nobody holds it, and what kills must not do so in a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remains:
    """What a dead process held. ``running``: ids that had started; ``overrun``: id to hard limit.

    ``blameless``: it was told to die for another reason than its jobs.
    """

    pid: int
    entries: Sequence[Entry]
    running: frozenset[str] = frozenset()
    overrun: Mapping[str, float] = field(default_factory=dict)
    blameless: bool = False

    def suspects(self, entry: Entry) -> bool:
        """Whether this job may have killed the process."""
        if self.blameless or self.overrun:
            return False
        return entry.job_id in self.running or not any(
            one.job_id in self.running for one in self.entries
        )


class Aftermath:
    """Settles for the dead, with their tokens and labels: so it can never settle for another holder.

    A job that had passed its hard time limit fails. Then the rest of its process is not to blame and
    is given back at once, uncounted. When a process died by itself, the jobs that had started are
    suspects: their leases are cut short and lapse, which is counted; those that had not are given
    back. When none had started, all are suspects: a job must not kill its claimers for ever.
    """

    def __init__(self, wire: Wire, overrun: Overrun, report: Report) -> None:
        self._wire = wire
        self._overrun = overrun
        self._report = report
        self._open: list[Remains] = []

    def __bool__(self) -> bool:
        return bool(self._open)

    def take(self, remains: Remains) -> None:
        self._open.append(remains)

    def settle(self, pause: timedelta) -> None:
        """Settle what is open, or leave it for the next time when no server answers.

        ``pause``: the longest time for which a suspect rests. Raises ``FenceMismatch``.
        """
        unsettled, self._open = self._open, []
        for remains in unsettled:
            try:
                self._settle(remains, whole_ms(min(pause, PAUSE_AFTER_DEATH)))
            except FenceMismatch:
                raise
            except ConnectionLost:
                self._open.append(remains)

    def _settle(self, remains: Remains, pause_ms: int) -> None:
        """One pipeline; every call in it may be repeated, and is refused when the job is another's."""
        wanted: list[tuple[str, Call[Any]]] = []
        for entry in remains.entries:
            if entry.job_id in remains.overrun:
                wanted += [("failed", call) for call in self._failure(remains, entry)]
            elif not remains.suspects(entry):
                who = (QueueKeys(entry.queue), entry.job_id, entry.token, entry.label)
                wanted.append(("given_back", calls.release(*who)))
            else:
                claim = Extension(entry.job_id, entry.token, entry.label)
                call = calls.extend_many(QueueKeys(entry.queue), pause_ms, [claim])
                wanted.append(("suspected", call))
        answers = self._wire.answer([call for _, call in wanted])
        for answer in answers:
            if isinstance(answer.error, ConnectionLost | FenceMismatch):
                raise answer.error
        done = Counter(
            what
            for (what, _), answer in zip(wanted, answers, strict=True)
            if answer.error is None and not (what == "suspected" and answer.value)
        )
        if done:
            self._report(Event.JOBS_FREED, pid=remains.pid, **done)

    def _failure(self, remains: Remains, entry: Entry) -> Sequence[Call[Any]]:
        """The failure of a job that ran too long, by what its row says of its attempts."""
        queue = Queue(self._wire, entry.queue)
        try:
            fields = queue.job(entry.job_id).fields or {}
        except ServerRefusal:
            return ()
        excused = fields.get("excused", b"0")
        if "payload" not in fields or not excused.isdigit():
            return ()
        held = Lease(
            queue=entry.queue,
            job_id=entry.job_id,
            payload=fields["payload"],
            token=entry.token,
            label=entry.label,
            excused=int(excused),
        )
        failed = self._overrun(held, remains.overrun[entry.job_id])
        return (settle_call(queue, Settle(lease=held, outcome=failed)),)
