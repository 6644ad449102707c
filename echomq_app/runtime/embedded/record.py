"""The file in the state folder that says which engine, version and options wrote it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .binary import Engine
from .errors import EmbeddedMismatch, EmbeddedRecordBroken

RECORD_NAME = "embedded.json"


@dataclass(frozen=True, kw_only=True)
class Record:
    """What a folder was last started with. ``socket`` is where that server listens."""

    engine: Engine
    options: Mapping[str, str]
    socket: Path


def read_record(folder: Path) -> Record | None:
    """The folder's record, or None where nothing was started yet.

    Raises ``EmbeddedRecordBroken``.
    """
    path = folder / RECORD_NAME
    try:
        fields = json.loads(path.read_bytes())
        record = Record(
            engine=Engine(name=fields["engine"], version=fields["version"]),
            options=dict(fields["options"]),
            socket=Path(fields["socket"]),
        )
        if not record.engine.order or not record.socket.is_absolute():
            raise ValueError("no version, or a socket that is not an absolute path")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise EmbeddedRecordBroken(path, f"{type(error).__name__}: {error}") from error
    return record


def write_record(folder: Path, record: Record) -> None:
    """Replace the folder's record as a whole: a reader sees the old one or the new one."""
    fields = {
        "engine": record.engine.name,
        "version": record.engine.version,
        "options": dict(record.options),
        "socket": str(record.socket),
    }
    handle, name = tempfile.mkstemp(dir=folder, prefix=f".{RECORD_NAME}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(fields, file, indent=2, sort_keys=True)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(folder / RECORD_NAME)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def restore_record(folder: Path, record: Record | None) -> None:
    """Put back what was recorded before a start that failed."""
    if record is None:
        (folder / RECORD_NAME).unlink(missing_ok=True)
    else:
        write_record(folder, record)


def refuse_other_engine(folder: Path, recorded: Engine, asked: Engine) -> None:
    """Raise ``EmbeddedMismatch`` for another family, or for a version below the recorded one."""
    if recorded.name != asked.name:
        subject = "engine"
    elif asked.order < recorded.order:
        subject = "version"
    else:
        return
    raise EmbeddedMismatch(
        folder,
        subject=subject,
        recorded=str(recorded),
        asked=str(asked),
        remedy=(
            f"Use {recorded} or a newer {recorded.name}, or name another folder in "
            'ECHOMQ["EMBEDDED"]["FOLDER"]; the jobs in this one stay'
        ),
    )


def refuse_other_options(
    folder: Path, recorded: Mapping[str, str], asked: Mapping[str, str]
) -> None:
    """Raise ``EmbeddedMismatch`` unless both say the same."""
    if dict(recorded) == dict(asked):
        return
    names = sorted(name for name in {*recorded, *asked} if recorded.get(name) != asked.get(name))
    raise EmbeddedMismatch(
        folder,
        subject="set of options",
        recorded=_spell(recorded, names),
        asked=_spell(asked, names),
        remedy=(
            "Use the recorded options; or, to change them, stop the server "
            f"(manage.py emq_server stop) and delete {folder / RECORD_NAME}: the jobs stay"
        ),
    )


def _spell(options: Mapping[str, str], names: list[str]) -> str:
    return ", ".join(
        f"{name}={options[name]!r}" if name in options else f"{name} not set" for name in names
    )
