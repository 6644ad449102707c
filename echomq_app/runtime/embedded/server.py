"""Start, join, stop and look at the server that a project's processes share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import redis

from .binary import Engine, check_binary, find_binary, read_engine
from .errors import (
    EmbeddedFolderRefused,
    EmbeddedNotAnswering,
    EmbeddedStartFailed,
    EmbeddedStopFailed,
)
from .launch import launch
from .lock import SERVER_LOCK, START_LOCK, is_locked, lock_if_free, require_locks, try_lock
from .options import DEFAULT_OPTIONS, merge_options
from .patience import Patience
from .place import (
    LOG_NAME,
    prepare_folder,
    prepare_socket,
    refuse_shared_socket,
    rotate_log,
    socket_for,
)
from .probe import Answer, ping, read_engine_of, read_run_id, shut_down
from .record import (
    Record,
    read_record,
    refuse_other_engine,
    refuse_other_options,
    restore_record,
    write_record,
)
from .status import EmbeddedStatus, find_socket, read_status, socket_url


class EmbeddedServer:
    """A Redis-compatible server that lives in a folder and serves every process that names it.

    It outlives the process that started it, until ``stop()``. ``options`` are laid over
    ``DEFAULT_OPTIONS``. ``patience`` bounds how long ``ensure()`` and ``stop()`` wait for a
    server that says nothing; one that loads its data gets twenty times that.
    """

    def __init__(
        self,
        folder: Path,
        binary: Path | None = None,
        options: Mapping[str, str] = DEFAULT_OPTIONS,
        *,
        patience: timedelta = timedelta(seconds=15),
    ) -> None:
        self.folder = folder.expanduser().resolve()
        self._named_binary = binary
        self._options = merge_options(options)
        self._patience_s = patience.total_seconds()

    @property
    def url(self) -> str:
        """Where the server listens, or will once it is started."""
        return socket_url(find_socket(self.folder)[0])

    @property
    def log_path(self) -> Path:
        """The server's log; it need not exist yet."""
        return self.folder / LOG_NAME

    def status(self) -> EmbeddedStatus:
        """What can be seen now; starts and changes nothing."""
        return read_status(self.folder)

    def ensure(self) -> str:
        """Start the server unless it runs; return its ``unix://`` URL.

        Safe to call from any number of processes at once: one starts it, the others wait.
        Raises a subclass of ``EmbeddedError``.
        """
        require_locks()
        prepare_folder(self.folder)
        binary = find_binary() if self._named_binary is None else check_binary(self._named_binary)
        engine = read_engine(binary)
        patience = self._patience()
        while True:
            answer, record = self._look(engine)
            if record is not None and answer is Answer.READY:
                return self.url
            if answer is Answer.ABSENT:
                with lock_if_free(self.folder / START_LOCK) as held:
                    if held and self._start(binary, engine):
                        continue
            patience.wait(answer)

    def stop(self) -> bool:
        """End the server once everything it holds is synced to disk; False when none ran.

        Another process may start the next one at once: that one is left alone. Raises
        ``EmbeddedStopFailed`` when it refuses, or is still there after ``patience``.
        """
        socket, _ = find_socket(self.folder)
        if not self._is_held() and ping(socket) is Answer.ABSENT:
            return False
        patience = self._patience()
        try:
            while (answer := ping(socket)) is Answer.ABSENT and self._is_held():
                patience.wait(answer)
            told = read_run_id(socket)
            shut_down(socket)
            while not self._has_gone(socket, told):
                patience.wait(Answer.SILENT)
        except redis.exceptions.ResponseError as error:
            raise EmbeddedStopFailed(self.folder, f"it refused: {error}", self.log_path) from error
        except EmbeddedNotAnswering as error:
            raise EmbeddedStopFailed(
                self.folder, f"process {error.pid} lives on", self.log_path
            ) from error
        return True

    def _patience(self) -> Patience:
        return Patience(self.folder, self._patience_s)

    def _is_held(self) -> bool:
        return is_locked(self.folder / SERVER_LOCK)

    def _has_gone(self, socket: Path, run_id: str | None) -> bool:
        if not self._is_held() and ping(socket) is Answer.ABSENT:
            return True
        return run_id is not None and read_run_id(socket) not in {run_id, None}

    def _look(self, engine: Engine) -> tuple[Answer, Record | None]:
        """What answers at the recorded socket; raises ``EmbeddedMismatch`` for another one."""
        record = read_record(self.folder)
        if record is None:
            return Answer.ABSENT, None
        refuse_other_engine(self.folder, record.engine, engine)
        refuse_other_options(self.folder, record.options, self._options)
        socket = socket_for(self.folder, record.socket)
        refuse_shared_socket(self.folder, socket)
        answer = ping(socket)
        if answer is Answer.READY:
            running = read_engine_of(socket)
            if running is None:
                return Answer.SILENT, record
            refuse_other_engine(self.folder, running, engine)
        return answer, record

    def _start(self, binary: Path, engine: Engine) -> bool:
        """Start under the start lock; False when a server holds the folder after all.

        A start that fails leaves the record as it was.
        """
        lock = try_lock(self.folder / SERVER_LOCK)
        if lock is None:
            return False
        before = None
        try:
            answer, before = self._look(engine)
            if answer is not Answer.ABSENT:
                return False
            socket = socket_for(self.folder, None if before is None else before.socket)
            prepare_socket(self.folder, socket)
            rotate_log(self.folder)
            record = Record(engine=engine, options=self._options, socket=socket)
            write_record(self.folder, record)
            launch(binary, self.folder, record, lock, self._patience())
        except EmbeddedStartFailed:
            restore_record(self.folder, before)
            raise
        except OSError as error:
            raise EmbeddedFolderRefused(self.folder, error.strerror or str(error)) from error
        finally:
            lock.close()
        return True
