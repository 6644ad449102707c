"""From an outcome to its settle call, and from the answer to what is told and what is sent again."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call
from echomq_app.protocol.errors import ConnectionLost, EchoMQError, ServerFull, Stale
from echomq_app.protocol.states import Completion, Retried
from echomq_app.runtime.events import Event, Report
from echomq_app.runtime.held import Held
from echomq_app.runtime.outcomes import Completed, Delayed, Failed, Outcome, Released
from echomq_app.service import plans
from echomq_app.service.queue import Queue, whole_ms
from echomq_app.wire.exchange import Answer


@dataclass(frozen=True, slots=True)
class Settle:
    """An outcome on its way to the server. Every settle is safe to send again."""

    held: Held
    outcome: Outcome


def settle_call(queue: Queue, settle: Settle) -> Call[Any]:
    """The call that carries an outcome to the server."""
    held, outcome = settle.held.lease, settle.outcome
    who = (queue.keys, held.job_id, held.token)
    match outcome:
        case Completed():
            return calls.complete(*who, held.label, outcome.keep)
        case Failed():
            return calls.retry(
                *who,
                delay_ms=whole_ms(outcome.delay),
                max_attempts=outcome.max_attempts,
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
    facts = _facts(settle)
    try:
        event = _event(queue, settle, answer)
    except ServerFull:
        return _without_outcome(settle)
    except ConnectionLost:
        return settle
    except Stale as refused:
        if not answer.resent:
            report(Event.SETTLE_REFUSED, reason=refused.reason, **facts)
    except EchoMQError as error:
        report(Event.OUTCOME_DROPPED, error=str(error), **facts)
    else:
        report(event, **facts)
    return None


def _event(queue: Queue, settle: Settle, answer: Answer[Any]) -> Event:
    held = settle.held.lease
    match settle.outcome:
        case Completed():
            ended = queue.wire.follow(plans.settled(queue.keys, held, answer))
            return Event.COMPLETED if ended is Completion.COMPLETED else Event.SETTLE_REFUSED
        case Failed():
            retried = queue.wire.follow(plans.retried(queue.keys, held, answer))
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


def _without_outcome(settle: Settle) -> Settle:
    """A full server takes no outcome; it takes the receipt (decision 16)."""
    assert isinstance(settle.outcome, Completed)
    keep = replace(settle.outcome.keep, outcome=None, result_ms=0)
    return Settle(settle.held, Completed(keep=keep))


def _facts(settle: Settle) -> dict[str, object]:
    held = settle.held
    facts: dict[str, object] = {
        "queue": held.lease.queue,
        "job": held.lease.job_id,
        "token": held.lease.token,
        "attempt": held.lease.attempt,
        "seconds": round(time.monotonic() - held.started_at, 3),
    }
    if isinstance(settle.outcome, Failed):
        facts["error"] = settle.outcome.error
    if isinstance(settle.outcome, Delayed):
        facts["why"] = settle.outcome.why
    return facts
