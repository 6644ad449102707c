"""Each thing that can be given wrong, and the sentence that says so."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from echomq_app.protocol.errors import (
    EchoMQError,
    FenceMismatch,
    InvalidInput,
    InvalidJobId,
    InvalidLease,
    InvalidQueueName,
    PayloadTooLarge,
    ServerTooOld,
    ServerUnavailable,
    WrongKind,
    WrongType,
)
from echomq_app.protocol.keyspace import VERSION
from echomq_app.protocol.payload import TaskPayload, encode
from echomq_app.protocol.states import JobSet
from echomq_app.service.bus import ServerBus, ServerFacts, read_server_facts
from echomq_app.service.queue import Queue
from echomq_app.service.records import PageRequest
from echomq_app.wire.exchange import Bus
from echomq_app.wire.link import Wire
from tests.protocol.scene import LONG, Scene
from tests.servers.server import Server

MALFORMED = (
    "a job id is 14 ASCII characters, three letters A-Z and eleven base62 digits up to "
    "AzL8n0Y58m7; got 'nope'"
)
BY_ID: dict[str, Callable[[Queue], Any]] = {
    "enqueue": lambda queue: queue.enqueue("nope", b"w"),
    "enqueue_many": lambda queue: queue.enqueue_many([("nope", b"w")]),
    "schedule_in": lambda queue: queue.schedule_in("nope", b"w", LONG),
    "remove": lambda queue: queue.remove("nope"),
    "requeue": lambda queue: queue.requeue("nope"),
    "requeue_many": lambda queue: queue.requeue_many(["nope"]),
    "progress": lambda queue: queue.progress("nope", "50"),
    "add_log": lambda queue: queue.add_log("nope", "line"),
    "logs": lambda queue: queue.logs("nope"),
    "state": lambda queue: queue.state("nope"),
    "job": lambda queue: queue.job("nope"),
}


@pytest.mark.parametrize("verb", BY_ID)
def test_a_malformed_id_is_refused_before_any_wire(scene: Scene, verb: str) -> None:
    with pytest.raises(InvalidJobId) as refused:
        BY_ID[verb](scene.queue)

    assert str(refused.value) == MALFORMED
    assert not scene.client.exists(VERSION)


def test_a_wrong_kind_is_refused_by_the_server(scene: Scene) -> None:
    with pytest.raises(WrongKind) as refused:
        scene.queue.enqueue("ORD0KHTOWnGLuC", b"w")

    assert str(refused.value) == "EMQKIND job id must be JOB-namespaced"


def test_a_wrong_queue_name_is_refused_before_a_queue_is_made(scene: Scene) -> None:
    with pytest.raises(InvalidQueueName) as refused:
        Queue(scene.wire, "a{b}")

    assert str(refused.value) == "a queue name holds no '{', '}' or NUL; got 'a{b}'"


@pytest.mark.parametrize("verb", ["claim", "claim_many", "extend"])
def test_a_lease_of_no_time_is_refused_before_any_wire(scene: Scene, verb: str) -> None:
    act: dict[str, Callable[[], Any]] = {
        "claim": lambda: scene.queue.claim(timedelta()),
        "claim_many": lambda: scene.queue.claim_many(timedelta(seconds=-1), 1),
        "extend": lambda: scene.queue.extend([], timedelta(days=30)),
    }

    with pytest.raises(InvalidLease) as refused:
        act[verb]()

    assert str(refused.value).startswith(
        "a lease is a whole number of milliseconds from 1 to 2147483648; got "
    )
    assert not scene.client.exists(VERSION)


def test_a_fraction_of_a_millisecond_is_rounded_up_so_that_no_lease_is_cut_short(
    scene: Scene,
) -> None:
    scene.enqueue()

    assert scene.queue.claim(timedelta(microseconds=1)) is not None


def test_a_payload_over_the_limit_says_both_sizes_and_what_to_do() -> None:
    with pytest.raises(PayloadTooLarge) as refused:
        encode(TaskPayload(task="shop.tasks.mail", args=["x" * 100], meta={"nonce": "n"}), limit=64)

    assert str(refused.value) == (
        "the payload of shop.tasks.mail is 177 bytes and the limit is 64: store the data and pass "
        "its key, or raise ECHOMQ['MAX_PAYLOAD_BYTES']"
    )


@pytest.mark.parametrize("limit", [0, 1001])
def test_a_page_of_none_or_of_too_many_is_refused(scene: Scene, limit: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        scene.queue.page(PageRequest(which=JobSet.DEAD, limit=limit))

    assert str(refused.value) == f"a page has 1 to 1000 jobs; got {limit}"


@pytest.mark.parametrize("limit", [0, -1])
def test_to_browse_nothing_is_refused(scene: Scene, limit: int) -> None:
    with pytest.raises(InvalidInput, match=f"browse at least one job; got {limit}"):
        scene.queue.browse(limit)


@pytest.mark.parametrize(
    ("kind", "act"),
    [
        ("pending", lambda scene: scene.enqueue()),
        ("active", lambda scene: scene.queue.reap()),
        ("schedule", lambda scene: scene.queue.promote()),
        ("dead", lambda scene: scene.queue.requeue(scene.enqueue())),
        ("meta", lambda scene: scene.queue.pause()),
    ],
    ids=["pending", "active", "schedule", "dead", "meta"],
)
def test_a_key_of_another_type_is_refused_with_advice(
    scene: Scene, kind: str, act: Callable[[Scene], Any]
) -> None:
    scene.client.set(scene.key(kind), "x")

    with pytest.raises(WrongType) as refused:
        act(scene)

    sentence = (
        r"a key that \w+ needs holds another type than the protocol's: something else wrote under "
        r"this queue's name\. Find it with TYPE and move it away \(WRONGTYPE .*\)"
    )
    assert refused.match(sentence)


def test_a_foreign_fence_is_refused_with_both_values_and_the_setting(scene: Scene) -> None:
    scene.client.set(VERSION, "echomq:3.0.0")

    with pytest.raises(FenceMismatch) as refused:
        scene.enqueue()

    assert str(refused.value) == (
        "this server is fenced for 'echomq:3.0.0' and we accept echomq:4.0.0: point ECHOMQ at "
        "another server or database, or name that version in ECHOMQ['FENCE']"
    )
    assert scene.client.keys() == [VERSION.encode()]


def old(scene: Scene, version: str) -> ServerFacts:
    """What the server would say of itself if it were of ``version``."""
    text = scene.client.execute_command("INFO", "everything")
    if isinstance(text, dict):
        text = "\r\n".join(f"{name}:{value}" for name, value in text.items())
    told = read_server_facts(text)
    for field in ("valkey_version", "redis_version"):
        text = text.replace(f"{field}:{told.version}", f"{field}:{version}")
    return read_server_facts(text)


class Aged(ServerBus):
    """A bus whose server says that it is older than it is."""

    def __init__(self, scene: Scene, version: str) -> None:
        super().__init__(scene.wire)
        self.facts = old(scene, version)

    def server(self) -> ServerFacts:
        return self.facts


def test_a_server_that_is_too_old_is_refused_with_what_it_is_and_what_is_needed(
    scene: Scene,
) -> None:
    engine = ServerBus(scene.wire).server().engine
    version, wanted = ("7.2.4", "8.0") if engine == "Valkey" else ("6.2.7", "7.0")

    with pytest.raises(ServerTooOld) as refused:
        Aged(scene, version).check_server()

    assert str(refused.value) == (
        f"EchoMQ needs Redis 7.0 or Valkey 8.0 and newer; this is {engine} {version}: "
        f"upgrade it to {engine} {wanted} or newer, or point ECHOMQ['CONNECTION'] elsewhere"
    )


def test_the_oldest_servers_that_serve_are_taken(scene: Scene) -> None:
    version = "8.0.0" if ServerBus(scene.wire).server().engine == "Valkey" else "7.0.0"

    assert Aged(scene, version).check_server().version == version


def test_a_real_server_says_what_it_is(every_engine: Server, scene: Scene) -> None:
    facts = ServerBus(scene.wire).check_server()

    assert facts.engine == ("Valkey" if every_engine.engine.name == "valkey-9" else "Redis")
    assert facts.version == every_engine.engine.version
    assert facts.maxmemory_policy == "noeviction"
    assert not facts.may_evict


@pytest.mark.parametrize(
    ("policy", "evicts"), [("allkeys-lru", True), ("volatile-ttl", True), (None, False)]
)
def test_a_policy_that_evicts_is_told_from_one_that_is_not_told(
    policy: str | None, evicts: bool
) -> None:
    facts = ServerFacts(engine="Redis", version="7.0.15", maxmemory_policy=policy)

    assert facts.may_evict is evicts


def test_no_server_at_all_is_named_after_the_time_given(tmp_path: Path) -> None:
    once = Retry(NoBackoff(), 0)
    client = redis.Redis(unix_socket_path=str(tmp_path / "nobody.sock"), retry=once)
    queue = Queue(Wire(client, Bus(patience_s=0.2)), "q")

    with pytest.raises(ServerUnavailable) as refused:
        queue.pending_size()

    assert str(refused.value).startswith("no server answered")
    assert "within 0.2 s" in str(refused.value)
    assert "nobody.sock" in str(refused.value)


def test_every_failure_that_we_name_can_be_caught_as_one() -> None:
    named = (InvalidInput, WrongKind, WrongType, FenceMismatch, ServerTooOld, ServerUnavailable)

    assert all(issubclass(kind, EchoMQError) for kind in named)
