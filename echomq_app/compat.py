"""Which Django this is: ``django.tasks`` from 6.0 on, the ``django-tasks`` backport before."""

from __future__ import annotations

import logging
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final
from weakref import ref

import django
from django.core.exceptions import ImproperlyConfigured
from django.dispatch import Signal

HAS_BUILTIN_TASKS = django.VERSION >= (6, 0)

if not HAS_BUILTIN_TASKS and find_spec("django_tasks") is None:
    raise ImproperlyConfigured(
        f"Django {django.get_version()} has no tasks of its own and django-tasks is not installed: "
        'install "echomq-django[backport]".'
    )
if TYPE_CHECKING or not HAS_BUILTIN_TASKS:
    import django_tasks.checks  # noqa: F401  # importing registers the check of TASKS
    from django_tasks import (
        DEFAULT_TASK_BACKEND_ALIAS,
        DEFAULT_TASK_QUEUE_NAME,
        TaskContext,
        TaskResult,
        TaskResultStatus,
        default_task_backend,
        task,
        task_backends,
    )
    from django_tasks.backends.base import BaseTaskBackend
    from django_tasks.base import Task, TaskError
    from django_tasks.exceptions import InvalidTaskError as InvalidTask
    from django_tasks.exceptions import TaskResultDoesNotExist
    from django_tasks.signals import task_enqueued, task_finished, task_started
    from django_tasks.utils import normalize_json
else:
    from django.tasks import (
        DEFAULT_TASK_BACKEND_ALIAS,
        DEFAULT_TASK_QUEUE_NAME,
        Task,
        TaskContext,
        TaskResult,
        TaskResultStatus,
        default_task_backend,
        task,
        task_backends,
    )
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.base import TaskError
    from django.tasks.exceptions import InvalidTask, TaskResultDoesNotExist
    from django.tasks.signals import task_enqueued, task_finished, task_started
    from django.utils.json import normalize_json

_OWN: Final = "django.tasks" if HAS_BUILTIN_TASKS else "django_tasks"
_log: Final = logging.getLogger(_OWN)


def listened(signal: Signal, level: int = logging.INFO) -> bool:
    """Whether a task signal tells anybody: a receiver of the project, or Django's log at ``level``."""
    return len(signal.receivers) > _own_receivers(signal) or _log.isEnabledFor(level)


@cache
def _own_receivers(signal: Signal) -> int:
    """How many receivers are those that write Django's own log."""
    found = (one[1] for one in signal.receivers)
    heard = (one() if isinstance(one, ref) else one for one in found)
    return sum(getattr(one, "__module__", "").startswith(_OWN) for one in heard)


__all__ = [
    "DEFAULT_TASK_BACKEND_ALIAS",
    "DEFAULT_TASK_QUEUE_NAME",
    "HAS_BUILTIN_TASKS",
    "BaseTaskBackend",
    "InvalidTask",
    "Task",
    "TaskContext",
    "TaskError",
    "TaskResult",
    "TaskResultDoesNotExist",
    "TaskResultStatus",
    "default_task_backend",
    "listened",
    "normalize_json",
    "task",
    "task_backends",
    "task_enqueued",
    "task_finished",
    "task_started",
]
