"""The one place that words what loops tell: a line an event, its facts as ``key=value``."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from echomq_app.runtime.events import NOBODY, Event, Report

_WORDS: Final[dict[Event, tuple[int, str]]] = {
    Event.STARTED: (logging.INFO, "started"),
    Event.QUEUE_UNNAMED: (
        logging.WARNING,
        "this queue is named neither in TASKS nor in ECHOMQ['QUEUES']",
    ),
    Event.MAY_EVICT: (logging.WARNING, "a full server would throw jobs away: set maxmemory-policy"),
    Event.CLAIMED: (logging.DEBUG, "job claimed"),
    Event.COMPLETED: (logging.DEBUG, "job done"),
    Event.TALLIED: (logging.INFO, "jobs done"),
    Event.RETRIED: (logging.WARNING, "job failed, will be tried again"),
    Event.BURIED: (logging.ERROR, "job is dead"),
    Event.RELEASED: (logging.INFO, "job given back"),
    Event.DELAYED: (logging.WARNING, "job parked for later, not counted as an attempt"),
    Event.LEASE_LOST: (logging.ERROR, "lease lost: another worker may run the job"),
    Event.SETTLE_REFUSED: (logging.ERROR, "outcome refused: the job is no longer held here"),
    Event.SETTLE_UNKNOWN: (
        logging.WARNING,
        "answer to an outcome lost: it was taken, or the job is no longer held here",
    ),
    Event.OUTCOME_DROPPED: (logging.ERROR, "outcome not sent"),
    Event.RAN_TWICE: (logging.ERROR, "job ran twice: another claim has it, or has ended it"),
    Event.CLAIM_LOST: (
        logging.WARNING,
        "answer to a claim lost: its jobs come back by their lease",
    ),
    Event.QUEUE_BROKEN: (logging.ERROR, "queue cannot be worked"),
    Event.SERVER_AWAY: (logging.ERROR, "server does not answer, trying again"),
    Event.SERVER_STILL_AWAY: (logging.ERROR, "server still does not answer"),
    Event.SERVER_BACK: (logging.INFO, "server answers again"),
    Event.SWEPT: (logging.INFO, "swept"),
    Event.CARRIED: (logging.INFO, "told parents on other queues"),
    Event.BATCH_DONE: (logging.INFO, "batch done"),
    Event.LIMIT_UNKEPT: (
        logging.WARNING,
        "hard time limits are kept with --processes only: without it a task may run on",
    ),
    Event.RECYCLING: (logging.INFO, "recycling: nothing more is claimed"),
    Event.RELOADING: (logging.INFO, "file changed, fresh processes are started"),
    Event.PROCESS_STARTED: (logging.INFO, "process started"),
    Event.PROCESS_UNBORN: (logging.ERROR, "process could not be started, trying again"),
    Event.PROCESS_ENDED: (logging.INFO, "process ended"),
    Event.PROCESS_DIED: (logging.ERROR, "process died, its jobs come back"),
    Event.LEASES_KEPT: (
        logging.WARNING,
        "process does not renew its leases, its supervisor does: a task may hold the interpreter",
    ),
    Event.LIMIT_PASSED: (logging.ERROR, "hard time limit passed: its process is killed"),
    Event.PROCESS_HUNG: (logging.ERROR, "process does not come back and is killed"),
    Event.PROCESS_LATE: (logging.ERROR, "process has not left in time and is killed"),
    Event.JOBS_FREED: (logging.INFO, "jobs of a dead process freed"),
    Event.SURVEYED: (logging.WARNING, "asked what runs"),
    Event.RUNNING: (logging.WARNING, "job runs"),
    Event.HEALTH_AT: (logging.INFO, "health is told over HTTP"),
    Event.HEALTH_UNTOLD: (logging.ERROR, "health file cannot be written"),
    Event.STUCK: (logging.CRITICAL, "worker is stuck and ends"),
    Event.WISHED: (logging.INFO, "asked by an operator"),
    Event.DRAINING: (logging.INFO, "draining: nothing more is claimed"),
    Event.STOPPED: (logging.INFO, "stopped"),
}


TALLY_S: Final = 10.0
_LONGEST: Final = 500
_LONGEST_STACK: Final = 4000


class LineReport:
    """Writes events to a logger; facts ride along as ``echomq`` on the record.

    Jobs that went well are counted, and the count told every so often: a line for each would cost a
    short job more than its run.
    """

    def __init__(
        self,
        logger: logging.Logger,
        now: Callable[[], float] = time.monotonic,
        also: Mapping[Event, Report] = NOBODY,
    ) -> None:
        """``also``: who else is told of some events; it costs the others nothing."""
        self._logger = logger
        self._also = also
        self._now = now
        self._done = 0
        self._since = now()

    def __call__(self, event: Event, /, **facts: object) -> None:
        if event is Event.COMPLETED:
            self._done += 1
            if self._now() - self._since >= TALLY_S:
                self._tell_tally()
        elif event is Event.STOPPED and self._done:
            self._tell_tally()
        elif event in self._also:
            self._also[event](event, **facts)
        level, words = _WORDS[event]
        if self._logger.isEnabledFor(level):
            self._write(level, event, words, facts)

    def _tell_tally(self) -> None:
        now = self._now()
        facts: dict[str, object] = {"count": self._done, "seconds": round(now - self._since, 1)}
        self._done, self._since = 0, now
        if self._logger.isEnabledFor(logging.INFO):
            self._write(logging.INFO, Event.TALLIED, _WORDS[Event.TALLIED][1], facts)

    def _write(self, level: int, event: Event, words: str, facts: dict[str, object]) -> None:
        extra = {"echomq": {"event": event, **facts}}
        self._logger.log(level, "%s %s", words, _facts(facts), extra=extra)


def _facts(facts: dict[str, object]) -> str:
    return " ".join(
        f"{name}={_value(value, _LONGEST_STACK if name == 'stack' else _LONGEST)}"
        for name, value in facts.items()
    )


def _value(value: object, longest: int) -> str:
    """Bare when it is one plain word, else as JSON, so that a line stays one line."""
    text = str(value)[:longest]
    plain = bool(text) and all(one.isalnum() or one in "_-.:/{}" for one in text)
    return text if plain else "".join(map(_printable, json.dumps(text, ensure_ascii=False)))


def _printable(one: str) -> str:
    """Line separators, terminal controls and lone surrogates do not reach a terminal or a file."""
    return one if one.isprintable() else f"\\u{ord(one):04x}"
