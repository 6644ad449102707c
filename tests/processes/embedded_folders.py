"""State folders for embedded servers, and an end for every server that a test started there."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import redis

from echomq_app.runtime.embedded.lock import SERVER_LOCK, is_locked
from echomq_app.runtime.embedded.place import read_pid
from tests.eventually import eventually
from tests.servers.process import private_folder


@contextmanager
def state_folder(*below: str) -> Iterator[Path]:
    """A folder that does not exist yet; its server is killed and all is removed at the end."""
    root = private_folder()
    folder = root.joinpath(*below, "state")
    try:
        yield folder
        end_server(folder)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def end_server(folder: Path) -> None:
    """Kill the server that holds ``folder``, if one does, and wait until it is gone."""
    lock = folder / SERVER_LOCK
    if is_locked(lock):
        pid = read_pid(folder)
        assert pid is not None
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    eventually(lambda: not is_locked(lock), message="the embedded server's end")


def client(url: str) -> redis.Redis:
    """A client for one test."""
    return redis.Redis.from_url(url, decode_responses=True)
