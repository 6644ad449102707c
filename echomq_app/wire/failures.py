"""From what a server or a socket says to the failure's name."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from redis import exceptions as redis_errors

from echomq_app.protocol import errors

DENIED: Final = (redis_errors.AuthenticationError, redis_errors.AuthorizationError)
BROKEN: Final = (
    redis_errors.ConnectionError,
    redis_errors.TimeoutError,
    redis_errors.InvalidResponse,
    redis_errors.RedisClusterException,
    OSError,
)


class Verdict(Enum):
    """What an answer asks of its caller. Only ``ANSWERED`` and ``REFUSED`` end a call."""

    ANSWERED = auto()
    REFUSED = auto()
    LATER = auto()
    """The server cannot answer now and executed nothing."""
    MOVED = auto()
    ASK = auto()
    UNLOADED = auto()
    UNFENCED = auto()
    """Nothing was sent: a connection is new, and what it reaches may be another server."""


_REFUSALS: Final = {
    kind.code: kind
    for kind in (
        errors.WrongKind,
        errors.Stale,
        errors.Locked,
        errors.WrongState,
        errors.CeilingReached,
        errors.WrongType,
        errors.ServerFull,
        errors.GroupExists,
    )
}
_NOT_MONOTONIC: Final = "XADD is equal or smaller than the target stream top item"
_LATER_WORDS: Final = frozenset(
    {"BUSY", "LOADING", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "MISCONF", "NOREPLICAS"}
)
_LATER_CLASSES: Final = (
    redis_errors.BusyLoadingError,
    redis_errors.TryAgainError,
    redis_errors.ClusterDownError,
    redis_errors.ReadOnlyError,
)


def judge(reply: object) -> Verdict:
    """What a reply, or the error a server gave as one, asks for."""
    if not isinstance(reply, redis_errors.RedisError):
        return Verdict.ANSWERED
    if isinstance(reply, redis_errors.NoScriptError):
        return Verdict.UNLOADED
    if isinstance(reply, redis_errors.MovedError):
        return Verdict.MOVED
    if isinstance(reply, redis_errors.AskError):
        return Verdict.ASK
    if isinstance(reply, _LATER_CLASSES) or first_word(reply) in _LATER_WORDS:
        return Verdict.LATER
    return Verdict.REFUSED


def first_word(error: BaseException) -> str:
    """The class of an error reply: its first word."""
    words = str(error).split(None, 1)
    return words[0] if words else ""


def refusal(verb: str, reply: redis_errors.RedisError) -> errors.EchoMQError:
    """The failure that an error reply names; ``ServerFault`` when the protocol has no name for it."""
    if isinstance(reply, redis_errors.OutOfMemoryError):
        return errors.ServerFull(
            f"the server is full and refused {verb}: {reply}. Jobs already admitted are served; "
            "raise maxmemory or let workers drain the queues"
        )
    kind = _REFUSALS.get(first_word(reply))
    if kind is errors.WrongType:
        return kind(
            f"a key that {verb} needs holds another type than the protocol's: something else wrote under "
            f"this queue's name. Find it with TYPE and move it away ({reply})"
        )
    if kind is not None:
        return kind(str(reply))
    if first_word(reply) == errors.NoGroup.code:
        return errors.NoGroup(
            f"{verb} needs a consumer group that is not there: join it first, and again if the stream "
            f"was deleted ({reply})"
        )
    if _NOT_MONOTONIC in str(reply):
        return errors.NotMonotonic(
            f"the stream holds a record as new as this one, or newer ({reply}): append it under an id "
            "that is minted now"
        )
    return errors.ServerFault(f"the server refused {verb}: {reply}")


def denial(cause: BaseException) -> errors.EchoMQError | None:
    """The failure of a login that the server refused, ``None`` for any other cause."""
    if not isinstance(cause, DENIED) and not isinstance(cause.__cause__, DENIED):
        return None
    return errors.ServerFault(f"the server denied access: {cause}. Check user, password and TLS")
