"""Where the server's files and its socket live, and that nobody else can reach them."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path

from .errors import EmbeddedFolderRefused
from .record import RECORD_NAME

SOCKET_NAME = "server.sock"
LOG_NAME = "server.log"
PID_NAME = "server.pid"

# sockaddr_un holds 107 bytes on Linux and 103 on macOS.
_LONGEST_SOCKET_PATH = 99
_LOG_KEPT_BYTES = 1_000_000


def prepare_folder(folder: Path) -> None:
    """Make the state folder, readable by its owner alone.

    An open folder that holds something else keeps its mode and is refused: it may be the
    project's own. Raises ``EmbeddedFolderRefused``.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if stat.S_IMODE(folder.stat().st_mode) != 0o700:
            ours = (folder / RECORD_NAME).exists() or not any(folder.iterdir())
            if not ours:
                raise EmbeddedFolderRefused(
                    folder, "others may enter it and it holds files of something else"
                )
            folder.chmod(0o700)
    except OSError as error:
        raise EmbeddedFolderRefused(folder, error.strerror or str(error)) from error


def socket_for(folder: Path, recorded: Path | None) -> Path:
    """Where the folder's server listens, or would; makes nothing.

    In the state folder where the path is short enough; otherwise in a short folder below
    ``XDG_RUNTIME_DIR`` or the temporary folder. There the one that was used before is kept, so
    that processes with another environment agree and URLs given out earlier stay good.
    """
    inside = folder / SOCKET_NAME
    if len(os.fsencode(inside)) <= _LONGEST_SOCKET_PATH:
        return inside
    name = _short_name(folder)
    if recorded is not None and recorded.parent.name == name and recorded.parent.parent.is_dir():
        return recorded
    return _runtime_root() / name / SOCKET_NAME


def prepare_socket(folder: Path, socket: Path) -> None:
    """Make the short folder of a socket that is not in the state folder.

    Raises ``EmbeddedFolderRefused``.
    """
    if socket.parent == folder:
        return
    if len(os.fsencode(socket)) > _LONGEST_SOCKET_PATH:
        raise EmbeddedFolderRefused(socket.parent, "the path is too long for a Unix socket")
    try:
        socket.parent.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise EmbeddedFolderRefused(socket.parent, error.strerror or str(error)) from error
    refuse_shared(socket.parent)


def refuse_shared_socket(folder: Path, socket: Path) -> None:
    """Check the folder of a socket that is not in the state folder, before it is trusted.

    Raises ``EmbeddedFolderRefused``.
    """
    if socket.parent != folder:
        refuse_shared(socket.parent)


def refuse_shared(folder: Path) -> None:
    """Raise ``EmbeddedFolderRefused`` unless ``folder`` is ours and closed to others.

    A folder that does not exist passes: nothing listens there.
    """
    try:
        facts = folder.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(facts.st_mode):
        raise EmbeddedFolderRefused(folder, "it is not a folder")
    if facts.st_uid != os.geteuid():
        raise EmbeddedFolderRefused(folder, f"it belongs to user {facts.st_uid}")
    if stat.S_IMODE(facts.st_mode) & 0o077:
        raise EmbeddedFolderRefused(
            folder, f"others may enter it (mode {stat.S_IMODE(facts.st_mode):o})"
        )


def rotate_log(folder: Path) -> None:
    """Move a log over a megabyte to ``server.log.1``; only while no server writes it."""
    path = folder / LOG_NAME
    if path.exists() and path.stat().st_size > _LOG_KEPT_BYTES:
        path.replace(path.with_suffix(".log.1"))


def open_log(folder: Path) -> int:
    """A descriptor that appends to the server's log."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    return os.open(folder / LOG_NAME, flags, 0o600)


def read_tail(path: Path, start: int, lines: int = 20) -> str:
    """The last lines that were written to a log after byte ``start``."""
    with path.open("rb") as file:
        file.seek(start)
        text = file.read().decode(errors="replace")
    return "\n".join(text.strip().splitlines()[-lines:])


def read_pid(folder: Path) -> int | None:
    """The process id that the server last wrote down; it proves nothing about who lives."""
    try:
        return int((folder / PID_NAME).read_text())
    except (OSError, ValueError):
        return None


def _short_name(folder: Path) -> str:
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()
    return f"echomq-{os.geteuid()}-{digest[:16]}"


def _runtime_root() -> Path:
    named = os.environ.get("XDG_RUNTIME_DIR", "")
    if named and Path(named).is_dir() and os.access(named, os.W_OK):
        return Path(named)
    return Path(tempfile.gettempdir())
