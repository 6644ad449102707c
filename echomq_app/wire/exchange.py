"""The rules of a round trip, without I/O: what to send, what to send again, what an answer means.

``exchange`` is a generator that yields steps; a link (sync or asyncio) takes them. So nothing
about fences, missing scripts, redirects, lost replies and patience is written twice.
"""

from __future__ import annotations

import random
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from redis import exceptions as redis_errors

from echomq_app.protocol import errors
from echomq_app.protocol.calls import Call, Word
from echomq_app.protocol.keyspace import VERSION, slot
from echomq_app.protocol.script import Script
from echomq_app.protocol.states import Repeat
from echomq_app.wire.failures import Verdict, denial, judge, refusal

T = TypeVar("T")
Command = tuple[Word, ...]

FIRST_PAUSE_S: Final = 0.02
LONGEST_PAUSE_S: Final = 2.0
MOST_LOADS: Final = 2


@dataclass(frozen=True, slots=True)
class Lost:
    """A command without an answer. ``sent``: the server may have executed it."""

    sent: bool
    cause: BaseException


@dataclass(slots=True)
class Send:
    """Send commands in one go to the node that holds ``key``; take back one answer each.

    ``None`` instead of answers: nothing was sent, as ``behind_fence`` and the fence is not known.
    """

    key: str
    commands: Sequence[Command]
    node: str | None = None
    """``host:port`` that an ASK named, which also wants ASKING first."""
    behind_fence: bool = False
    may_lose: bool = False
    """Whether all of it is safe to repeat, so that a connection that just answered is trusted."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait so many seconds before the next step."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Relearn:
    """Ask the cluster anew which node holds which slot."""


Step = Send | Pause | Relearn


@dataclass(slots=True)
class Answer(Generic[T]):
    """What a call came to. ``resent``: an earlier sending of it may have been executed."""

    call: Call[T]
    value: T | None
    error: errors.EchoMQError | None
    resent: bool

    def unwrap(self) -> T:
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]  # no error: the value is what ``read`` gave


@dataclass(slots=True)
class Bus:
    """What one process knows of one server: the fence it claims and accepts, and whether it was seen.

    ``patience_s`` bounds how long a call is repeated or waits for a server that cannot answer.
    """

    claim_version: str = "echomq:4.0.0"
    accept_versions: frozenset[str] = frozenset({"echomq:4.0.0"})
    patience_s: float = 5.0
    clustered: bool = False
    fenced: bool = False


@dataclass(slots=True)
class _Patience:
    seconds: float
    since: float | None = None
    pause: float = field(default=FIRST_PAUSE_S)

    def next_pause(self) -> float | None:
        """Seconds to wait before another try, ``None`` when the time is up."""
        now = time.monotonic()
        if self.since is None:
            self.since = now
        if now - self.since >= self.seconds:
            return None
        pause = self.pause * random.uniform(0.5, 1.5)
        self.pause = min(self.pause * 2, LONGEST_PAUSE_S)
        return min(pause, max(self.seconds - (now - self.since), 0.001))


def as_command(call: Call[Any]) -> Command:
    """The words that a call is sent as."""
    if call.script is None:
        return call.args
    return ("EVALSHA", call.script.sha, len(call.keys), *call.keys, *call.args)


def exchange(
    calls: Sequence[Call[Any]], bus: Bus, replies: list[Any] | None = None
) -> Generator[Step, Any, list[Answer[Any]]]:
    """Run ``calls`` in order, in as few round trips as slots need; an answer for each.

    ``replies``: what a first sending of all calls has brought already.
    """
    round_trip = _Exchange(calls, bus)
    if replies is not None:
        yield from round_trip.sort(replies)
    while round_trip.waiting:
        yield from round_trip.once()
    return [answer for answer in round_trip.answers if answer is not None]


class _Exchange:
    def __init__(self, calls: Sequence[Call[Any]], bus: Bus) -> None:
        self.calls = calls
        self.bus = bus
        self.answers: list[Answer[Any] | None] = [None] * len(calls)
        self.waiting = list(range(len(calls)))
        self._resent: set[int] = set()
        self._asked: dict[int, str] = {}
        self._loads = 0
        self._why = ""
        self._patience = _Patience(bus.patience_s)

    def once(self) -> Generator[Step, Any, None]:
        """Send what waits, sort the answers, and do what they ask for."""
        if not self.bus.fenced and not (yield from self._check_fence()):
            return
        verdicts: dict[int, Verdict] = {}
        for batch, node in self._batches():
            commands = [as_command(self.calls[index]) for index in batch]
            replies = yield Send(self.calls[batch[0]].keys[0], commands, node, behind_fence=True)
            if replies is None:
                verdicts.update(dict.fromkeys(batch, Verdict.UNFENCED))
            else:
                self._judge(batch, replies, verdicts)
        yield from self._go_on(verdicts)

    def sort(self, replies: Sequence[object]) -> Generator[Step, Any, None]:
        """Take the answers that a first sending of all calls has brought."""
        verdicts: dict[int, Verdict] = {}
        self._judge(self.waiting, replies, verdicts)
        yield from self._go_on(verdicts)

    def _judge(
        self, batch: Sequence[int], replies: Sequence[object], verdicts: dict[int, Verdict]
    ) -> None:
        for index, reply in zip(batch, replies, strict=True):
            asked = self._asked.pop(index, None)
            verdict = self._take(index, reply)
            if verdict is not None:
                verdicts[index] = verdict
            if verdict is Verdict.UNLOADED and asked is not None:
                self._asked[index] = asked

    def _go_on(self, verdicts: dict[int, Verdict]) -> Generator[Step, Any, None]:
        self.waiting = sorted(verdicts)
        wanted = set(verdicts.values())
        if Verdict.UNLOADED in wanted:
            yield from self._load([i for i in self.waiting if verdicts[i] is Verdict.UNLOADED])
        if Verdict.MOVED in wanted:
            yield Relearn()
        if wanted & {Verdict.LATER, Verdict.MOVED}:
            yield from self._wait()

    def _take(self, index: int, reply: object) -> Verdict | None:
        """Keep the answer of a call that has ended; else say what it waits for."""
        call = self.calls[index]
        if isinstance(reply, Lost):
            self.bus.fenced = False
            self._why = str(reply.cause)
            denied = denial(reply.cause)
            if denied is not None:
                self._fail(index, denied)
                return None
            if reply.sent and call.repeat is Repeat.NEVER:
                self._fail(index, errors.ConnectionLost(_lost_sentence(call, reply.cause)))
                return None
            if reply.sent:
                self._resent.add(index)
            return Verdict.LATER
        verdict = judge(reply)
        if verdict is Verdict.ASK and isinstance(reply, redis_errors.AskError):
            self._asked[index] = f"{reply.host}:{reply.port}"
        if isinstance(reply, redis_errors.RedisError) and verdict is Verdict.REFUSED:
            self._fail(index, refusal(call.verb, reply))
            return None
        if verdict is not Verdict.ANSWERED:
            self._why = _text(reply)
            return verdict
        self.answers[index] = Answer(call, call.read(reply), None, index in self._resent)
        return None

    def _fail(self, index: int, error: errors.EchoMQError) -> None:
        self.answers[index] = Answer(self.calls[index], None, error, index in self._resent)

    def _batches(self) -> list[tuple[list[int], str | None]]:
        """Calls that one sending can carry: all of them, or on a cluster those of one slot."""
        if not self.bus.clustered:
            return [(self.waiting, None)]
        batches: dict[tuple[int, str | None], list[int]] = {}
        for index in self.waiting:
            place = (slot(self.calls[index].keys[0]), self._asked.get(index))
            batches.setdefault(place, []).append(index)
        return [(batch, node) for (_, node), batch in batches.items()]

    def _wait(self) -> Generator[Step, Any, bool]:
        """Pause before another try; when the time is up, every call that waits has failed."""
        pause = self._patience.next_pause()
        if pause is not None:
            yield Pause(pause)
            return True
        for index in self.waiting:
            sentence = (
                f"no server answered {self.calls[index].verb!r} within {self.bus.patience_s:g} s"
            )
            kind = errors.ConnectionLost if index in self._resent else errors.ServerUnavailable
            self._fail(index, kind(f"{sentence}: {self._why}" if self._why else sentence))
        self.waiting = []
        return False

    def _fail_all(self, error: errors.EchoMQError) -> bool:
        for index in self.waiting:
            self._fail(index, error)
        self.waiting = []
        return False

    def _load(self, indexes: list[int]) -> Generator[Step, Any, None]:
        """Load each missing script once on each node that misses it; its sha must be ours."""
        self._loads += 1
        if self._loads > MOST_LOADS:
            yield from self._wait()
        loads: dict[tuple[int, str | None, str], tuple[str, Script]] = {}
        for index in indexes:
            call = self.calls[index]
            if call.script is not None:
                place = slot(call.keys[0]) if self.bus.clustered else 0
                wanted = (place, self._asked.get(index), call.script.verb)
                loads[wanted] = (call.keys[0], call.script)
        for (_, node, _), (key, script) in loads.items():
            (reply,) = yield Send(key, [("SCRIPT", "LOAD", script.text)], node)
            if isinstance(reply, Lost):
                self.bus.fenced = False
                yield from self._wait()
            elif judge(reply) is Verdict.LATER:
                yield from self._wait()
            elif judge(reply) is not Verdict.ANSWERED or _text(reply) != script.sha:
                self._refuse_script(script, reply, indexes)

    def _refuse_script(self, script: Script, reply: object, indexes: list[int]) -> None:
        for index in indexes:
            call = self.calls[index]
            if call.script is script:
                self._fail(
                    index,
                    errors.ServerFault(
                        f"the server did not take the script {script.verb} ({script.sha}): {_text(reply)}"
                    ),
                )
        self.waiting = [index for index in self.waiting if self.answers[index] is None]

    def _check_fence(self) -> Generator[Step, Any, bool]:
        """Claim or verify the data format before the first call, and after a reconnect (decision 1)."""
        found = None
        for command in _FENCE_READ, ("SET", VERSION, self.bus.claim_version, "NX"), _FENCE_READ:
            while judge(found := (yield from self._ask_fence(command))) not in _ENDS:
                if judge(found) is Verdict.MOVED:
                    yield Relearn()
                if not (yield from self._wait()):
                    return False
            if isinstance(found, redis_errors.RedisError):
                return self._fail_all(refusal("the fence", found))
            if isinstance(found, errors.EchoMQError):
                return self._fail_all(found)
            if command is _FENCE_READ and found is not None:
                break
        version = _text(found)
        if version not in self.bus.accept_versions:
            accepted = ", ".join(sorted(self.bus.accept_versions))
            return self._fail_all(
                errors.FenceMismatch(
                    f"this server is fenced for {version!r} and we accept {accepted}: point ECHOMQ at "
                    "another server or database, or name that version in ECHOMQ['FENCE']"
                )
            )
        self.bus.fenced = True
        return True

    def _ask_fence(self, command: Command) -> Generator[Step, Any, object]:
        """The answer, or the error that says why there is none; a lost one counts as not now."""
        (reply,) = yield Send(VERSION, [command])
        if not isinstance(reply, Lost):
            self._why = _text(reply) if isinstance(reply, redis_errors.RedisError) else ""
            return reply
        self._why = str(reply.cause)
        return denial(reply.cause) or redis_errors.TryAgainError(str(reply.cause))


_ENDS: Final = (Verdict.ANSWERED, Verdict.REFUSED)
_FENCE_READ: Final[Command] = ("GET", VERSION)


def _text(reply: object) -> str:
    return reply.decode("utf-8", "replace") if isinstance(reply, bytes) else str(reply)


def _lost_sentence(call: Call[Any], cause: BaseException) -> str:
    return (
        f"the connection broke after {call.verb} was sent and before its answer came ({cause}); it may have "
        "been executed, and it is not safe to send again"
    )
