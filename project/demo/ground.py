"""What must be free before the demo starts: the site's port and the state folder."""

from __future__ import annotations

import fcntl
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOST = "127.0.0.1"
HIGHEST_PORT = 65535
LOCK_NAME = "demo.lock"


class GroundTaken(Exception):
    """The demo cannot start here; the text says why and what to do."""


def free_port(text: str) -> int:
    """Return the port that ``text`` names, when nobody listens on it.

    Raises ``GroundTaken`` for a text that is no port, and for a port that is taken.
    """
    port = int(text) if text.isascii() and text.isdigit() else 0
    if not 0 < port <= HIGHEST_PORT:
        raise GroundTaken(f"PORT must be a number from 1 to {HIGHEST_PORT}, not {text!r}.")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            other = port + 1 if port < HIGHEST_PORT else port - 1
            raise GroundTaken(
                f"Port {port} on {HOST} is not free ({error.strerror}). "
                f"Choose another: PORT={other} make demo"
            ) from None
    return port


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep the state folder for this process; raises ``GroundTaken`` when another demo has it."""
    with open(folder / LOCK_NAME, "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise GroundTaken(
                f"Another demo runs on {folder}. End it, "
                "or choose another folder: EMQ_DEMO_STATE=<folder> make demo"
            ) from None
        yield
