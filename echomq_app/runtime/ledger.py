"""What a process of a worker holds and runs, in memory that its supervisor sees without asking.

A process that hangs, or has died, answers nobody: what it wrote here is still read. Nobody waits and
nobody is woken: a few stores for each claim and each run.
"""

from __future__ import annotations

import mmap
import os
import struct
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from echomq_app.protocol.ids import JobId
from echomq_app.runtime.held import Held
from echomq_app.runtime.outcomes import Outcome

LAYOUT: Final = b"emq-ledger-1\0\0\0\0"
"""Opens the memory; one of another release is not read."""
_PLACE: Final = struct.Struct("@14s2xddd")
"""A run: id, when it began, when it must have ended (0: no limit), and that limit in seconds."""
_DEADLINE: Final = struct.Struct("@dd")
_DEADLINE_AT: Final = 24
_NOBODY: Final = bytes(_PLACE.size)
_LEFT_AT: Final = len(LAYOUT)
_BEAT_AT: Final = 24
_BEAT: Final = struct.Struct("@d")
_HELD_AT: Final = 64
_HELD_SIZE: Final = 256 * 1024
_KEPT_AT: Final = _HELD_AT + _HELD_SIZE
_KEPT_SIZE: Final = 64 * 1024
_PLACES_AT: Final = _KEPT_AT + _KEPT_SIZE
HOLD_EVERY_S: Final = 1.0
_MOST_READS: Final = 100
_WORDS: Final = 4


class Entry(NamedTuple):
    """A lease that the process holds."""

    queue: str
    label: str
    job_id: JobId
    token: int


class Page(NamedTuple):
    """The leases at one moment. ``until``: the earliest end among them, on the monotonic clock.

    That clock is the system's: all processes read the same one.
    """

    version: int
    until: float
    entries: tuple[Entry, ...]


class Run(NamedTuple):
    """A job that has started. ``deadline`` and ``limit_s`` are 0 without a hard time limit."""

    job_id: str
    started_at: float
    deadline: float
    limit_s: float


NOTHING_HELD: Final = Page(0, 0.0, ())


class Record:
    """Bytes that one process writes and another reads whole, without a lock.

    The version is odd while they are written; the checksum catches stores that came out of order.
    """

    _VERSION = struct.Struct("@Q")
    _REST = struct.Struct("@II")

    def __init__(self, memory: mmap.mmap, at: int, size: int) -> None:
        self._memory = memory
        self._at = at
        self._body_at = at + 16
        self.room = size - 16
        self._written = 0

    @property
    def version(self) -> int:
        found: int = self._VERSION.unpack_from(self._memory, self._at)[0]
        return found

    def write(self, body: bytes) -> None:
        """Replace the bytes; one thread at a time."""
        memory, at = self._memory, self._at
        self._VERSION.pack_into(memory, at, self._written + 1)
        memory[self._body_at : self._body_at + len(body)] = body
        self._REST.pack_into(memory, at + 8, len(body), zlib.crc32(body))
        self._written += 2
        self._VERSION.pack_into(memory, at, self._written)

    def read(self) -> tuple[int, bytes] | None:
        """Version and bytes; ``None`` before the first write, or when the writer was cut short."""
        for _ in range(_MOST_READS):
            version = self.version
            length, checksum = self._REST.unpack_from(self._memory, self._at + 8)
            if version == 0 or version % 2 or length > self.room:
                continue
            body = self._memory[self._body_at : self._body_at + length]
            if self.version == version and zlib.crc32(body) == checksum:
                return version, body
        return None


class Ledger:
    """The memory of one process and its supervisor: ``create`` in one, ``join`` in the other."""

    def __init__(self, memory: mmap.mmap, path: Path) -> None:
        self.path = path
        self._memory = memory
        self._held = Record(memory, _HELD_AT, _HELD_SIZE)
        self._kept = Record(memory, _KEPT_AT, _KEPT_SIZE)
        self._count = (len(memory) - _PLACES_AT) // _PLACE.size
        self._writing = threading.Lock()
        self._hold_at = 0.0
        self._free = list(range(self._count))
        self._places: dict[Held, int] = {}
        self._renewed: tuple[int, float, frozenset[str]] = (0, 0.0, frozenset())

    @classmethod
    def create(cls, places: int) -> Ledger:
        """Fresh memory for a process that runs at most ``places`` jobs at a time."""
        handle, name = tempfile.mkstemp(prefix="emq-ledger-")
        size = _PLACES_AT + places * _PLACE.size
        with open(handle, "r+b") as file:
            # Zeros and no hole: a full disk is an error here and not a SIGBUS at a later store.
            file.write(LAYOUT.ljust(size, b"\0"))
            file.flush()
            return cls(mmap.mmap(file.fileno(), size), Path(name))

    @classmethod
    def join(cls, path: str) -> Ledger:
        """The memory that a supervisor made; its file goes where the system lets an open one go."""
        with open(path, "r+b") as file:
            memory = mmap.mmap(file.fileno(), 0)
        memory[: len(LAYOUT)] = LAYOUT
        ledger = cls(memory, Path(path))
        ledger.remove()
        return ledger

    def remove(self) -> None:
        """Forget the file; the memory stays."""
        with suppress(OSError):
            os.unlink(self.path)

    def hold(self, held: Iterable[Held]) -> None:
        """These are all the leases held: written before their jobs start."""
        self._hold_at = time.monotonic() + HOLD_EVERY_S
        with self._writing:
            ours = list(held)
            until = min([one.lost.until for one in ours], default=0.0)
            words = [repr(until)]
            for one in ours:
                lease = one.lease
                words += (lease.queue, lease.label, lease.job_id, str(lease.token))
            body = "\0".join(words).encode()
            self._held.write(body if len(body) <= self._held.room else self._shortened(words))

    def _shortened(self, words: list[str]) -> bytes:
        """As many as there is room for, as thousands of leases may not have: the rest lapse as ever."""
        while len(body := "\0".join(words).encode()) > self._held.room:
            words = words[: 1 + len(words) // 2 // _WORDS * _WORDS]
        return body

    def beat(self, held: Iterable[Held]) -> None:
        """The process has come round its loop; once a second what it holds is written anew."""
        now = time.monotonic()
        _BEAT.pack_into(self._memory, _BEAT_AT, now)
        if now >= self._hold_at:
            self.hold(held)

    def kept(self, job_id: str) -> float:
        """Until when the supervisor has renewed a lease; 0 when it has not."""
        if self._kept.version != self._renewed[0] and (found := self._kept.read()) is not None:
            until, *lost = found[1].decode().split("\0")
            self._renewed = (found[0], float(until), frozenset(lost))
        _, renewed_until, refused = self._renewed
        return 0.0 if job_id in refused else renewed_until

    def start(self, held: Held) -> None:
        """A job begins; with more jobs than places it is not seen."""
        try:
            place = self._free.pop()
        except IndexError:
            return
        self._places[held] = place
        job_id, at = held.lease.job_id.encode(), self._place_at(place)
        _PLACE.pack_into(self._memory, at, job_id, time.monotonic(), 0.0, 0.0)

    def limit(self, held: Held, seconds: float) -> None:
        """A job that has begun must have ended in ``seconds`` from now."""
        if (place := self._places.get(held)) is not None:
            at = self._place_at(place) + _DEADLINE_AT
            _DEADLINE.pack_into(self._memory, at, time.monotonic() + seconds, seconds)

    def end(self, held: Held) -> None:
        """A job has ended."""
        if (place := self._places.pop(held, None)) is not None:
            at = self._place_at(place)
            self._memory[at : at + _PLACE.size] = _NOBODY
            self._free.append(place)

    def watched(self, run: Callable[[Held], Outcome]) -> Callable[[Held], Outcome]:
        """``run``, each of its runs seen here."""

        def watched(held: Held) -> Outcome:
            self.start(held)
            try:
                return run(held)
            finally:
                self.end(held)

        return watched

    def leave(self) -> None:
        """The process ends as it should, and holds nothing."""
        self._memory[_LEFT_AT] = 1

    @property
    def is_ready(self) -> bool:
        """Whether the process serves, or has served."""
        return self._held.version > 0

    @property
    def beaten_at(self) -> float:
        """When the process last came round its loop."""
        found: float = _BEAT.unpack_from(self._memory, _BEAT_AT)[0]
        return found

    @property
    def has_left(self) -> bool:
        return self._memory[_LEFT_AT] == 1

    def page(self) -> Page | None:
        """What the process holds; ``None`` before it serves, or when it died as it wrote."""
        found = self._held.read()
        if found is None or self._memory[: len(LAYOUT)] != LAYOUT:
            return None
        until, *words = found[1].decode().split("\0")
        entries = [
            Entry(queue, label, JobId(job_id), int(token))
            for queue, label, job_id, token in zip(*[iter(words)] * _WORDS, strict=True)
        ]
        return Page(found[0], float(until), tuple(entries))

    def runs(self) -> list[Run]:
        """The jobs that have started and not ended, each read until two looks agree."""
        return [
            Run(job_id.decode("ascii", "replace"), *rest)
            for job_id, *rest in map(self._read_place, range(self._count))
            if job_id[0]
        ]

    def _read_place(self, place: int) -> tuple[bytes, float, float, float]:
        at, seen = self._place_at(place), b""
        for _ in range(_MOST_READS):
            before, seen = seen, self._memory[at : at + _PLACE.size]
            if seen == before:
                break
        return _PLACE.unpack(seen)

    def keep(self, until: float, lost: Iterable[str]) -> None:
        """All that was held is renewed until then, but for ``lost``."""
        self._kept.write("\0".join([repr(until), *lost]).encode())

    def _place_at(self, place: int) -> int:
        return _PLACES_AT + place * _PLACE.size

    def close(self) -> None:
        self.remove()
        self._memory.close()
