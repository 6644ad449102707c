"""Tasks in a module that nothing has imported yet."""

from __future__ import annotations

from echomq_app.compat import task


@task()
def rare(word: str) -> str:
    return word.upper()
