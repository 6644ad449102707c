"""What the commands share: how arguments are read, and how a loop is made ready."""

from __future__ import annotations

import argparse
import logging
import re
import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from echomq_app.conf import echomq_settings
from echomq_app.connections import address, introduce, queue_named, server_bus
from echomq_app.log import LineReport
from echomq_app.protocol.errors import EchoMQError, InvalidQueueName
from echomq_app.runtime.events import Report
from echomq_app.service.queue import Queue

_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> timedelta:
    """``60``, ``60s``, ``500ms``, ``2m`` or ``1h``."""
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(
            _("a span is a number and ms, s, m or h, such as 60s; got %r") % text
        )
    span = timedelta(seconds=float(found[1]) * _UNITS[found[2] or "s"])
    if span < timedelta(milliseconds=1):
        raise argparse.ArgumentTypeError(_("a span is at least 1ms; got %r") % text)
    return span


def count(text: str) -> int:
    """A whole number from 1 to 1000."""
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(_("a whole number from 1 to 1000; got %r") % text)
    return int(text)


def queues_to_serve(names: Sequence[str] | None) -> list[Queue]:
    """The queues named, or all that the settings name."""
    wanted = list(dict.fromkeys(names or echomq_settings().queues))
    if not wanted:
        raise CommandError(_("No queue: name one with --queue, or QUEUES in TASKS or ECHOMQ."))
    try:
        return [queue_named(name) for name in wanted]
    except InvalidQueueName as error:
        raise CommandError(str(error)) from error


def started(queues: Sequence[Queue]) -> dict[str, object]:
    """Check the server, list the queues, and say where they live; ``CommandError`` when that fails."""
    try:
        server = server_bus().check_server()
    except EchoMQError as error:
        raise CommandError(f"{address()}: {error}") from error
    for queue in queues:
        introduce(queue.name)
    if server.may_evict:
        logging.getLogger("echomq").warning(
            "maxmemory-policy is %s: a full server would throw jobs away; set it to noeviction",
            server.maxmemory_policy,
        )
    return {"server": f"{server.engine}-{server.version}", "at": address()}


def report_for(name: str, verbosity: int) -> Report:
    """Lines on standard error, unless the project has configured the logger itself."""
    logger = logging.getLogger(f"echomq.{name}")
    if not logger.hasHandlers():
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        logger.addHandler(handler)
    level = {0: logging.ERROR, 1: logging.INFO}.get(verbosity, logging.DEBUG)
    logger.setLevel(level)
    return LineReport(logger)
