"""The JSON that a worker leaves of failures and outcomes, and how it is read back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from traceback import format_exception
from typing import Any

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
        return json.dumps(asdict(self), ensure_ascii=False).encode("utf-8", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
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
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":")).encode()


def failure(held: Held, error: BaseException, at_ms: int) -> ErrorReport:
    """The report of a failed attempt, its texts capped."""
    kind = type(error)
    return ErrorReport(
        at=at_ms,
        attempt=held.lease.attempt,
        token=held.lease.token,
        worker=held.lease.label,
        exception=f"{kind.__module__}.{kind.__qualname__}",
        error=capped_error(f"{kind.__qualname__}: {error}"),
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


def _read(kind: Any, raw: bytes) -> Any:
    try:
        body = json.loads(raw)
        return kind(**{name: body[name] for name in kind.__dataclass_fields__ if name in body})
    except (ValueError, TypeError, AttributeError):
        return None
