"""File locks that the operating system gives back when the last process that holds them ends."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
from collections.abc import Iterator
from pathlib import Path

from .errors import EmbeddedFolderRefused, EmbeddedUnsupported

START_LOCK = "start.lock"
SERVER_LOCK = "server.lock"


def require_locks() -> None:
    """Raise ``EmbeddedUnsupported`` where the platform has no file locks."""
    if importlib.util.find_spec("fcntl") is None:
        raise EmbeddedUnsupported(sys.platform)


def try_lock(path: Path) -> io.FileIO | None:
    """Lock ``path`` and return the open file that holds the lock, or None where it is taken.

    A process that inherits its descriptor holds the lock too, until the last copy is closed.
    Raises ``EmbeddedFolderRefused`` and, where there are no file locks, ``EmbeddedUnsupported``.
    """
    require_locks()
    import fcntl

    try:
        file = io.FileIO(path, "a")
    except OSError as error:
        raise EmbeddedFolderRefused(path.parent, error.strerror or str(error)) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    except OSError as error:
        file.close()
        raise EmbeddedFolderRefused(path.parent, f"no file locks there: {error}") from error
    return file


def is_locked(path: Path) -> bool:
    """Whether a living process holds the lock."""
    require_locks()
    if not path.exists():
        return False
    file = try_lock(path)
    if file is None:
        return True
    file.close()
    return False


@contextlib.contextmanager
def lock_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock inside the block where it is free; say whether it is held."""
    file = try_lock(path)
    try:
        yield file is not None
    finally:
        if file is not None:
            _release(file)


def _release(file: io.FileIO) -> None:
    # A child forked meanwhile has a copy of the descriptor: closing ours would not unlock.
    import fcntl

    fcntl.flock(file, fcntl.LOCK_UN)
    file.close()
