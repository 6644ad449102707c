"""Every failure the protocol can name, one class for one thing that happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple


class EchoMQError(Exception):
    """Base of everything this package raises on purpose."""


class InvalidInput(EchoMQError, ValueError):
    """A value was refused on the host, before anything was sent."""


class InvalidJobId(InvalidInput):
    """Not a 14-byte branded id (protocol 1.1)."""


class InvalidQueueName(InvalidInput):
    """A queue name the keyspace cannot hold (decision 7)."""


class InvalidLane(InvalidInput):
    """Not a branded id, which is what names a lane (protocol 4.16)."""


class InvalidLease(InvalidInput):
    """A lease that is not a whole number of milliseconds above zero."""


class PayloadTooLarge(InvalidInput):
    """The encoded payload is over the configured limit."""


class InvalidPayload(InvalidInput, TypeError):
    """The payload is not the JSON object of a Django task (decision 15).

    Also a ``TypeError``: that is what ``django.tasks`` promises for arguments that are not JSON.
    """


class ServerRefusal(EchoMQError):
    """The server refused a call by name; nothing was written."""

    code: ClassVar[str] = ""


class WrongKind(ServerRefusal):
    """The id is not JOB-namespaced."""

    code = "EMQKIND"


class Stale(ServerRefusal):
    """The caller does not hold this job: another claim does, or none.

    ``reason`` is the word after the code: ``token``, ``label``, ``place``, ``gone`` or ``parked``.
    """

    code = "EMQSTALE"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        words = message.split()
        self.reason = words[1].rstrip(":") if len(words) > 1 else "token"


class Locked(ServerRefusal):
    """Somebody holds the job; it was left as it is."""

    code = "EMQLOCK"


class WrongState(ServerRefusal):
    """The job is not in the state that the verb needs."""

    code = "EMQSTATE"


class CeilingReached(ServerRefusal):
    """As many jobs of the queue run as its ceiling lets run; nothing was claimed."""

    code = "EMQRATE"


class WrongType(ServerRefusal):
    """A key of the queue holds another type than the protocol's."""

    code = "WRONGTYPE"


class ServerFull(ServerRefusal):
    """The server reached maxmemory and refused an admission."""

    code = "OOM"


class NotMonotonic(ServerRefusal):
    """A stream holds a record that is as new as this one, or newer; nothing was appended."""


class GroupExists(ServerRefusal):
    """The stream has this consumer group already; it was left as it is."""

    code = "BUSYGROUP"


class NoGroup(ServerRefusal):
    """The stream, or its consumer group, is not there."""

    code = "NOGROUP"


class ServerFault(EchoMQError):
    """The server answered with an error that the protocol has no name for."""


class ConnectionLost(EchoMQError, ConnectionError):
    """The connection broke and the call may or may not have been executed."""


class ServerUnavailable(ConnectionLost):
    """No server answered within the time given; nothing was executed."""


class FenceMismatch(EchoMQError):
    """The server is fenced for another data format (decision 1)."""


class ServerTooOld(EchoMQError):
    """The server lacks what the scripts need."""


class IdCollision(EchoMQError):
    """The id belongs to another job; nothing was written (decision 8)."""

    def __init__(self, job_id: str, queue: str) -> None:
        super().__init__(
            f"job id {job_id} already names another job on queue {queue!r}; nothing was enqueued: "
            "mint a new id and enqueue again"
        )
        self.job_id = job_id
        self.queue = queue


class UnsentJob(NamedTuple):
    """A job that a caller knows and the server may not: enough to send it again.

    ``run_at_ms`` is ms since 1970, ``None`` for a job that may run at once.
    """

    queue: str
    job_id: str
    payload: bytes
    run_at_ms: int | None = None


class EnqueueFailed(EchoMQError):
    """Admissions that could not be sent in the time given, with what is needed to send them again.

    ``job_id``, ``queue`` and ``payload`` are those of the first of ``jobs``.
    """

    def __init__(self, jobs: Sequence[UnsentJob], why: str) -> None:
        first = jobs[0]
        others = f" and {len(jobs) - 1} more" if len(jobs) > 1 else ""
        why = why.rstrip(".")
        super().__init__(
            f"job {first.job_id} on queue {first.queue!r}{others} may not have been enqueued: {why}. "
            "Send the same ids and payloads again: what was admitted already is not admitted twice"
        )
        self.jobs = tuple(jobs)
        self.queue, self.job_id, self.payload = first.queue, first.job_id, first.payload
