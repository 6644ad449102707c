"""One wire in many threads, and in a child that was forked off: no reply meets another's call."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.keyspace import VERSION, QueueKeys
from echomq_app.protocol.states import Admission, State
from echomq_app.service.queue import Queue
from echomq_app.wire.link import Wire
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server

KEYS = QueueKeys("q")
THREADS = 16
ROUNDS = 40


def echo(word: str) -> Call[bytes]:
    return calls.command(KEYS.base, "ECHO", word, read=bytes)


def mixed_calls(wire: Wire, name: str, rounds: int) -> int:
    """Five calls a round, each of whose answers only its own call can have; how many were made."""
    queue = Queue(wire, "q")
    minter = Minter()
    for number in range(rounds):
        word = f"{name}-{number}"
        job_id = minter.mint()
        assert queue.enqueue(job_id, word.encode()) is Admission.ADMITTED
        assert wire.run(echo(word)) == word.encode()
        assert queue.progress(job_id, word)
        answers = wire.answer([echo(word + "a"), calls.state(KEYS, job_id), echo(word + "b")])
        assert [answer.unwrap() for answer in answers] == [
            f"{word}a".encode(),
            State.PENDING,
            f"{word}b".encode(),
        ]
        fields = queue.job(job_id).fields
        assert fields is not None
        assert (fields["payload"], fields["progress"]) == (word.encode(), word.encode())
    return rounds * 5


def forked(act: Callable[[], object]) -> Callable[[], int]:
    """Run ``act`` in a forked child; the value waits for it and gives its exit code."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    return lambda: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_sixteen_threads_share_a_wire_and_no_reply_is_crossed(engine_server: Server) -> None:
    wire = Wire(engine_server.client())

    with ThreadPoolExecutor(THREADS) as pool:
        made = list(pool.map(lambda n: mixed_calls(wire, f"t{n}", ROUNDS), range(THREADS)))

    assert sum(made) == THREADS * 200
    assert Queue(wire, "q").pending_size() == THREADS * ROUNDS


def test_threads_whose_connections_are_dropped_cross_no_reply(proxy: CuttingProxy) -> None:
    wire = Wire(proxy.client())
    over = threading.Event()

    def drop() -> None:
        while not over.wait(0.05):
            proxy.drop_connections()

    dropping = threading.Thread(target=drop)
    dropping.start()
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda n: mixed_calls(wire, f"t{n}", ROUNDS), range(4)))
    finally:
        over.set()
        dropping.join()

    assert Queue(wire, "q").pending_size() == 4 * ROUNDS


def test_parent_and_child_use_a_wire_side_by_side_and_no_reply_is_crossed(
    engine_server: Server,
) -> None:
    wire = Wire(engine_server.client())
    mixed_calls(wire, "before", 1)

    child = forked(lambda: mixed_calls(wire, "child", ROUNDS))
    mixed_calls(wire, "parent", ROUNDS)

    assert child() == 0
    assert Queue(wire, "q").pending_size() == 1 + 2 * ROUNDS


def test_a_child_has_a_connection_of_its_own_and_the_parents_stays_open(
    engine_server: Server,
) -> None:
    wire = Wire(engine_server.client())
    client_id = calls.command(KEYS.base, "CLIENT", "ID", read=int)
    ours = wire.run(client_id)

    def differs() -> None:
        assert wire.run(client_id) != ours

    assert forked(differs)() == 0
    assert wire.run(client_id) == ours


def test_a_child_reads_the_fence_for_itself(proxy: CuttingProxy) -> None:
    wire = Wire(proxy.client())
    wire.run(echo("parent"))
    proxy.reset()

    assert forked(lambda: wire.run(echo("child")))() == 0

    assert proxy.commands == [(b"GET", VERSION.encode()), (b"ECHO", b"child")]
