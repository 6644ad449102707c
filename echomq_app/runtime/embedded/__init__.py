"""A private Valkey server that every process of a project shares over a Unix socket."""

from __future__ import annotations

from .binary import Engine, find_binary, read_engine
from .errors import (
    EmbeddedBinaryMissing,
    EmbeddedError,
    EmbeddedFolderRefused,
    EmbeddedMismatch,
    EmbeddedNotAnswering,
    EmbeddedRecordBroken,
    EmbeddedStartFailed,
    EmbeddedStopFailed,
    EmbeddedUnsupported,
)
from .options import DEFAULT_OPTIONS
from .server import EmbeddedServer
from .status import EmbeddedStatus

__all__ = [
    "DEFAULT_OPTIONS",
    "EmbeddedBinaryMissing",
    "EmbeddedError",
    "EmbeddedFolderRefused",
    "EmbeddedMismatch",
    "EmbeddedNotAnswering",
    "EmbeddedRecordBroken",
    "EmbeddedServer",
    "EmbeddedStartFailed",
    "EmbeddedStatus",
    "EmbeddedStopFailed",
    "EmbeddedUnsupported",
    "Engine",
    "find_binary",
    "read_engine",
]
