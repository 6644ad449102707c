"""The awaited link on its own event loop: many tasks, and tasks that are cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import redis.asyncio

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import Admission, State
from echomq_app.service.aio import AsyncQueue
from echomq_app.wire.aio import AsyncWire
from tests.eventually import eventually
from tests.servers.cluster import Cluster
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server
from tests.servers.traps import named

KEYS = QueueKeys("q")
LONG_S = 10.0
Client = redis.asyncio.Redis | redis.asyncio.RedisCluster


def echo(word: str) -> Call[bytes]:
    """A call that any node answers, and whose answer is its own."""
    return calls.command(KEYS.pending, "ECHO", word, read=bytes)


@asynccontextmanager
async def wire_on(client: Client) -> AsyncIterator[AsyncWire]:
    try:
        yield AsyncWire(client)
    finally:
        await client.aclose()


@pytest.fixture(params=["engine_server", "cluster"])
def place(request: pytest.FixtureRequest) -> Server | Cluster:
    """The default engine's server, then the cluster."""
    found: Server | Cluster = request.getfixturevalue(request.param)
    return found


async def answers_are_straight(wire: AsyncWire, rounds: int = 20) -> None:
    for number in range(rounds):
        words = [f"{number}-{part}" for part in "abc"]
        answers = await wire.answer([echo(word) for word in words])
        assert [answer.unwrap() for answer in answers] == [word.encode() for word in words]


def test_a_job_is_admitted_read_and_claimed(place: Server | Cluster) -> None:
    async def main() -> None:
        async with wire_on(place.async_client()) as wire:
            queue, job_id = AsyncQueue(wire, "q"), Minter().mint()

            assert await queue.enqueue(job_id, b"{}") is Admission.ADMITTED
            assert await queue.enqueue(job_id, b"{}") is Admission.DUPLICATE
            assert await queue.state(job_id) is State.PENDING
            (claimed,) = await wire.run(calls.claim_many(KEYS, 60_000, 5, "label"))
            assert (claimed.job_id, claimed.token) == (job_id, 1)
            assert (await queue.facts()).counts.active == 1
            assert (await queue.job(job_id)).state is State.ACTIVE

    asyncio.run(main())


def test_fifty_tasks_share_a_wire_and_no_reply_is_crossed(place: Server | Cluster) -> None:
    minter = Minter()

    async def work(wire: AsyncWire, name: str) -> None:
        queue = AsyncQueue(wire, "q")
        for number in range(10):
            job_id, word = minter.mint(), f"{name}-{number}"
            assert await queue.enqueue(job_id, word.encode()) is Admission.ADMITTED
            assert await wire.run(echo(word)) == word.encode()
            fields = (await queue.job(job_id)).fields
            assert fields is not None
            assert fields["payload"] == word.encode()

    async def main() -> None:
        async with wire_on(place.async_client()) as wire:
            await asyncio.gather(*(work(wire, f"t{number}") for number in range(50)))
            assert (await AsyncQueue(wire, "q").facts()).counts.pending == 500

    asyncio.run(main())


def test_scripts_missing_in_a_pipeline_are_loaded(place: Server | Cluster) -> None:
    async def main() -> None:
        first, second = Minter().mint_many(2)
        async with wire_on(place.async_client()) as wire:
            answers = await wire.answer(
                [
                    calls.enqueue(KEYS, first, b"1"),
                    calls.pause(KEYS),
                    calls.enqueue(KEYS, second, b"2"),
                ]
            )
            assert [answer.unwrap() for answer in answers] == [
                Admission.ADMITTED,
                True,
                Admission.ADMITTED,
            ]

    for node in place.nodes if isinstance(place, Cluster) else [place]:
        node.ask("SCRIPT", "FLUSH")
    asyncio.run(main())


async def cancelled(task: asyncio.Task[Any], when: Callable[[], Awaitable[object]]) -> None:
    """Cancel a task once ``when`` has come."""
    await when()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_task_cancelled_before_its_reply_leaves_no_half_read_connection(
    proxy: CuttingProxy,
) -> None:
    async def main() -> None:
        async with wire_on(proxy.async_client()) as wire:
            await wire.run(echo("first"))
            hold = proxy.hold_reply(named("ECHO"))
            task = asyncio.create_task(wire.answer([echo("lost"), echo("too")]))
            await cancelled(task, lambda: asyncio.to_thread(hold.wait))
            hold.release()

            await answers_are_straight(wire)

    asyncio.run(main())


def test_a_task_cancelled_between_two_replies_leaves_no_half_read_connection(
    proxy: CuttingProxy,
) -> None:
    async def main() -> None:
        async with wire_on(proxy.async_client()) as wire:
            await wire.run(echo("first"))
            hold = proxy.hold_reply(lambda words: words[-1] == b"held")
            task = asyncio.create_task(wire.answer([echo("read"), echo("held"), echo("after")]))
            await cancelled(task, lambda: asyncio.to_thread(hold.wait))
            hold.release()

            await answers_are_straight(wire)

    asyncio.run(main())


def test_a_task_cancelled_in_a_blocking_read_leaves_no_half_read_connection(
    place: Server | Cluster,
) -> None:
    async def main() -> None:
        client = place.async_client(socket_timeout=None)
        async with wire_on(client) as wire:
            await wire.run(echo("first"))
            blocking = calls.command(KEYS.wake, "BLPOP", KEYS.wake, 0, read=list)
            task = asyncio.create_task(wire.answer([echo("a"), blocking, echo("b")]))
            await cancelled(task, lambda: blocked(place))
            push = calls.command(KEYS.wake, "RPUSH", KEYS.wake, "token", read=int)
            await wire.run(push)

            await answers_are_straight(wire)

    asyncio.run(main())


async def blocked(place: Server | Cluster) -> None:
    """Return when a client of the server waits in a blocking read."""
    nodes = place.nodes if isinstance(place, Cluster) else [place]

    def some_client_waits() -> bool:
        return any(node.admin.info("clients")["blocked_clients"] for node in nodes)

    await asyncio.to_thread(eventually, some_client_waits)


def test_calls_cancelled_at_any_moment_never_cross_a_reply(proxy: CuttingProxy) -> None:
    async def main() -> None:
        async with wire_on(proxy.async_client()) as wire:
            await wire.run(echo("first"))
            for steps in range(60):
                task = asyncio.create_task(wire.answer([echo("x"), echo("y")]))
                for _ in range(steps // 4):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                await answers_are_straight(wire, rounds=2)

    asyncio.run(main())


def test_a_cancellation_is_heard_at_whatever_moment_it_comes(proxy: CuttingProxy) -> None:
    async def main() -> None:
        async with wire_on(proxy.async_client(socket_timeout=LONG_S)) as wire:
            for number in range(60):
                await wire.run(echo("before"))
                hold = proxy.hold_reply(lambda words: words[-1] == b"held")
                task = asyncio.create_task(wire.run(echo("held")))
                for _ in range(number // 4):
                    await asyncio.sleep(0)
                task.cancel()
                done, _ = await asyncio.wait([task], timeout=LONG_S / 2)
                assert done, "the cancelled task went on waiting for its reply"
                assert task.cancelled()
                hold.release()
                proxy.reset()

    asyncio.run(main())


@pytest.mark.parametrize("cut", ["cut_before_reply", "cut_before_request"])
def test_an_awaited_enqueue_whose_answer_was_lost_is_admitted_once(
    cut: str, proxy: CuttingProxy
) -> None:
    async def main() -> None:
        async with wire_on(proxy.async_client()) as wire:
            queue = AsyncQueue(wire, "q")
            await queue.enqueue(Minter().mint(), b"{}")
            getattr(proxy, cut)(named("EVALSHA"))

            assert await queue.enqueue(Minter().mint(), b"{}") is Admission.ADMITTED
            assert (await queue.facts()).counts.pending == 2

    asyncio.run(main())
