"""What the commands share: how arguments are read, and how a loop is made ready."""

from __future__ import annotations

import argparse
import difflib
import logging
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Final

from django.core.management.base import CommandError
from django.utils.translation import gettext as _

from echomq_app.conf import echomq_settings
from echomq_app.connections import address, introduce, new_wire, server_bus
from echomq_app.log import LineReport
from echomq_app.protocol.errors import EchoMQError
from echomq_app.runtime.events import NOBODY, Event, Report, told_to
from echomq_app.runtime.order import InTurn, Order, Strict, Weighted
from echomq_app.runtime.recycling import memory_reader
from echomq_app.runtime.telemetry import telemetry
from echomq_app.service.queue import Queue

_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
_SIZE: Final = re.compile(r"(\d{1,12})([KMG])")
_SIZES: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
LONGEST_S: Final = 24 * 24 * 3600.0
"""Below the longest lease, 2**31 ms."""
PATIENCE: Final = timedelta(seconds=1)
"""A loop waits no longer for a server before it looks at its jobs and signals again."""
MOST_PORTS: Final = 65535
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> timedelta:
    """``60``, ``60s``, ``500ms``, ``2m`` or ``1h``."""
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(
            _("a span is a number and ms, s, m or h, such as 60s; got %r") % text
        )
    number = float(found[1]) * _UNITS[found[2] or "s"]
    if not 0.001 <= number <= LONGEST_S:
        raise argparse.ArgumentTypeError(_("a span is from 1ms to 24 days; got %r") % text)
    return timedelta(seconds=number)


def lease(text: str) -> timedelta:
    """A span of a second or more: a third of it must leave time for a renewal."""
    span = seconds(text)
    if span < timedelta(seconds=1):
        raise argparse.ArgumentTypeError(_("a lease is at least 1s; got %r") % text)
    return span


def count(text: str) -> int:
    """A whole number from 1 to 1000."""
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(_("a whole number from 1 to 1000; got %r") % text)
    return int(text)


def queue(text: str) -> str:
    """A queue's name; with a weight after the last ``=`` where there is one."""
    if "=" in text:
        try:
            count(text.rpartition("=")[2])
        except argparse.ArgumentTypeError:
            raise argparse.ArgumentTypeError(
                _(
                    "a weight is a whole number from 1 to 1000, such as mail=5; got %r "
                    "(a name that holds = takes a weight too)"
                )
                % text
            ) from None
    return text


def weights(texts: Sequence[str]) -> dict[str, int]:
    """The weight of each queue that ``queue`` has read, by its name; 1 where none was given."""
    parts = [text.rpartition("=") for text in texts]
    return {name if sign else text: int(text) if sign else 1 for name, sign, text in parts}


def order(texts: Sequence[str] | None, names: Sequence[str], choice: str) -> Order:
    """How the queues share a worker: by their weights when any was given, else as chosen."""
    given = weights(texts or ())
    if choice == "strict":
        if any(weight != 1 for weight in given.values()):
            raise CommandError(
                _("--order strict leaves no use for weights; got --queue %s")
                % " --queue ".join(texts or ())
            )
        return Strict(names)
    return Weighted(given) if any("=" in text for text in texts or ()) else InTurn()


def jobs(text: str) -> int:
    """A whole number above zero."""
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(_("a whole number above zero; got %r") % text)
    return int(text)


def memory(text: str) -> int:
    """``512M`` or ``2G``, in bytes; K, M and G are powers of 1024."""
    found = _SIZE.fullmatch(text.strip().upper())
    if found is None or int(found[1]) * _SIZES[found[2]] < _SIZES["M"]:
        raise argparse.ArgumentTypeError(
            _("a size is a whole number and K, M or G, at least 1M; got %r") % text
        )
    if memory_reader() is None:
        raise argparse.ArgumentTypeError(_("this system does not tell how big a process is"))
    return int(found[1]) * _SIZES[found[2]]


def watch(text: str) -> timedelta | None:
    """A span of 5s or more, or ``off``."""
    if text == "off":
        return None
    span = seconds(text)
    if span < timedelta(seconds=5):
        raise argparse.ArgumentTypeError(_("off, or a span of at least 5s; got %r") % text)
    return span


def listening(text: str) -> tuple[str, int]:
    """``8081``, ``0.0.0.0:8081`` or ``[::]:8081``; without a host this machine alone."""
    host, _colon, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > MOST_PORTS:
        raise argparse.ArgumentTypeError(
            _("a port from 0 to 65535, or host:port such as 0.0.0.0:8081; got %r") % text
        )
    return host.strip("[]") or "127.0.0.1", int(port)


def queues_to_serve(names: Sequence[str] | None) -> list[Queue]:
    """The queues named, or all that the settings name, on a wire of the loop's own."""
    wanted = list(dict.fromkeys(names or echomq_settings().queues))
    if not wanted:
        raise CommandError(_("No queue: name one with --queue, or QUEUES in TASKS or ECHOMQ."))
    try:
        ours = new_wire()
        ours.bus.patience_s = min(ours.bus.patience_s, PATIENCE.total_seconds())
        return [Queue(ours, name) for name in wanted]
    except EchoMQError as error:
        raise CommandError(str(error)) from error


def started(queues: Sequence[Queue], report: Report) -> dict[str, object]:
    """Check the server, list the queues, and say where they live; ``CommandError`` when that fails."""
    try:
        server = server_bus().check_server()
    except EchoMQError as error:
        raise CommandError(f"{address()}: {error}") from error
    for queue in queues:
        _tell_stranger(queue.name, report)
        introduce(queue.name)
    if server.may_evict:
        report(Event.MAY_EVICT, policy=server.maxmemory_policy, want="noeviction")
    return {"server": f"{server.engine}-{server.version}", "at": address()}


def _tell_stranger(name: str, report: Report) -> None:
    """A queue that no setting names may be another program's, or a slip of the keyboard."""
    known = echomq_settings().queues
    if known and name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        report(Event.QUEUE_UNNAMED, queue=name, **({"near": near[0]} if near else {}))


@contextmanager
def last_words() -> Iterator[None]:
    """Turn what ends a loop into the command's last sentence: its server became another one, say."""
    try:
        yield
    except EchoMQError as error:
        raise CommandError(f"{address()}: {error}") from error


def report_for(name: str, verbosity: int, also: Mapping[Event, Report] = NOBODY) -> Report:
    """Lines on standard error, unless the project's LOGGING says where they go and which.

    Listeners that are attached by now hear the events too; ``also``: who is told of some.
    """
    logger = logging.getLogger(f"echomq.{name}")
    configured = logger.hasHandlers()
    if not configured:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        logger.addHandler(handler)
    if not configured or verbosity != 1:
        logger.setLevel({0: logging.ERROR, 1: logging.INFO}.get(verbosity, logging.DEBUG))
    lines = LineReport(logger, also=also)
    return told_to(lines, telemetry) if telemetry else lines
