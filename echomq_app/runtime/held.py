"""A job in a worker's hands: its lease, and whether the lease is still ours."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from echomq_app.service.records import Lease


@dataclass(slots=True, eq=False)
class Held:
    """One running job. ``renewed_at`` is the worker's monotonic clock at the last renewal."""

    lease: Lease
    renewed_at: float
    started_at: float
    lost: threading.Event = field(default_factory=threading.Event)
    """Set when another worker may hold the job: its settle would be refused."""
