"""The demo from first step to last: what starts, in which order, and what is watched."""

from __future__ import annotations

import urllib.error
import urllib.request

from echomq_app.runtime.embedded import EmbeddedServer
from echomq_app.runtime.embedded.place import LOG_NAME
from project.demo.part import Part, Say
from project.demo.supervisor import PartEnded, Supervisor

QUEUES = ("default", "webhooks", "mail")
DRAIN = "5s"
LOOK_SECONDS = 0.2
BEAT_SECONDS = 1.0
SITE_WITHIN_SECONDS = 30.0


def start_server(supervisor: Supervisor, server: EmbeddedServer) -> None:
    """Have the embedded server run; it ends with the demo unless it ran before."""
    if not server.status().running:
        supervisor.at_the_end(server.stop)
    server.ensure()


def start_site(supervisor: Supervisor, address: str) -> None:
    """Start the site and return when it answers at ``address`` (host:port).

    Raises ``PartEnded`` when it ends, or gives no answer for half a minute.
    """
    supervisor.start(Part(name="site", arguments=("runserver", "--noreload", address)))
    for _ in range(int(SITE_WITHIN_SECONDS / LOOK_SECONDS)):
        supervisor.wait(LOOK_SECONDS)
        if answers(f"http://{address}/"):
            return
    raise PartEnded(f"site gave no answer at {address} for {SITE_WITHIN_SECONDS:g} s.")


def answers(url: str) -> bool:
    """Whether somebody answers HTTP there, be it with an error."""
    try:
        with urllib.request.urlopen(url, timeout=SITE_WITHIN_SECONDS):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


def start_workers(supervisor: Supervisor) -> None:
    """Start two workers and a reaper; they end before the site, whose webhook they call."""
    queues = tuple(word for queue in QUEUES for word in ("--queue", queue))
    worker = ("emq_worker", *queues, "--drain", DRAIN)
    supervisor.start(
        Part(name="worker 1", arguments=worker),
        Part(name="worker 2", arguments=worker),
        Part(name="reaper", arguments=("emq_reaper", *queues)),
    )


def watch(supervisor: Supervisor, server: EmbeddedServer, say: Say) -> None:
    """Stay until something ends: raises ``StopRequested`` or ``PartEnded``.

    A server that dies takes nothing along: whoever needs it first starts it again.
    """
    log, serving = server.folder / LOG_NAME, server.status().pid
    while True:
        supervisor.wait(BEAT_SECONDS)
        status = server.status()
        if not (status.running or status.held):
            server.ensure()
            status = server.status()
        if status.pid not in (None, serving):
            say(
                "server",
                f"process {serving} died, process {status.pid} serves now; its log is {log}",
            )
            serving = status.pid
