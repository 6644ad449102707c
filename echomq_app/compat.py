"""Which Django this is: ``django.tasks`` from 6.0 on, the ``django-tasks`` backport before."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import django
from django.core.exceptions import ImproperlyConfigured

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
    "normalize_json",
    "task",
    "task_backends",
    "task_enqueued",
    "task_finished",
    "task_started",
]
