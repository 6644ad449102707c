"""Branded job ids: 14 bytes that carry a birth time and a place in line (protocol section 1).

An id is ``JOB`` and eleven base62 digits of a 63-bit snowflake: 41 bits of
milliseconds since 2024-01-01T00:00:00Z, 10 bits of node, 12 bits of sequence.
Byte order, number order and mint order are the same order.
"""

from __future__ import annotations

import os
import random
import re
import threading
import time
import weakref
from collections.abc import Callable
from typing import Final, NamedTuple, NewType, cast

from echomq_app.protocol.errors import InvalidInput, InvalidJobId

JobId = NewType("JobId", str)

EPOCH_MS: Final = 1_704_067_200_000
MAX_SNOWFLAKE: Final = 2**63 - 1
LAST_MS: Final = EPOCH_MS + (MAX_SNOWFLAKE >> 22)
MAX_NODE: Final = 1023
ID_LENGTH: Final = 14
JOB: Final = "JOB"

_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DIGIT: Final = {character: value for value, character in enumerate(_ALPHABET)}
_PAIRS: Final = tuple(high + low for high in _ALPHABET for low in _ALPHABET)
_PAIR: Final = {pair: value for value, pair in enumerate(_PAIRS)}
_PAIRS_AT: Final = (4, 6, 8, 10, 12)
_BRANDED: Final = re.compile(r"[A-Z]{3}[0-9A-Za-z]{11}", re.ASCII)
_OF_OUR_TIME: Final = re.compile(r"[A-Z]{3}[0-9][0-9A-Za-z]{10}", re.ASCII)
"""Below the largest by its first digit, as all that is minted before 2087."""
_NAMESPACE: Final = re.compile(r"[A-Z]{3}", re.ASCII)
_LARGEST: Final = "AzL8n0Y58m7"
_START_SPREAD: Final = 1024
_STEP_ASIDE_MS: Final = 16


class Mint(NamedTuple):
    """What an id says of its birth."""

    namespace: str
    snowflake: int
    ms: int
    node: int
    sequence: int


def encode(snowflake: int, namespace: str = JOB) -> str:
    """Brand ``snowflake`` (0 to 2**63 - 1); raise ``InvalidJobId`` outside that range."""
    if not _NAMESPACE.fullmatch(namespace):
        raise InvalidJobId(f"a namespace is three letters A-Z; got {namespace!r}")
    if not 0 <= snowflake <= MAX_SNOWFLAKE:
        raise InvalidJobId(f"a snowflake is 0 to 2**63 - 1; got {snowflake}")
    return namespace + _payload(snowflake)


def _payload(snowflake: int) -> str:
    rest, first = divmod(snowflake, 3844)
    rest, second = divmod(rest, 3844)
    rest, third = divmod(rest, 3844)
    rest, fourth = divmod(rest, 3844)
    rest, fifth = divmod(rest, 3844)
    return (
        _ALPHABET[rest]
        + _PAIRS[fifth]
        + _PAIRS[fourth]
        + _PAIRS[third]
        + _PAIRS[second]
        + _PAIRS[first]
    )


def _snowflake(branded: str) -> int:
    value = _DIGIT[branded[3]]
    for at in _PAIRS_AT:
        value = value * 3844 + _PAIR[branded[at : at + 2]]
    return value


def is_branded(value: object) -> bool:
    """Say whether ``value`` is a well-formed id of any namespace."""
    return (
        isinstance(value, str) and _BRANDED.fullmatch(value) is not None and value[3:] <= _LARGEST
    )


def parse(value: object) -> Mint:
    """Read an id of any namespace; raise ``InvalidJobId`` when it is not well formed."""
    if not isinstance(value, str) or not is_branded(value):
        raise InvalidJobId(
            f"a job id is 14 ASCII characters, three letters A-Z and eleven base62 digits up to "
            f"{_LARGEST}; got {value!r:.60}"
        )
    snowflake = _snowflake(value)
    return Mint(
        namespace=value[:3],
        snowflake=snowflake,
        ms=(snowflake >> 22) + EPOCH_MS,
        node=(snowflake >> 12) & MAX_NODE,
        sequence=snowflake & 0xFFF,
    )


def valid_job_id(value: object) -> JobId:
    """Return ``value`` as a well-formed id of any kind, else raise ``InvalidJobId``.

    The kind (``JOB``) is the server's to judge, so that every speaker meets the same gate.
    """
    if type(value) is str and _OF_OUR_TIME.fullmatch(value):
        return value  # type: ignore[return-value]  # a JobId is such a text
    parse(value)
    return JobId(str(value))


def minted_ms(job_id: str) -> int:
    """Milliseconds since 1970 at which ``job_id`` was minted, on its producer's clock."""
    return (_snowflake(valid_job_id(job_id)) >> 22) + EPOCH_MS


def lowest_at(ms: int, namespace: str = JOB) -> str:
    """The lowest id that an instant can have; earlier than 2024 counts as 2024."""
    return encode(min(max(ms - EPOCH_MS, 0) << 22, MAX_SNOWFLAKE), namespace)


def window(since_ms: int | None, until_ms: int | None) -> tuple[str, str]:
    """ZRANGE BYLEX bounds of the ids minted in ``[since_ms, until_ms)``; ``None`` is open."""
    if since_ms is not None and until_ms is not None and until_ms < since_ms:
        raise InvalidInput(f"a window ends after it starts; got {since_ms} to {until_ms}")
    low = "-" if since_ms is None else "[" + lowest_at(since_ms)
    past_the_end = until_ms is not None and until_ms > LAST_MS
    high = "+" if until_ms is None or past_the_end else "(" + lowest_at(until_ms)
    return low, high


def hash32(snowflake: int) -> int:
    """Placement hash of a snowflake (protocol 1.5)."""
    value = snowflake & 0xFFFFFFFFFFFFFFFF
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD & 0xFFFFFFFFFFFFFFFF
    value ^= value >> 33
    return value & 0xFFFFFFFF


class Minter:
    """Mints ids that only grow, for one process.

    Safe across threads; a forked child draws a node and a sequence of its own.
    Every millisecond starts at a random sequence, so that two processes which
    share a node rarely meet; when they do, the nonce of the payload tells their
    jobs apart (decision 8).
    """

    def __init__(
        self,
        node: int | None = None,
        *,
        clock: Callable[[], float] = time.time,
        spread: int = _START_SPREAD,
    ) -> None:
        """``node`` is 0 to 1023, or ``None`` for a random one until ``settle_on`` names another.

        ``clock`` gives seconds since 1970; ``spread`` bounds the random start of a millisecond.
        """
        self._fixed = node is not None
        self._clock = clock
        self._spread = spread
        self._cell = 0
        self._restart(node)
        _minters.add(self)

    def _restart(self, node: int | None) -> None:
        self._lock = threading.Lock()
        self._random = random.Random(os.urandom(16))
        self._node = _valid_node(self._random.randrange(MAX_NODE + 1) if node is None else node)

    def _after_fork(self) -> None:
        self._restart(None)
        self._fixed = False
        self._leave_this_ms()

    def _leave_this_ms(self) -> None:
        """A lower node must not mint below what this millisecond has already seen."""
        self._cell = ((self._cell >> 12) + 1) << 12

    def step_aside(self) -> None:
        """Leave the run of ids that a process with the same node mints too; ids stay monotone."""
        with self._lock:
            ahead = self._random.randint(1, _STEP_ASIDE_MS)
            start = self._random.randrange(_START_SPREAD)
            self._cell = (self._cell >> 12) + ahead << 12 | start

    @property
    def node(self) -> int:
        return self._node

    @property
    def wants_node(self) -> bool:
        """Whether the node was drawn at random and a better one would be welcome."""
        return not self._fixed

    def settle_on(self, node: int) -> None:
        """Take ``node`` from now on; ids stay monotone."""
        with self._lock:
            self._node = _valid_node(node)
            self._fixed = True
            self._leave_this_ms()

    def mint(self) -> JobId:
        """A new id, above all that this process has minted."""
        with self._lock:
            cell, node = self._advance(), self._node
        return JobId(JOB + _payload((cell >> 12 << 22) | node << 12 | cell & 0xFFF))

    def mint_many(self, count: int) -> list[JobId]:
        """``count`` ids in ascending order under one lock; those that differ in the last pair at once."""
        if count < 1:
            raise InvalidInput(f"mint at least one id; got {count}")
        minted: list[str] = []
        with self._lock:
            while len(minted) < count:
                cell = self._advance()
                first = (cell >> 12 << 22) | self._node << 12 | cell & 0xFFF
                low = first % 3844
                run = min(count - len(minted), 3844 - low, 4096 - (cell & 0xFFF))
                stem = JOB + _payload(first)[:-2]
                minted += [stem + pair for pair in _PAIRS[low : low + run]]
                self._cell += run - 1
        return cast("list[JobId]", minted)

    def _advance(self) -> int:
        now = int(self._clock() * 1000) - EPOCH_MS
        if now > self._cell >> 12:
            self._cell = now << 12 | (self._random.randrange(self._spread) if self._spread else 0)
        else:
            self._cell += 1
        return self._cell


_minters: weakref.WeakSet[Minter] = weakref.WeakSet()


def _restart_after_fork() -> None:
    for minter in tuple(_minters):
        minter._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restart_after_fork)


def _valid_node(node: int) -> int:
    if not 0 <= node <= MAX_NODE:
        raise InvalidInput(f"a node id is 0 to {MAX_NODE}; got {node}")
    return node
