"""A master that sentinels replace: by force, and in good order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from echomq_app.protocol.ids import Minter
from echomq_app.protocol.states import Admission, Completion
from echomq_app.service.queue import Queue, new_label
from echomq_app.wire.exchange import Bus
from echomq_app.wire.link import Wire
from tests.eventually import eventually
from tests.servers.sentinel import Sentinel
from tests.servers.server import LOOPBACK
from tests.wire.links import AwaitedWire, Gap, load_all

MINUTE = timedelta(minutes=1)
PATIENT_S = 30.0


def awaited_client(sentinel: Sentinel) -> redis.asyncio.Redis:
    """An asyncio client of the master that asks the sentinels where it is and retries nothing."""
    places = [(LOOPBACK, watcher.port) for watcher in sentinel.watchers]
    client: redis.asyncio.Redis = redis.asyncio.Sentinel(places).master_for(
        sentinel.service, socket_timeout=1, retry=Retry(NoBackoff(), 0)
    )
    return client


@pytest.fixture(params=["blocking", "awaited"])
def wire(request: pytest.FixtureRequest, sentinel: Sentinel) -> Iterator[Wire]:
    """A patient wire to the service's master."""
    bus = Bus(patience_s=PATIENT_S)
    if request.param == "blocking":
        yield Wire(sentinel.client(socket_timeout=1), bus)
        return
    awaited = AwaitedWire(awaited_client(sentinel), bus)
    yield awaited
    awaited.close()


def test_calls_go_on_by_themselves_after_the_masters_death(sentinel: Sentinel, wire: Wire) -> None:
    queue = Queue(wire, "q")
    first, second = Minter().mint_many(2)
    queue.enqueue(first, b"{}")
    sentinel.master.ask("WAIT", 1, 5000)
    sentinel.master.kill()

    assert queue.enqueue(second, b"{}") is Admission.ADMITTED

    held = queue.claim_many(MINUTE, 5, new_label())
    assert [one.job_id for one in held] == [first, second]
    assert [queue.complete(one) for one in held] == [Completion.COMPLETED] * 2


def test_calls_go_on_by_themselves_while_sentinels_change_masters(
    sentinel: Sentinel, wire: Wire
) -> None:
    queue = Queue(wire, "q")
    old = sentinel.master
    job_ids = Minter().mint_many(20)
    sentinel.watchers[0].admin.execute_command("SENTINEL", "FAILOVER", sentinel.service)

    for job_id in job_ids:
        assert queue.enqueue(job_id, b"{}") is Admission.ADMITTED
    eventually(lambda: sentinel.master is not old, message="the sentinels' new master")

    assert queue.enqueue(Minter().mint(), b"{}") is Admission.ADMITTED


def test_a_claim_on_a_master_that_became_read_only_is_sent_again_and_holds_one_job(
    sentinel: Sentinel,
) -> None:
    gap = Gap()
    queue = Queue(Wire(sentinel.client(), sleep=gap), "q")
    first, second = Minter().mint_many(2)
    queue.enqueue(first, b"{}")
    queue.enqueue(second, b"{}")
    master = sentinel.master
    load_all(master)
    master.ask("REPLICAOF", "127.0.0.1", 1)
    gap.meanwhile = lambda: master.ask("REPLICAOF", "NO", "ONE")

    (held,) = queue.claim_many(MINUTE, 1, new_label())

    assert (held.job_id, held.token) == (first, 1)
    assert queue.facts().counts.active == 1
