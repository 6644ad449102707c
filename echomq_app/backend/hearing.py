"""Whether anybody hears a task signal: a result that nobody looks at is not built."""

from __future__ import annotations

import logging
from functools import cache
from typing import Final
from weakref import ref

from django.conf import settings
from django.dispatch import Signal
from django.utils.log import RequireDebugFalse, RequireDebugTrue

from echomq_app.compat import HAS_BUILTIN_TASKS

_OWN: Final = "django.tasks" if HAS_BUILTIN_TASKS else "django_tasks"
_log: Final = logging.getLogger(_OWN)


def listened(signal: Signal, level: int = logging.INFO) -> bool:
    """Whether a task signal tells anybody: a receiver of the project, or Django's log at ``level``."""
    return len(signal.receivers) > _own_receivers(signal) or is_written(level)


@cache
def _own_receivers(signal: Signal) -> int:
    """How many receivers are those that write Django's own log."""
    found = (one[1] for one in signal.receivers)
    heard = (one() if isinstance(one, ref) else one for one in found)
    return sum(getattr(one, "__module__", "").startswith(_OWN) for one in heard)


def is_written(level: int) -> bool:
    """Whether a handler takes a line of Django's log of tasks at ``level``.

    A level alone does not tell: as Django sets logging up, nothing takes a line of the level INFO
    unless ``DEBUG`` is on, and yet every line is made.
    """
    if not _log.isEnabledFor(level):
        return False
    if _log.filters or _is_tapped():
        return True
    logger: logging.Logger | None = _log
    found = False
    while logger is not None:
        for one in logger.handlers:
            found = True
            if level >= one.level and (not one.filters or _lets_through(one)):
                return True
        logger = logger.parent if logger.propagate else None
    return not found and logging.lastResort is not None and level >= logging.lastResort.level


def _lets_through(handler: logging.Handler) -> bool:
    """Whether the handler's filters may take a line; only Django's two are known before there is one."""
    for one in handler.filters:
        if type(one) is RequireDebugTrue and not settings.DEBUG:
            return False
        if type(one) is RequireDebugFalse and settings.DEBUG:
            return False
    return True


def _is_tapped() -> bool:
    """Whether somebody reads lines before their handlers do, as monitoring agents do."""
    return logging.Logger.callHandlers.__code__.co_filename != _LOGGING


_LOGGING: Final = logging.Logger.addHandler.__code__.co_filename
