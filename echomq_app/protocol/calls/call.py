"""What every transition is made of: script, KEYS, ARGV, and how to read the reply."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from echomq_app.protocol.errors import InvalidInput, InvalidLease
from echomq_app.protocol.script import Script, script
from echomq_app.protocol.states import Repeat

T = TypeVar("T")
Word = str | bytes | int


MAX_LEASE_MS: Final = 2**31
MAX_NAME_BYTES: Final = 512


@dataclass(slots=True)
class Call(Generic[T]):
    """One round trip before it is made. Nobody changes one: to freeze it would triple what it costs.

    ``script`` runs as EVALSHA with ``keys`` and ``args``; without one, ``args`` is a plain command.
    ``keys`` name the slot that the call belongs to.
    """

    verb: str
    script: Script | None
    keys: tuple[str, ...]
    args: tuple[Word, ...]
    read: Callable[[Any], T]
    repeat: Repeat


def lease_ms(value: object) -> int:
    """A lease in whole milliseconds, 1 to 2**31, else ``InvalidLease``."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MAX_LEASE_MS:
        raise InvalidLease(
            f"a lease is a whole number of milliseconds from 1 to {MAX_LEASE_MS}; got {value!r:.60}"
        )
    return value


def whole(name: str, value: object, low: int, high: int = 2**53 - 1) -> int:
    """``value`` when it is a whole number from ``low`` to ``high``, else ``InvalidInput``."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInput(f"{name} is a whole number from {low} to {high}; got {value!r:.60}")
    return value


def short_text(what: str, value: object) -> str:
    """``value`` when it is text that can be part of a key, else ``InvalidInput``."""
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{what} is text and not empty; got {value!r:.60}")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InvalidInput(f"{what} is valid UTF-8; got {value!r:.60}") from None
    if size > MAX_NAME_BYTES:
        raise InvalidInput(f"{what} is at most {MAX_NAME_BYTES} bytes; got {size}: {value!r:.60}")
    return value


def token_word(value: object) -> str:
    """A claim's token as it goes on the wire: 1 or more, in canonical decimal."""
    return str(whole("a token", value, 1))


def scripted(
    verb: str,
    keys: Sequence[str],
    args: Sequence[Word],
    read: Callable[[Any], T],
    repeat: Repeat = Repeat.SAFE,
) -> Call[T]:
    """A call of the script that bears the verb's name."""
    return Call(verb, script(verb), tuple(keys), tuple(args), read, repeat)


def command(key: str, *words: Word, read: Callable[[Any], T]) -> Call[T]:
    """A plain read of one key, as a call."""
    return Call(str(words[0]).lower(), None, (key,), words, read, Repeat.SAFE)
