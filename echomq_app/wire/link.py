"""The blocking link: takes the steps of an exchange with a redis-py client that it is handed."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

import redis
from redis import exceptions as redis_errors
from redis.cluster import RedisCluster

from echomq_app.protocol.calls import Call
from echomq_app.protocol.states import Repeat
from echomq_app.wire.exchange import (
    Answer,
    Bus,
    Command,
    Lost,
    Relearn,
    Send,
    Step,
    as_command,
    exchange,
)
from echomq_app.wire.failures import BROKEN
from echomq_app.wire.forks import forks
from echomq_app.wire.line import Line, Lines

T = TypeVar("T")
Plan = Generator[Sequence[Call[Any]], list[Answer[Any]], T]
"""A verb that needs several round trips: yields calls, takes answers, returns what came of it."""

ASKING: Final[Command] = ("ASKING",)
TROUBLE: Final = (Lost, redis_errors.RedisError)
_REFUSING: Final = (redis_errors.BusyLoadingError, redis_errors.ReadOnlyError)


class Wire:
    """Runs calls on one server or cluster: alone, many in one pipeline, or a plan of several.

    ``client`` makes no retries of its own that matter here: connections are leased bare, so that
    a claim is never sent twice behind the caller's back.
    """

    def __init__(
        self,
        client: redis.Redis | RedisCluster,
        bus: Bus | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
        revive: Callable[[], object] | None = None,
    ) -> None:
        """``revive`` is called when the server cannot be reached, to bring it back if it is ours."""
        self.client = client
        self.bus = bus or Bus()
        self.bus.clustered = isinstance(client, RedisCluster)
        self._sleep = sleep
        self._revive = revive
        self._forks = forks()
        self._lines: dict[Any, Lines] = {}

    def sibling(self) -> Wire:
        """A wire on the same client whose connections, and what it knows of the fence, are its own."""
        bus = replace(self.bus, fenced=False)
        return Wire(self.client, bus, sleep=self._sleep, revive=self._revive)

    def close(self) -> None:
        """Give the idle connections back to their pools. The wire leases others when it is used again."""
        for lines in self._lines.values():
            lines.close()

    def run(self, call: Call[T]) -> T:
        """One call, its value or its failure."""
        return self.ask(call).unwrap()

    def ask(self, call: Call[T]) -> Answer[T]:
        """One call and what it came to."""
        taken = self._first((call,))
        if taken is not None and not isinstance(taken[0], TROUBLE):
            return Answer(call, call.read(taken[0]), None, False)
        return self._go_on(exchange((call,), self.bus, taken))[0]

    def answer(self, calls: Sequence[Call[Any]]) -> list[Answer[Any]]:
        """Many calls in one pipeline without MULTI, each judged for itself."""
        return self._judged(calls, self._first(calls))

    def begin(self, calls: Sequence[Call[Any]]) -> Pending:
        """Send many calls as ``answer`` does, and leave their answers for later.

        Where the rules want more than one plain sending, nothing is sent before the answers are asked for.
        """
        if not self._is_plain(calls):
            return Pending(self, calls)
        try:
            lines = self._lines_of(calls[0].keys[0])
            line, died = lines.take(self._may_lose(calls))
        except BROKEN:
            return Pending(self, calls)
        if died:
            self.bus.fenced = False
        if not self.bus.fenced:
            lines.give_back(line)
            return Pending(self, calls)
        lost = line.say(list(map(as_command, calls)))
        return Pending(self, calls, line, lines, lost)

    def _first(self, calls: Sequence[Call[Any]]) -> list[Any] | None:
        """The answers of a single server that is known; ``None`` where the rules say how to ask."""
        if not self._is_plain(calls):
            return None
        safe = self._may_lose(calls)
        return self._send(Send(calls[0].keys[0], list(map(as_command, calls)), None, True, safe))

    def _is_plain(self, calls: Sequence[Call[Any]]) -> bool:
        """Whether one sending to a single server that is known may do."""
        if self._forks != forks():
            self._forks, self.bus.fenced, self._lines = forks(), False, {}
        return self.bus.fenced and not self.bus.clustered and len(calls) > 0

    def _may_lose(self, calls: Sequence[Call[Any]]) -> bool:
        return Repeat.NEVER not in [call.repeat for call in calls]

    def _judged(self, calls: Sequence[Call[Any]], taken: list[Any] | None) -> list[Answer[Any]]:
        """What a first sending came to; the rules go on where it was not plain."""
        if taken is not None and not any(isinstance(one, TROUBLE) for one in taken):
            return [
                Answer(call, call.read(reply), None, False)
                for call, reply in zip(calls, taken, strict=True)
            ]
        return self._go_on(exchange(calls, self.bus, taken))

    def _go_on(self, steps: Generator[Step, Any, list[Answer[Any]]]) -> list[Answer[Any]]:
        taken: Any = None
        try:
            while True:
                taken = self._take(steps.send(taken))
        except StopIteration as end:
            answers: list[Answer[Any]] = end.value
            return answers

    def follow(self, plan: Plan[T]) -> T:
        """Run a plan to its end."""
        answers: Any = None
        try:
            while True:
                answers = self.answer(plan.send(answers))
        except StopIteration as end:
            value: T = end.value
            return value

    def _take(self, step: Step) -> list[Any] | None:
        if isinstance(step, Send):
            return self._send(step)
        if isinstance(step, Relearn):
            self._relearn()
        else:
            self._sleep(step.seconds)
        return None

    def _relearn(self) -> None:
        if isinstance(self.client, RedisCluster):
            try:
                self.client.nodes_manager.initialize()
            except BROKEN:
                return

    def recover(self) -> None:
        """The server cannot be reached: ask a cluster who serves now, bring back one that is ours."""
        self._relearn()
        if self._revive is not None:
            self._revive()

    def _send(self, step: Send) -> list[Any] | None:
        try:
            lines = self._lines_of(step.key, step.node)
            line, died = lines.take(step.may_lose)
        except BROKEN as cause:
            self.recover()
            return [Lost(False, cause)] * len(step.commands)
        if died:
            self.bus.fenced = False
        try:
            if step.behind_fence and not self.bus.fenced:
                return None
            if step.node is None:
                return line.converse(step.commands)
            asking = [word for one in step.commands for word in (ASKING, one)]
            return line.converse(asking)[1::2]
        finally:
            lines.give_back(line)

    def _lines_of(self, key: str, node: str | None = None) -> Lines:
        pool = self.pool_for(key, node)
        found = self._lines.get(pool)
        if found is None:
            found = self._lines.setdefault(pool, Lines(pool, self._on_reconnect))
        return found

    def _on_reconnect(self, _: object) -> None:
        """The server that a connection reaches now may be another one: its fence is not known."""
        self.bus.fenced = False

    def pool_for(self, key: str, node: str | None = None) -> Any:
        """The connection pool of the node that holds ``key``, or of ``node`` (``host:port``)."""
        if not self.bus.clustered or not isinstance(self.client, RedisCluster):
            return self.client.connection_pool  # type: ignore[union-attr]  # no cluster
        if node is None:
            found = self.client.get_node_from_key(key)
        else:
            host, _, port = node.rpartition(":")
            found = self.client.get_node(host, int(port))
        if found is None:
            raise redis_errors.ConnectionError(f"the cluster has no node for {node or key}")
        return self.client.get_redis_connection(found).connection_pool


class Pending:
    """Calls that are on their way. Its answers are asked for once, by any thread."""

    __slots__ = ("_calls", "_line", "_lines", "_lost", "_wire")

    def __init__(
        self,
        wire: Wire,
        calls: Sequence[Call[Any]],
        line: Line | None = None,
        lines: Lines | None = None,
        lost: Sequence[Any] = (),
    ) -> None:
        self._wire = wire
        self._calls = calls
        self._line = line
        self._lines = lines
        self._lost = lost

    def answers(self) -> list[Answer[Any]]:
        """Wait for them; each call is judged for itself, and sent again where that is safe."""
        line, lines = self._line, self._lines
        if line is None or lines is None:
            return self._wire.answer(self._calls)
        try:
            taken = list(self._lost) or line.hear(len(self._calls))
        finally:
            lines.give_back(line)
        return self._wire._judged(self._calls, taken)


def unanswered(cause: BaseException, count: int) -> list[Lost]:
    """What to say of ``count`` commands without a reply when ``cause`` came instead of the first's.

    A server that loads, or is a replica now, did not execute that first one; of the rest nobody knows.
    """
    told = (cause, cause.__context__)
    refused = any(isinstance(error, _REFUSING) for error in told)
    return [Lost(not refused, cause), *[Lost(True, cause)] * (count - 1)]


def read_reply(connection: Any) -> Any:
    """One reply; the error that a server answers with is a reply too."""
    try:
        return connection.read_response(disable_decoding=True)
    except redis_errors.ResponseError as error:
        return error


def unwrap_all(answers: Iterable[Answer[Any]]) -> list[Any]:
    """The values of answers that must all be there; the first failure is raised."""
    return [answer.unwrap() for answer in answers]
