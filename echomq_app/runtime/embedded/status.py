"""One look at an embedded server, as a record."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path

import redis

from .errors import EmbeddedRecordBroken
from .lock import SERVER_LOCK, is_locked
from .place import read_pid, refuse_shared_socket, socket_for
from .probe import Answer, ping, read_info, running_engine
from .record import read_record


@dataclass(frozen=True, kw_only=True)
class EmbeddedStatus:
    """What was seen at one moment; what nobody answered is None.

    ``running``: the server answered. ``held``: a living process holds the folder, whether it
    answers or not. ``used_memory`` is in bytes. ``persistence_ok``: the last write to the
    append-only file succeeded. ``problem`` is a sentence, empty when there is none.
    """

    running: bool
    held: bool
    url: str
    folder: Path
    pid: int | None = None
    engine: str | None = None
    version: str | None = None
    uptime: timedelta | None = None
    used_memory: int | None = None
    persistence_ok: bool | None = None
    problem: str = ""

    def as_json(self) -> dict[str, object]:
        """The same facts in JSON's types; ``uptime`` becomes ``uptime_seconds``."""
        fields: dict[str, object] = asdict(self) | {"folder": str(self.folder)}
        del fields["uptime"]
        fields["uptime_seconds"] = None if self.uptime is None else self.uptime.total_seconds()
        return fields


def socket_url(socket: Path) -> str:
    """The URL of a socket, as ``redis.from_url`` reads it back."""
    return socket.as_uri().replace("file://", "unix://", 1)


def find_socket(folder: Path) -> tuple[Path, str]:
    """Where the folder's server listens or would, and what is wrong with the record.

    Raises ``EmbeddedFolderRefused`` when others could have put that socket there.
    """
    recorded, problem = None, ""
    try:
        record = read_record(folder)
        recorded = None if record is None else record.socket
    except EmbeddedRecordBroken as error:
        problem = str(error)
    socket = socket_for(folder, recorded)
    refuse_shared_socket(folder, socket)
    return socket, problem


def read_status(folder: Path) -> EmbeddedStatus:
    """Look at the folder's server; starts and changes nothing.

    Raises ``EmbeddedFolderRefused`` when others could have put the socket there.
    """
    socket, problem = find_socket(folder)
    held = is_locked(folder / SERVER_LOCK)
    absent = EmbeddedStatus(
        running=False, held=held, url=socket_url(socket), folder=folder, problem=problem
    )
    answer = ping(socket)
    try:
        info = read_info(socket) if answer in {Answer.READY, Answer.LOADING} else None
    except redis.exceptions.RedisError:
        info = None
    if info is None:
        return _without_answer(absent)
    engine = running_engine(info)
    persistence_ok = info["aof_last_write_status"] == "ok"
    if not persistence_ok:
        problem = problem or "the last write to the append-only file failed: is the disk full?"
    elif info["loading"]:
        problem = problem or "it still loads the append-only file"
    return EmbeddedStatus(
        running=True,
        held=held,
        url=absent.url,
        folder=folder,
        pid=int(info["process_id"]),
        engine=engine.name,
        version=engine.version,
        uptime=timedelta(seconds=int(info["uptime_in_seconds"])),
        used_memory=int(info["used_memory"]),
        persistence_ok=persistence_ok,
        problem=problem,
    )


def _without_answer(absent: EmbeddedStatus) -> EmbeddedStatus:
    if not absent.held:
        return absent
    pid = read_pid(absent.folder)
    return EmbeddedStatus(
        running=False,
        held=True,
        url=absent.url,
        folder=absent.folder,
        pid=pid,
        problem=absent.problem or "a process holds the folder and does not answer",
    )
