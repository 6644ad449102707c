"""System checks: each wrong setting has a number, a sentence and a hint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.exceptions import ImproperlyConfigured

from echomq_app.conf import Settings, read_settings
from echomq_app.connections import clients, shared
from echomq_app.protocol.errors import InvalidQueueName
from echomq_app.protocol.keyspace import valid_queue_name
from echomq_app.runtime.embedded import EmbeddedBinaryMissing, find_binary

KNOWN_OPTIONS = frozenset({"enqueue_on_commit"})


@register
def check_settings(**_: Any) -> list[CheckMessage]:
    """Everything about ``ECHOMQ`` that can be told without a connection."""
    found, problems = read_settings(getattr(settings, "ECHOMQ", None))
    messages: list[CheckMessage] = [
        Error(one.message, hint=one.hint, id=f"echomq.{one.number}") for one in problems
    ]
    if not problems:
        messages += _check_connection(found)
    return messages


def _check_connection(found: Settings) -> list[CheckMessage]:
    if found.connection is None and not settings.DEBUG:
        return [
            Error(
                'ECHOMQ["CONNECTION"] is missing and DEBUG is False.',
                hint="Name a django-redis alias or a URL; 'embedded' runs a server in the project.",
                id="echomq.E004",
            )
        ]
    if found.wants_embedded:
        return _check_embedded(found)
    connection = found.connection or ""
    try:
        if clients.is_url(connection):
            clients.check_url(connection)
        else:
            shared.alias_place(connection)
    except ImproperlyConfigured as error:
        return [Error(str(error), hint="See docs/reference/settings.md.", id="echomq.E005")]
    sharing = shared.caches_beside(connection)
    return [
        Error(
            f"The queues share server and database with the cache {alias!r}: its clear() would "
            "delete every job.",
            hint="Give the queues a database or a server of their own.",
            id="echomq.E006",
        )
        for alias in sharing
    ]


def _check_embedded(found: Settings) -> list[CheckMessage]:
    messages: list[CheckMessage] = []
    if not settings.DEBUG:
        messages.append(
            Warning(
                "The queues live in the embedded server and DEBUG is False.",
                hint="One machine, one disk: run a Redis or Valkey server for production.",
                id="echomq.W001",
            )
        )
    try:
        if found.embedded.binary is None:
            find_binary()
    except EmbeddedBinaryMissing as error:
        messages.append(Error(str(error), id="echomq.E008"))
    return messages


def check_backend(
    alias: str, queues: Iterable[str], options: Mapping[str, Any]
) -> list[CheckMessage]:
    """What ``TASKS`` says of one EchoMQ backend."""
    messages: list[CheckMessage] = []
    for name in queues:
        try:
            valid_queue_name(name)
        except InvalidQueueName as error:
            messages.append(Error(f'TASKS[{alias!r}]["QUEUES"]: {error}.', id="echomq.E007"))
    unknown = sorted(set(options) - KNOWN_OPTIONS)
    if unknown:
        messages.append(
            Error(
                f'TASKS[{alias!r}]["OPTIONS"] has unknown keys: {", ".join(unknown)}.',
                hint=f"Known keys: {', '.join(sorted(KNOWN_OPTIONS))}.",
                id="echomq.E009",
            )
        )
    if not isinstance(options.get("enqueue_on_commit", True), bool):
        messages.append(
            Error(
                f'TASKS[{alias!r}]["OPTIONS"]["enqueue_on_commit"] is True or False; got '
                f"{options['enqueue_on_commit']!r:.80}.",
                id="echomq.E009",
            )
        )
    return messages
