"""From an outcome to its settle call, and from the answer to what is told and what is sent again."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, NamedTuple

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call
from echomq_app.protocol.errors import (
    ConnectionLost,
    EchoMQError,
    ServerFull,
    ServerUnavailable,
    Stale,
)
from echomq_app.protocol.states import Completion, Retried
from echomq_app.runtime.events import Event, Report
from echomq_app.runtime.outcomes import Completed, Delayed, Failed, Outcome, Released
from echomq_app.service import plans
from echomq_app.service.queue import Queue, whole_ms
from echomq_app.service.records import Lease
from echomq_app.wire.exchange import Answer

MOST_ATTEMPTS: Final = 2**31
"""A payload of a stranger may ask for any number of attempts, below zero too."""


LEASE_LOST: Final = "its lease was lost while it ran"
"""Why an outcome is not sent at all."""


class Settle(NamedTuple):
    """An outcome on its way to the server. Every settle is safe to send again.

    ``seconds``: how long the job ran. ``resent``: an earlier sending may have been executed.
    """

    lease: Lease
    outcome: Outcome
    seconds: float = 0.0
    resent: bool = False


def settle_call(queue: Queue, settle: Settle) -> Call[Any]:
    """The call that brings an outcome to the server."""
    held, outcome = settle.lease, settle.outcome
    who = (queue.keys, held.job_id, held.token)
    match outcome:
        case Completed():
            return calls.complete(*who, held.label, outcome.keep)
        case Failed():
            return calls.retry(
                *who,
                delay_ms=whole_ms(outcome.delay),
                max_attempts=min(max(outcome.max_attempts, 0), MOST_ATTEMPTS),
                error=outcome.error,
                label=held.label,
                report=outcome.report,
            )
        case Released():
            return calls.release(*who, held.label)
        case Delayed():
            return calls.delay_in(*who, whole_ms(outcome.delay), held.label)


def take_answer(queue: Queue, settle: Settle, answer: Answer[Any], report: Report) -> Settle | None:
    """Tell what came of a settle; the settle to send next when it is not over."""
    answer.resent = answer.resent or settle.resent
    facts = _facts(settle)
    try:
        event = _event(queue, settle, answer)
    except ServerUnavailable:
        return settle
    except ConnectionLost:
        return settle._replace(resent=True)
    except Stale as refused:
        event = Event.SETTLE_UNKNOWN if answer.resent else Event.SETTLE_REFUSED
        facts["reason"] = refused.reason
    except EchoMQError as error:
        if isinstance(error, ServerFull) and (smaller := _without_outcome(settle)) is not None:
            return smaller
        event = Event.OUTCOME_DROPPED
        facts["error"] = str(error)
    if event is Event.SETTLE_REFUSED:
        facts["label"] = settle.lease.label
    report(event, **facts)
    return None


def named(held: Lease) -> dict[str, object]:
    """The job of a claim, as events name it."""
    return {"queue": held.queue, "job": held.job_id, "token": held.token}


def _event(queue: Queue, settle: Settle, answer: Answer[Any]) -> Event:
    match settle.outcome:
        case Completed():
            ended = queue.wire.follow(plans.settled(queue.keys, settle.lease, answer))
            if ended is Completion.COMPLETED:
                return Event.COMPLETED
            return Event.SETTLE_UNKNOWN if answer.resent else Event.SETTLE_REFUSED
        case Failed():
            retried = queue.wire.follow(plans.retried(queue.keys, settle.lease, answer))
            return Event.BURIED if retried is Retried.DEAD else Event.RETRIED
        case Released():
            return _given_back(answer, Event.RELEASED)
        case Delayed():
            return _given_back(answer, Event.DELAYED)


def _given_back(answer: Answer[Any], event: Event) -> Event:
    if isinstance(answer.error, Stale) and answer.error.reason == "parked":
        return event
    answer.unwrap()
    return event


def _without_outcome(settle: Settle) -> Settle | None:
    """A full server takes no outcome; it takes the receipt (decision 16)."""
    outcome = settle.outcome
    if not isinstance(outcome, Completed) or outcome.keep.outcome is None:
        return None
    keep = replace(outcome.keep, outcome=None, result_ms=0)
    return settle._replace(outcome=Completed(keep=keep))


def _facts(settle: Settle) -> dict[str, object]:
    facts: dict[str, object] = {
        "queue": settle.lease.queue,
        "job": settle.lease.job_id,
        "token": settle.lease.token,
        "attempt": settle.lease.attempt,
        "seconds": round(settle.seconds, 3),
    }
    if isinstance(settle.outcome, Failed):
        facts["error"] = settle.outcome.error
    if isinstance(settle.outcome, Delayed):
        facts["why"] = settle.outcome.why
    return facts


def burial(held: Lease) -> Failed:
    """What becomes of a job whose workers died too often (decision 12)."""
    error = f"its worker died {held.lapses} times: the job was not started again"
    return Failed(error=error, report=None, delay=timedelta(), max_attempts=0)
