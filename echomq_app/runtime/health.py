"""Tells supervisors of the system whether a process lives and is ready: by a file, or over HTTP."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socket import AF_INET, AF_INET6
from socketserver import ThreadingTCPServer
from threading import Thread
from typing import Any, Final

from echomq_app.runtime.events import Event, Report
from echomq_app.runtime.records import state_of
from echomq_app.runtime.supervisor import Supervisor
from echomq_app.runtime.worker import Worker

WRITTEN_EVERY_S: Final = 5.0
SLOWEST_PROBE_S: Final = 5.0
RECENT_S: Final = 30.0
"""A loop comes round every second or so; a poll longer ago is not recent."""

LONGEST_TURN_S: Final = 60.0
"""A supervisor that settles for a dead process waits for a server within its bounds."""

Facts = dict[str, Any]
"""``live``: it need not be restarted; ``ready``: it does what it is there for. And why."""


def worker_facts(worker: Worker, stuck: str) -> Facts:
    """A worker by its pulse. ``stuck``: what its watchdog has found, or nothing."""
    now, pulse = worker.now(), worker.pulse
    state = state_of(worker.stopping, worker.quiet)
    polled = ago(pulse.polled_at, now)
    recent = polled is not None and polled <= RECENT_S
    return {
        "live": not stuck,
        "ready": not stuck and state == "serving" and not worker.away and recent,
        "state": "stuck" if stuck else state,
        "why": stuck,
        "server_away": worker.away,
        "polled_s": polled,
        "settled_s": ago(pulse.settled_at, now),
        "turned_s": ago(pulse.turned_at, now),
        "leases": worker.leases.count,
        "running": worker.running,
        "slots": worker.options.concurrency,
        "name": worker.name,
    }


def supervisor_facts(supervisor: Supervisor) -> Facts:
    """A supervisor by its loop, and its processes by the memory that they share with it."""
    now, serving = supervisor.now(), 0
    for child in supervisor.children:
        # The supervisor lets go of the memory of a process that ends meanwhile.
        with suppress(ValueError):
            serving += child.ledger.is_ready and now - child.ledger.beaten_at <= RECENT_S
    turned = ago(supervisor.turned_at, now)
    live = turned is None or turned <= LONGEST_TURN_S
    return {
        "live": live,
        "ready": live and serving > 0 and not supervisor.stopping,
        "state": state_of(supervisor.stopping),
        "why": "" if live else "its loop does not come round",
        "turned_s": turned,
        "processes": supervisor.options.processes,
        "serving": serving,
    }


def ago(at: float, now: float) -> float | None:
    """Seconds since an instant of the loop's clock; ``None`` when it has not come yet."""
    return round(now - at, 1) if at else None


class HealthFile:
    """Facts in a file that is always whole: written every five seconds, and at once when they turn."""

    def __init__(self, path: Path, facts: Callable[[], Facts], report: Report) -> None:
        """Writes it, or raises ``OSError``."""
        self._path = path
        self._facts = facts
        self._report = report
        self._due_at = 0.0
        self._turn: tuple[Any, ...] = ()
        self._told = False
        self._write(facts())

    def look(self) -> None:
        """Write if it is time. That it cannot is told once."""
        facts = self._facts()
        turn = (facts["live"], facts["ready"], facts["state"])
        if turn == self._turn and time.monotonic() < self._due_at:
            return
        try:
            self._write(facts)
        except OSError as error:
            if not self._told:
                self._told = True
                self._report(Event.HEALTH_UNTOLD, path=str(self._path), error=str(error))
            return
        self._told, self._turn = False, turn
        self._due_at = time.monotonic() + WRITTEN_EVERY_S

    def _write(self, facts: Facts) -> None:
        beside = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            beside.write_text(told(facts))
            os.replace(beside, self._path)
        except OSError:
            with suppress(OSError):
                beside.unlink()
            raise

    def remove(self) -> None:
        """The process ends as it should."""
        with suppress(OSError):
            self._path.unlink()


def told(facts: Facts) -> str:
    """The facts as a line of JSON, with the time of the telling."""
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"at": at, **facts}) + "\n"


class HealthPort:
    """``GET /live`` and ``GET /ready``: 200 or 503, and the facts."""

    def __init__(self, host: str, port: int, facts: Callable[[], Facts]) -> None:
        """Listens at once; raises ``OSError`` when it cannot. Port 0 takes any that is free."""
        handler = type("Handler", (_Handler,), {"facts": staticmethod(facts)})
        family = AF_INET6 if ":" in host else AF_INET
        self._server = type("Server", (_Server,), {"address_family": family})((host, port), handler)
        Thread(target=self._server.serve_forever, name="emq-health", daemon=True).start()

    @property
    def address(self) -> str:
        """Where it listens."""
        host, port = self._server.server_address[:2]
        name = host.decode() if isinstance(host, bytes) else str(host)
        return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A probe that left before its answer is not worth a line."""


class _Handler(BaseHTTPRequestHandler):
    facts: Callable[[], Facts]
    timeout = SLOWEST_PROBE_S
    server_version = "echomq"
    sys_version = ""

    def do_GET(self) -> None:
        facts = self.facts()
        asked = self.path.partition("?")[0].strip("/")
        if asked not in ("live", "ready"):
            return self._answer(404, '{"error": "there are /live and /ready"}\n')
        return self._answer(200 if facts[asked] else 503, told(facts))

    do_HEAD = do_GET

    def _answer(self, code: int, body: str) -> None:
        raw = body.encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:
        """Probes are not worth a line."""
