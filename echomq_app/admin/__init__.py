"""The operator's pages: queues, their sets, jobs; and what may be done to them."""

from __future__ import annotations

from echomq_app.admin.queue_admin import QueueAdmin

__all__ = ["QueueAdmin"]
