"""A master of a cluster that dies: its replica takes its slots, or it comes back itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from echomq_app.protocol.ids import Minter
from echomq_app.protocol.keyspace import slot
from echomq_app.protocol.states import Admission, Completion
from echomq_app.service.queue import Queue, new_label
from echomq_app.wire.exchange import Bus
from echomq_app.wire.link import Wire
from tests.eventually import eventually
from tests.servers.cluster import CLUSTERED, Cluster
from tests.servers.engines import any_engine
from tests.servers.parts import CLUSTER_ENGINES
from tests.servers.server import BUS, LOOPBACK, Server, free_port
from tests.wire.links import AwaitedWire

MINUTE = timedelta(minutes=1)
PATIENT_S = 30.0

pytestmark = pytest.mark.part("cluster")


@pytest.fixture
def own_cluster() -> Iterator[Cluster]:
    """Three masters for this test alone."""
    found = any_engine(*CLUSTER_ENGINES)
    assert found is not None
    with Cluster(found) as cluster:
        yield cluster


@contextmanager
def replica_of(master: Server, cluster: Cluster) -> Iterator[Server]:
    """A fourth node that follows ``master`` and may take its place."""
    master_id = master.ask("CLUSTER", "MYID")
    with Server(master.engine, *CLUSTERED, port=free_port()) as replica:
        replica.ask("CLUSTER", "MEET", LOOPBACK, master.port, master.port + BUS)
        nodes = [replica, *cluster.nodes]
        eventually(
            lambda: all(b"known_nodes:4" in node.ask("CLUSTER", "INFO") for node in nodes),
            within=30,
            message="everybody's acquaintance with the replica",
        )
        replica.ask("CLUSTER", "REPLICATE", master_id)
        eventually(
            lambda: replica.admin.info("replication").get("master_link_status") == "up",
            within=30,
            message="the replica's link to its master",
        )
        yield replica


@pytest.fixture(params=["blocking", "awaited"])
def wire(request: pytest.FixtureRequest, own_cluster: Cluster) -> Iterator[Wire]:
    """A patient wire to the cluster."""
    bus = Bus(patience_s=PATIENT_S)
    if request.param == "blocking":
        yield Wire(own_cluster.client(socket_timeout=1), bus)
        return
    awaited = AwaitedWire(own_cluster.async_client(socket_timeout=1), bus)
    yield awaited
    awaited.close()


def test_calls_go_on_by_themselves_when_a_replica_takes_a_dead_masters_slots(
    own_cluster: Cluster, wire: Wire
) -> None:
    queue = Queue(wire, "q")
    first, second = Minter().mint_many(2)
    master = own_cluster.owner(slot(queue.keys.base))
    with replica_of(master, own_cluster) as replica:
        queue.enqueue(first, b"{}")
        eventually(lambda: replica.ask("DBSIZE") == master.ask("DBSIZE"), message="the copy")
        master.kill()

        assert queue.enqueue(second, b"{}") is Admission.ADMITTED

        held = queue.claim_many(MINUTE, 5, new_label())
        assert [one.job_id for one in held] == [first, second]
        assert [queue.complete(one) for one in held] == [Completion.COMPLETED] * 2


def test_calls_go_on_by_themselves_when_a_master_comes_back(
    own_cluster: Cluster, wire: Wire
) -> None:
    queue = Queue(wire, "q")
    queue.enqueue(Minter().mint(), b"{}")
    own_cluster.owner(slot(queue.keys.base)).restart()

    assert queue.enqueue(Minter().mint(), b"{}") is Admission.ADMITTED
