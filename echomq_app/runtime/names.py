"""What a process of ours is called."""

from __future__ import annotations

import os
import secrets
import socket


def process_name() -> str:
    """Host, process and start: the stem of a worker's labels, and its name among the workers."""
    return f"{socket.gethostname()[:40]}:{os.getpid()}:{secrets.token_hex(3)}"
