"""From a dotted path in a payload to a task that this project has registered, and to nothing else."""

from __future__ import annotations

import sys
from dataclasses import fields
from functools import cache
from typing import Any

from django.apps import apps
from django.utils.module_loading import autodiscover_modules, import_string

from echomq_app.compat import Task
from echomq_app.protocol.errors import EchoMQError


class UnknownTask(EchoMQError):
    """The path names no task of this project: an old worker in a deploy, or a wrong producer."""


def discover() -> None:
    """Import the ``tasks`` module of every installed app."""
    autodiscover_modules("tasks")


@cache
def find_task(path: str) -> Task[..., Any]:
    """The task at ``path``; ``UnknownTask`` when nothing there is one.

    A payload imports no code of its choice: its module is loaded already, or it is part of an
    installed app.
    """
    module = path.rpartition(".")[0]
    if not module or not (module in sys.modules or _in_an_app(module)):
        raise UnknownTask(
            f"{path!r:.200} is not in an installed app: add the app to INSTALLED_APPS, or import the "
            "module when Django starts"
        )
    try:
        found = import_string(path)
    except ImportError as error:
        raise UnknownTask(f"the task {path!r:.200} cannot be imported: {error}") from error
    if not isinstance(found, Task):
        raise UnknownTask(
            f"{path!r:.200} is {type(found).__name__}, not a task: put @task above the function"
        )
    return found


def placed(task: Task[..., Any], **changes: Any) -> Task[..., Any]:
    """``task`` as it was enqueued, unchecked: a queue that left ``QUEUES`` may still hold jobs."""
    found: Task[..., Any] = object.__new__(type(task))
    for one in fields(task):
        value = changes.get(one.name, getattr(task, one.name))
        object.__setattr__(found, one.name, value)
    return found


def _in_an_app(module: str) -> bool:
    return any(f"{module}.".startswith(f"{one.name}.") for one in apps.get_app_configs())
