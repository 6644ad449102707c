"""The proxy loses what it is told to lose, and nothing else."""

from __future__ import annotations

import asyncio
import threading

import pytest
import redis

from tests.eventually import eventually
from tests.servers.proxy import CuttingProxy
from tests.servers.resp import value_end
from tests.servers.server import Server
from tests.servers.traps import named

incr = named("INCRBY")


def test_a_cut_before_the_reply_leaves_the_work_done(
    proxy: CuttingProxy, engine_server: Server
) -> None:
    client = proxy.client()
    cut = proxy.cut_before_reply(incr)

    with pytest.raises(redis.ConnectionError):
        client.incr("n")

    assert cut.fired == 1
    assert engine_server.client().get("n") == b"1"
    assert client.incr("n") == 2


def test_a_cut_in_the_reply_leaves_the_work_done_and_half_of_the_answer(
    proxy: CuttingProxy, engine_server: Server
) -> None:
    client = proxy.client()
    cut = proxy.cut_in_reply(named("ECHO"))

    with pytest.raises(redis.ConnectionError):
        client.echo("a long word")

    assert cut.fired == 1
    assert client.echo("a long word") == b"a long word"


def test_a_cut_before_the_request_leaves_the_work_undone(
    proxy: CuttingProxy, engine_server: Server
) -> None:
    client = proxy.client()
    cut = proxy.cut_before_request()

    with pytest.raises(redis.ConnectionError):
        client.incr("n")

    assert cut.fired == 1
    assert engine_server.client().get("n") is None
    assert client.incr("n") == 1


def test_a_cut_meets_as_many_requests_as_it_was_armed_for(proxy: CuttingProxy) -> None:
    client = proxy.client()
    proxy.cut_before_reply(incr, times=2)

    assert client.set("other", "passes")
    for _ in range(2):
        with pytest.raises(redis.ConnectionError):
            client.incr("n")
    assert client.incr("n") == 3


def test_a_reply_lost_in_a_pipeline_leaves_all_of_it_done(
    proxy: CuttingProxy, engine_server: Server
) -> None:
    proxy.cut_before_reply(lambda words: words[1] == b"b")
    pipeline = proxy.client().pipeline(transaction=False)
    for key in "abc":
        pipeline.incr(key)

    with pytest.raises(redis.ConnectionError):
        pipeline.execute()

    assert engine_server.client().mget("a", "b", "c") == [b"1", b"1", b"1"]


def test_a_request_lost_in_a_pipeline_leaves_what_came_before_it_done(
    proxy: CuttingProxy, engine_server: Server
) -> None:
    proxy.cut_before_request(lambda words: words[1] == b"b")
    pipeline = proxy.client().pipeline(transaction=False)
    for key in "abc":
        pipeline.incr(key)

    with pytest.raises(redis.ConnectionError):
        pipeline.execute()

    assert engine_server.client().mget("a", "b", "c") == [b"1", None, None]


def test_a_pipeline_is_one_round_trip_and_its_commands_are_all_seen(proxy: CuttingProxy) -> None:
    client = proxy.client()
    client.set("k", b"\r\n$3\r\n")
    pipeline = client.pipeline(transaction=False)
    for number in range(3):
        pipeline.hset("h", str(number), "v")
    pipeline.execute()

    assert proxy.round_trips == 2
    assert proxy.commands == [
        (b"SET", b"k", b"\r\n$3\r\n"),
        (b"HSET", b"h", b"0", b"v"),
        (b"HSET", b"h", b"1", b"v"),
        (b"HSET", b"h", b"2", b"v"),
    ]
    proxy.reset()
    assert (proxy.round_trips, proxy.commands) == (0, [])


def test_a_pipeline_larger_than_every_buffer_passes_whole(proxy: CuttingProxy) -> None:
    client = proxy.client()
    pipeline = client.pipeline(transaction=False)
    for _ in range(200):
        pipeline.echo(b"x" * 20_000)

    assert pipeline.execute() == [b"x" * 20_000] * 200


def test_a_held_reply_comes_when_it_is_released(proxy: CuttingProxy, engine_server: Server) -> None:
    replies: list[int] = []
    hold = proxy.hold_reply(incr)
    caller = threading.Thread(target=lambda: replies.append(int(proxy.client().incr("n"))))
    caller.start()

    hold.wait()
    assert engine_server.client().get("n") == b"1"
    assert replies == []
    hold.release()
    caller.join(10)

    assert replies == [1]


def test_a_delay_is_longer_than_a_short_patience(proxy: CuttingProxy) -> None:
    client = proxy.client(socket_timeout=0.05)
    proxy.delay(0.2, incr)

    with pytest.raises(redis.TimeoutError):
        client.incr("n")
    assert client.incr("n") == 2


def test_a_dropped_connection_is_replaced(proxy: CuttingProxy) -> None:
    client = proxy.client()
    client.ping()
    proxy.drop_connections()

    assert eventually(lambda: _pings(client))


def test_blocking_reads_pushes_and_asyncio_pass(proxy: CuttingProxy, engine_server: Server) -> None:
    async def pop() -> object:
        client = proxy.async_client()
        async with client:
            return await client.blpop(["list"], timeout=5)

    subscriber = proxy.client().pubsub()
    subscriber.subscribe("news")
    engine_server.client().rpush("list", "x")
    engine_server.client().publish("news", "hello")

    assert asyncio.run(pop()) in ([b"list", b"x"], (b"list", b"x"))
    assert eventually(lambda: subscriber.get_message(ignore_subscribe_messages=True))


def test_no_server_behind_the_proxy_is_a_lost_connection(fresh_server: Server) -> None:
    with CuttingProxy(fresh_server.socket_path) as proxy:
        fresh_server.kill()
        with pytest.raises(redis.ConnectionError):
            proxy.client().ping()


@pytest.mark.parametrize(
    "value",
    [
        b"+OK\r\n",
        b"_\r\n",
        b"$-1\r\n",
        b"*-1\r\n",
        b"$2\r\n\r\n\r\n",
        b"*2\r\n:1\r\n*1\r\n$1\r\nx\r\n",
        b"%1\r\n+k\r\n~2\r\n#t\r\n,1.5\r\n",
        b"|1\r\n+k\r\n+v\r\n:3\r\n",
        b">2\r\n+message\r\n=5\r\ntxt:x\r\n",
    ],
)
def test_a_value_ends_at_its_last_byte_and_never_sooner(value: bytes) -> None:
    assert value_end(value + b"+next\r\n") == len(value)
    assert [value_end(value[:size]) for size in range(len(value))] == [None] * len(value)


def _pings(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False
