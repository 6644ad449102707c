"""The supervisor: a tick that replaces dead processes, keeps leases and hard limits, and ends them all."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from echomq_app.runtime.aftermath import Aftermath, Overrun, Remains
from echomq_app.runtime.events import Event, Report, silent
from echomq_app.runtime.posts import RECYCLED, Child, Post
from echomq_app.wire.link import Wire

STEADY_S: Final = 10.0
"""Who lives shorter than this died at once."""
LONGEST_BACKOFF_S: Final = 30.0
MARGIN_S: Final = 10.0
"""How much longer than its drain a process may take to hand its jobs back."""

SETTLE_S: Final = 0.3
"""How long a change of files rests before fresh processes are started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorOptions:
    """``processes``: how many. The rest is what each of them was told too."""

    processes: int
    lease: timedelta = timedelta(seconds=60)
    beat: timedelta = timedelta(seconds=1)
    drain: timedelta = timedelta(seconds=30)
    burst: bool = False


@dataclass(slots=True)
class Supervisor:
    """Keeps ``processes`` children. ``tick`` is called by one thread; ``stop`` and ``renew`` by any.

    ``spawn`` starts a child. ``overrun`` says how a job fails whose hard limit has passed. ``now`` is
    the monotonic clock, which the children read too.
    """

    wire: Wire
    spawn: Callable[[], Child]
    overrun: Overrun
    options: SupervisorOptions
    report: Report = silent
    now: Callable[[], float] = time.monotonic
    failed: bool = field(default=False, init=False)
    """Whether it gave up because no process of it could ever serve."""
    turned_at: float = field(default=0.0, init=False)
    """When its loop last came round."""
    _posts: list[Post] = field(init=False)
    _leaving: list[Post] = field(default_factory=list, init=False)
    _aftermath: Aftermath = field(init=False)
    _any_ready: bool = field(default=False, init=False)
    _stopping: bool = field(default=False, init=False)
    _renew_at: float | None = field(default=None, init=False)
    _told_draining: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._posts = [Post() for _ in range(self.options.processes)]
        self._aftermath = Aftermath(self.wire, self.overrun, self.report)

    @property
    def children(self) -> list[Child]:
        """Every process that may live."""
        return [one.child for one in (*self._posts, *self._leaving) if one.child is not None]

    @property
    def stopping(self) -> bool:
        return self._stopping

    def stop(self) -> None:
        """Start nothing more; every process drains."""
        self._stopping = True

    def renew(self) -> None:
        """Soon start a fresh process in each place; the old ones drain beside them.

        Asked again meanwhile it waits anew: files seldom change alone.
        """
        self._renew_at = self.now() + SETTLE_S

    def kill(self) -> None:
        """End every process now; leases lapse."""
        for child in self.children:
            child.kill()

    def tick(self) -> float | None:
        """Do what is due; seconds until something will be, ``None`` when all have left.

        Raises ``FenceMismatch`` when the server turns out to be another one.
        """
        now = self.turned_at = self.now()
        self._dismiss(now)
        for post in (*self._posts, *self._leaving):
            self._attend(post, now)
        self._leaving = [post for post in self._leaving if post.child is not None]
        self._aftermath.settle(self.options.lease)
        if not self.children and (self._stopping or all(post.over for post in self._posts)):
            return None
        return self._pause(self.now())

    def _dismiss(self, now: float) -> None:
        """Tell those to leave who should."""
        leave_by = now + self.options.drain.total_seconds() + MARGIN_S
        if self._renew_at is not None and now >= self._renew_at:
            self._renew_at = None
            self._leaving += [post for post in self._posts if post.dismiss(leave_by)]
            self._posts = [Post() for _ in self._posts]
        if self._stopping:
            told = [post for post in (*self._posts, *self._leaving) if post.dismiss(leave_by)]
            if not self._told_draining:
                self._told_draining = True
                seconds = self.options.drain.total_seconds()
                self.report(Event.DRAINING, processes=len(told), seconds=seconds)

    def _attend(self, post: Post, now: float) -> None:
        if post.child is None:
            if not post.over and not self._stopping and now >= post.spawn_at:
                self._start(post, now)
            return
        self._any_ready = self._any_ready or post.child.ledger.is_ready
        code = post.child.poll()
        if code is not None:
            self._bury(post, post.child, code, now)
            return
        post.watch(now, self.report)
        if post.keeps(self.wire, now):
            self.report(Event.LEASES_KEPT, pid=post.child.pid)

    def _start(self, post: Post, now: float) -> None:
        try:
            child = self.spawn()
        except OSError as error:
            post.spawn_at = now + self._backoff(post)
            again = round(post.spawn_at - now, 1)
            self.report(Event.PROCESS_UNBORN, error=str(error), again_s=again)
            return
        post.begin(child, self.options.lease, now)
        self.report(Event.PROCESS_STARTED, pid=child.pid)

    def _backoff(self, post: Post) -> float:
        """Nothing after the first early death, then a second, doubled each time, up to the cap."""
        post.early_deaths += 1
        doubled: float = 2.0 ** min(post.early_deaths - 2, 10)
        return min(doubled, LONGEST_BACKOFF_S) if post.early_deaths > 1 else 0.0

    def _bury(self, post: Post, child: Child, code: int, now: float) -> None:
        """A process has ended: tell how, see to its jobs, and to who comes next."""
        page = post.last_words(now)
        lived = round(now - post.born_at, 1)
        if child.ledger.has_left and code in (0, RECYCLED):
            post.over = self.options.burst and code == 0
            post.early_deaths, post.spawn_at = 0, now
            self.report(Event.PROCESS_ENDED, pid=child.pid, code=code, seconds=lived)
        else:
            self._give_up_if_hopeless(code)
            self._aftermath.take(
                Remains(
                    pid=child.pid,
                    entries=page.entries,
                    running=frozenset(run.job_id for run in child.ledger.runs()),
                    overrun=post.overrun,
                    blameless=post.late,
                )
            )
            if lived >= STEADY_S or post.overrun:
                post.early_deaths = 0
            post.spawn_at = now + self._backoff(post)
            again = "never" if self._stopping else round(post.spawn_at - now, 1)
            facts = {"pid": child.pid, "how": manner(code), "seconds": lived}
            self.report(Event.PROCESS_DIED, **facts, jobs=len(page.entries), again_s=again)
        child.close()
        post.child = None

    def _give_up_if_hopeless(self, code: int) -> None:
        """What ends by itself before any has served will do so each time: its last lines say why."""
        if code > 0 and not self._any_ready and not self._stopping:
            self.failed = True
            self.stop()

    def _pause(self, now: float) -> float:
        """A quarter of a lease at most: between its half and its end there are two looks."""
        look_s = min(self.options.beat.total_seconds(), self.options.lease.total_seconds() / 4)
        due = [now + look_s]
        if self._renew_at is not None:
            due.append(self._renew_at)
        if not self._stopping:
            due += [one.spawn_at for one in self._posts if one.child is None and not one.over]
        due += [one.due for one in (*self._posts, *self._leaving) if one.due is not None]
        return max(0.0, min(due) - now)


def manner(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
