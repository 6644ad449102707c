"""Transitions as values: a function a verb, which gives script, KEYS, ARGV and how to read the reply.

Nothing here talks to a server. A label is unique to one claim (decision 3); ``""`` is none.
Times on the wire are whole milliseconds.
"""

from echomq_app.protocol.calls.admission import (
    MAX_BULK_BYTES,
    MAX_BULK_JOBS,
    bulk_chunks,
    enqueue,
    enqueue_many,
    schedule_at,
    schedule_in,
)
from echomq_app.protocol.calls.call import MAX_LEASE_MS, Call, Word, command, lease_ms
from echomq_app.protocol.calls.claiming import (
    MAX_CLAIMS,
    Extension,
    claim,
    claim_many,
    extend,
    extend_many,
    is_paused,
)
from echomq_app.protocol.calls.housekeeping import (
    MAX_BUDGET,
    MAX_DID_BYTES,
    dedup,
    dedup_holder,
    drain,
    obliterate,
    rate,
    rate_consult,
    set_rate,
    update_data,
)
from echomq_app.protocol.calls.settling import (
    MAX_ERROR_BYTES,
    NOTHING,
    SUBKEY_MS,
    Retention,
    capped_error,
    complete,
    delay_at,
    delay_in,
    release,
    retry,
)
from echomq_app.protocol.calls.steering import pause, remove, requeue, requeue_many, resume
from echomq_app.protocol.calls.sweeping import beat, promote, reap, trim
from echomq_app.protocol.calls.telling import add_log, counts, progress, read_rows, state

__all__ = [
    "MAX_BUDGET",
    "MAX_BULK_BYTES",
    "MAX_BULK_JOBS",
    "MAX_CLAIMS",
    "MAX_DID_BYTES",
    "MAX_ERROR_BYTES",
    "MAX_LEASE_MS",
    "NOTHING",
    "SUBKEY_MS",
    "Call",
    "Extension",
    "Retention",
    "Word",
    "add_log",
    "beat",
    "bulk_chunks",
    "capped_error",
    "claim",
    "claim_many",
    "command",
    "complete",
    "counts",
    "dedup",
    "dedup_holder",
    "delay_at",
    "delay_in",
    "drain",
    "enqueue",
    "enqueue_many",
    "extend",
    "extend_many",
    "is_paused",
    "lease_ms",
    "obliterate",
    "pause",
    "progress",
    "promote",
    "rate",
    "rate_consult",
    "read_rows",
    "reap",
    "release",
    "remove",
    "requeue",
    "requeue_many",
    "resume",
    "retry",
    "schedule_at",
    "schedule_in",
    "set_rate",
    "state",
    "trim",
    "update_data",
]
