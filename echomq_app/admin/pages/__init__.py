"""The pages: a view each, which read and change nothing."""

from __future__ import annotations

from echomq_app.admin.pages.job import find_job, show_job
from echomq_app.admin.pages.queues import open_logged_queue, show_queues
from echomq_app.admin.pages.set import show_set

__all__ = ["find_job", "open_logged_queue", "show_job", "show_queues", "show_set"]
