"""What a running server says about itself: liveness is an answer, never a process id."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from .binary import Engine

_ANSWER_WITHIN_S = 1.0


class Answer(enum.Enum):
    """What came back from the socket."""

    READY = "ready"
    LOADING = "loading"
    SILENT = "silent"
    ABSENT = "absent"


def ping(socket: Path) -> Answer:
    """Ask once, without retry, for at most a second a step."""
    with _connect(socket) as client:
        try:
            client.ping()
        except redis.exceptions.BusyLoadingError:
            return Answer.LOADING
        except redis.exceptions.TimeoutError:
            return Answer.SILENT
        except redis.exceptions.ConnectionError:
            return Answer.ABSENT
        except redis.exceptions.ResponseError:
            # MISCONF and BUSY come from a server that lives.
            return Answer.READY
    return Answer.READY


def read_info(socket: Path) -> dict[str, Any]:
    """INFO of all sections; raises ``redis.exceptions.RedisError``."""
    with _connect(socket) as client:
        info: dict[str, Any] = client.info()
    return info


def running_engine(info: dict[str, Any]) -> Engine:
    """The engine that an INFO answer comes from; Valkey also answers as an old Redis there."""
    if "valkey_version" in info:
        return Engine(name="valkey", version=str(info["valkey_version"]))
    return Engine(name="redis", version=str(info["redis_version"]))


def read_engine_of(socket: Path) -> Engine | None:
    """The engine of a running server, or None when it gave no answer."""
    try:
        return running_engine(read_info(socket))
    except redis.exceptions.RedisError:
        return None


def read_run_id(socket: Path) -> str | None:
    """What tells one run of a server from the next, or None when it gave no answer."""
    try:
        return str(read_info(socket)["run_id"])
    except redis.exceptions.RedisError:
        return None


def shut_down(socket: Path) -> None:
    """Tell the server to end after it has written and synced its append-only file.

    Returns when it was told, also when it says nothing to that. Raises
    ``redis.exceptions.ResponseError`` when it refuses.
    """
    with _connect(socket) as client, suppress(redis.exceptions.TimeoutError):
        client.shutdown(nosave=True)


@contextmanager
def _connect(socket: Path) -> Iterator[redis.Redis]:
    client = redis.Redis(
        unix_socket_path=str(socket),
        protocol=2,
        socket_timeout=_ANSWER_WITHIN_S,
        socket_connect_timeout=_ANSWER_WITHIN_S,
        retry=Retry(NoBackoff(), 0),
    )
    try:
        yield client
    finally:
        client.close()
