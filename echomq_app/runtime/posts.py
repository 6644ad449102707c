"""Where a process of a worker stands, and the next one after it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Protocol

from echomq_app.runtime.events import Event, Report
from echomq_app.runtime.keeping import Keeping
from echomq_app.runtime.ledger import Ledger, Page, Run
from echomq_app.wire.link import Wire

RECYCLED: Final = 75
"""Exit code of a process that made room for a fresh one."""
QUIET_S: Final = 2.0
"""A process comes round its loop every second or so."""
SILENT_LEASES: Final = 10
SILENT_S: Final = 60.0
"""A process may hang for ten leases, and for a minute, in jobs without a hard time limit."""


class Child(Protocol):
    """A process of the worker."""

    ledger: Ledger

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def drain(self) -> None: ...

    def ask(self) -> None: ...

    def kill(self) -> None: ...

    def close(self) -> None: ...


@dataclass(slots=True, eq=False)
class Post:
    """One of the supervisor's places. Times are its clock, in seconds."""

    child: Child | None = None
    born_at: float = 0.0
    spawn_at: float = 0.0
    """When the next process may be started."""
    early_deaths: int = 0
    """Processes in a row that died at once."""
    over: bool = False
    """Nobody stands here again."""
    leave_by: float | None = None
    """When a process that was told to leave is killed."""
    overrun: dict[str, float] = field(default_factory=dict)
    """Jobs whose hard time limit, in seconds, has passed: why the process was killed."""
    late: bool = False
    """It was killed because it did not leave."""
    due: float | None = None
    """When it wants a look, besides the beat."""
    _hung: bool = False
    _told_kept: bool = False
    _longest_silence_s: float = 0.0
    _keeping: Keeping | None = None

    def begin(self, child: Child, lease: timedelta, now: float) -> None:
        """A fresh process stands here."""
        self.child, self.born_at = child, now
        self._keeping = Keeping(child.ledger, lease, now)
        self._longest_silence_s = max(SILENT_LEASES * lease.total_seconds(), SILENT_S)
        self.overrun, self.late, self._hung, self._told_kept = {}, False, False, False
        self.leave_by = self.due = None

    def dismiss(self, leave_by: float) -> bool:
        """Tell the process to leave, once; whether there is one."""
        if self.child is not None and self.leave_by is None:
            self.leave_by = leave_by
            self.child.drain()
        return self.child is not None

    def watch(self, now: float, report: Report) -> None:
        """Kill the process when a job in it may run no longer, or when it does not come back."""
        assert self.child is not None
        assert self._keeping is not None
        self._keeping.look(now)
        runs = self.child.ledger.runs()
        self._end_overrun(self.child, runs, now, report)
        limited = [run.deadline for run in runs if run.deadline > now]
        silent_s = self._keeping.silent_s
        if silent_s > self._longest_silence_s and not limited and not self._hung:
            self._hung = True
            report(Event.PROCESS_HUNG, pid=self.child.pid, seconds=round(silent_s, 1))
            self.child.kill()
        if self.leave_by is not None and now >= self.leave_by and not self.late:
            self.late = True
            report(Event.PROCESS_LATE, pid=self.child.pid)
            self.child.kill()
        ends = [*limited, *([] if self.leave_by is None or self.late else [self.leave_by])]
        self.due = min(ends, default=None)

    def _end_overrun(self, child: Child, runs: list[Run], now: float, report: Report) -> None:
        for run in runs:
            if 0 < run.deadline <= now and not self.overrun.get(run.job_id):
                self.overrun[run.job_id] = run.limit_s
                report(Event.LIMIT_PASSED, job=run.job_id, seconds=run.limit_s, pid=child.pid)
                child.kill()

    def keeps(self, wire: Wire, now: float) -> bool:
        """Renew its leases if it does not; whether it has gone quiet just now. Raises ``FenceMismatch``."""
        assert self._keeping is not None
        if self.overrun or self._hung or self.late:
            return False
        kept, silent = self._keeping.keep(wire, now), self._keeping.silent_s >= QUIET_S
        begun = kept and silent and not self._told_kept
        self._told_kept = silent and (begun or self._told_kept)
        return begun

    def last_words(self, now: float) -> Page:
        """What the process held when it ended."""
        assert self._keeping is not None
        return self._keeping.look(now)
