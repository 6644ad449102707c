"""File locks that the operating system gives back when the last process that holds them ends."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from .errors import EmbeddedFolderRefused, EmbeddedUnsupported

START_LOCK = "start.lock"
SERVER_LOCK = "server.lock"


def try_lock(path: Path) -> int | None:
    """Lock ``path`` and return the descriptor that holds the lock, or None where it is taken.

    A process that inherits the descriptor holds the lock too, until the last copy is closed.
    Raises ``EmbeddedFolderRefused`` and, where there are no file locks, ``EmbeddedUnsupported``.
    """
    try:
        import fcntl
    except ImportError as error:
        raise EmbeddedUnsupported(sys.platform) from error
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise EmbeddedFolderRefused(path.parent, error.strerror or str(error)) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as error:
        os.close(descriptor)
        raise EmbeddedFolderRefused(path.parent, f"no file locks there: {error}") from error
    return descriptor


def is_locked(path: Path) -> bool:
    """Whether a living process holds the lock."""
    if not path.exists():
        return False
    descriptor = try_lock(path)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False


@contextlib.contextmanager
def lock_if_free(path: Path) -> Iterator[bool]:
    """Hold the lock inside the block where it is free; say whether it is held."""
    descriptor = try_lock(path)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            _release(descriptor)


def _release(descriptor: int) -> None:
    # A child forked meanwhile has a copy of the descriptor: closing ours would not unlock.
    import fcntl

    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)
