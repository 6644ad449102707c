"""A module outside every installed app, with a task all the same."""

from __future__ import annotations

from echomq_app.compat import task


@task()
def stray() -> str:
    return "run"
