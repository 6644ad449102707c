"""The JSON that a worker leaves of failures and outcomes, and how it is read back."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from operator import attrgetter
from traceback import format_exception, format_exception_only
from typing import Any, Final

from echomq_app.protocol.calls import capped_error
from echomq_app.runtime.held import Held


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport:
    """One failed attempt. ``at`` is ms since 1970 on the worker's clock."""

    at: int
    attempt: int
    token: int
    worker: str
    exception: str
    """Dotted path of the exception's class."""
    error: str
    traceback: str

    def encoded(self) -> bytes:
        body = {one.name: getattr(self, one.name) for one in fields(self)}
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


@dataclass(slots=True, kw_only=True)
class OutcomeReport:
    """How a job ended. Times are ms since 1970; ``status`` is ``successful`` or ``expired``."""

    status: str
    task: str
    args: Any
    kwargs: Any
    value: Any = None
    worker: str = ""
    attempt: int = 1
    claimed_at: int | None = None
    finished_at: int | None = None
    meta: Any = field(default_factory=dict)

    def encoded(self) -> bytes:
        """JSON in ASCII: arguments and values may hold text that UTF-8 cannot."""
        return _compact(dict(zip(_OUTCOME, _outcome_of(self), strict=True))).encode()


_OUTCOME: Final = tuple(one.name for one in fields(OutcomeReport))
_outcome_of: Final = attrgetter(*_OUTCOME)
_compact: Final = json.JSONEncoder(separators=(",", ":")).encode


def failure(held: Held, error: BaseException, at_ms: int) -> ErrorReport:
    """The report of a failed attempt, its texts capped."""
    kind = type(error)
    return ErrorReport(
        at=at_ms,
        attempt=held.lease.attempt,
        token=held.lease.token,
        worker=held.lease.label,
        exception=f"{kind.__module__}.{kind.__qualname__}",
        error=capped_error("".join(format_exception_only(error)).strip()),
        traceback=capped_error("".join(format_exception(error))),
    )


def read_failure(raw: bytes) -> ErrorReport | None:
    """A report that a worker of ours wrote; ``None`` for anything else."""
    found: ErrorReport | None = _read(ErrorReport, raw)
    return found


def read_outcome(raw: bytes) -> OutcomeReport | None:
    """An outcome that a worker of ours wrote; ``None`` for anything else."""
    found: OutcomeReport | None = _read(OutcomeReport, raw)
    return found


_SHAPES: Final[dict[str, Any]] = {
    **dict.fromkeys(("status", "task", "worker", "exception", "error", "traceback"), str),
    **dict.fromkeys(("at", "attempt", "token"), int),
    **dict.fromkeys(("claimed_at", "finished_at"), (int, type(None))),
    "args": list,
    "kwargs": dict,
}


def _read(kind: Any, raw: bytes) -> Any:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    told = {one.name: body[one.name] for one in fields(kind) if one.name in body}
    if not all(isinstance(value, _SHAPES.get(name, object)) for name, value in told.items()):
        return None
    try:
        return kind(**told)
    except TypeError:
        return None
