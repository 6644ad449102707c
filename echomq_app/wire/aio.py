"""The awaited link: takes the same steps with a ``redis.asyncio`` client that it is handed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from redis import exceptions as redis_errors
from redis.asyncio import Redis
from redis.asyncio.cluster import RedisCluster

from echomq_app.protocol.calls import Call
from echomq_app.wire.exchange import Answer, Bus, Command, Lost, Relearn, Send, Step, exchange
from echomq_app.wire.failures import BROKEN
from echomq_app.wire.link import Plan, unanswered

T = TypeVar("T")


class AsyncWire:
    """Runs calls on one server or cluster, awaited. Belongs to one event loop."""

    def __init__(
        self,
        client: Redis | RedisCluster,
        bus: Bus | None = None,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.client = client
        self.bus = bus or Bus()
        self.bus.clustered = isinstance(client, RedisCluster)
        self._sleep = sleep

    async def run(self, call: Call[T]) -> T:
        """One call, its value or its failure."""
        value: T = (await self.answer((call,)))[0].unwrap()
        return value

    async def answer(self, calls: Sequence[Call[Any]]) -> list[Answer[Any]]:
        """Many calls in one pipeline without MULTI, each judged for itself."""
        steps = exchange(calls, self.bus)
        taken: Any = None
        try:
            while True:
                taken = await _heeding_cancellation(self._take(steps.send(taken)))
        except StopIteration as end:
            answers: list[Answer[Any]] = end.value
            return answers

    async def follow(self, plan: Plan[T]) -> T:
        """Run a plan to its end."""
        answers: Any = None
        try:
            while True:
                answers = await self.answer(plan.send(answers))
        except StopIteration as end:
            value: T = end.value
            return value

    async def _take(self, step: Step) -> list[Any] | None:
        if isinstance(step, Send):
            return await self._send(step)
        if isinstance(step, Relearn):
            await self._relearn()
        else:
            await self._sleep(step.seconds)
        return None

    async def _relearn(self) -> None:
        if isinstance(self.client, RedisCluster):
            try:
                await self.client.nodes_manager.initialize()
            except BROKEN:
                return

    async def _send(self, step: Send) -> list[Any] | None:
        commands = list(step.commands)
        try:
            if isinstance(self.client, RedisCluster):
                return await self._send_to_node(self.client, step, commands)
            connection = await self.client.connection_pool.get_connection()
        except BROKEN as cause:
            await self._relearn()
            return [Lost(False, cause)] * len(commands)
        try:
            return await self._send_on(connection, step, commands)
        finally:
            await self.client.connection_pool.release(connection)

    async def _send_to_node(
        self, client: RedisCluster, step: Send, commands: list[Command]
    ) -> list[Any] | None:
        await client.initialize()
        if step.node is None:
            node = client.get_node_from_key(step.key)
        else:
            host, _, port = step.node.rpartition(":")
            node = client.get_node(host, int(port))
        if node is None:
            raise redis_errors.ConnectionError(
                f"the cluster has no node for {step.node or step.key}"
            )
        connection = node.acquire_connection()
        try:
            return await self._send_on(connection, step, commands)
        finally:
            node.release(connection)

    async def _send_on(
        self, connection: Any, step: Send, commands: list[Command]
    ) -> list[Any] | None:
        try:
            await connection.connect()
        except BROKEN as cause:
            await self._relearn()
            return [Lost(False, cause)] * len(commands)
        connection.register_connect_callback(self._on_reconnect)
        if step.behind_fence and not self.bus.fenced:
            return None
        return await _converse(connection, commands, asking=step.node is not None)

    def _on_reconnect(self, _: object) -> None:
        """The server that a connection reaches now may be another one: its fence is not known."""
        self.bus.fenced = False


async def _converse(connection: Any, commands: list[Command], *, asking: bool) -> list[Any]:
    replies: list[Any] = []
    sent = [word for command in commands for word in (("ASKING",), command)] if asking else commands
    try:
        await _heeding_cancellation(connection.send_packed_command(connection.pack_commands(sent)))
        for _ in sent:
            replies.append(await _read_reply(connection))
    except BROKEN as cause:
        await connection.disconnect(nowait=True)
        replies += unanswered(cause, len(sent) - len(replies))
    except BaseException:
        await connection.disconnect(nowait=True)
        raise
    return replies[1::2] if asking else replies


async def _heeding_cancellation(act: Awaitable[T]) -> T:
    """Await something of redis-py's; a cancellation that it swallowed is raised after it.

    It sends under ``asyncio.wait_for``, which in Python 3.11 loses one that comes as the send ends.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    result = await act
    if task and task.cancelling() > before:
        raise asyncio.CancelledError
    return result


async def _read_reply(connection: Any) -> Any:
    try:
        return await connection.read_response(disable_decoding=True)
    except redis_errors.ResponseError as error:
        return error
