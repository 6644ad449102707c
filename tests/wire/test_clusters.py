"""A cluster of three masters: every verb, many slots in one answer, slots that move."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import ServerUnavailable
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.keyspace import VERSION, QueueKeys, slot
from echomq_app.protocol.states import Admission, State
from echomq_app.service.queue import Queue
from echomq_app.wire.exchange import Bus
from echomq_app.wire.link import Wire
from tests.faults.cases import CASES
from tests.faults.scene import NAME, Scene
from tests.servers.cluster import Cluster
from tests.servers.server import Server
from tests.wire.links import AwaitedWire, Gap, load_all

KEYS = QueueKeys(NAME)
WireToCluster = Callable[..., Wire]


@pytest.fixture
def gap() -> Gap:
    return Gap()


@pytest.fixture(params=["blocking", "awaited"])
def wire_to(request: pytest.FixtureRequest, cluster: Cluster, gap: Gap) -> Iterator[WireToCluster]:
    """Makes a wire to the cluster that pauses in ``gap``."""
    awaited: list[AwaitedWire] = []

    def make(bus: Bus | None = None) -> Wire:
        if request.param == "blocking":
            return Wire(cluster.client(), bus, sleep=gap)
        awaited.append(AwaitedWire(cluster.async_client(), bus, gap=gap))
        return awaited[-1]

    yield make
    for wire in awaited:
        wire.close()


def queues_on_all_nodes(cluster: Cluster) -> list[QueueKeys]:
    """Six queues, two on each node, in different slots."""
    found: dict[int, list[QueueKeys]] = {node.port: [] for node in cluster.nodes}
    for number in range(1000):
        keys = QueueKeys(f"shop-{number}")
        names = found[cluster.owner(slot(keys.base)).port]
        if len(names) < 2:
            names.append(keys)
        if all(len(names) == 2 for names in found.values()):
            break
    return [keys for pair in zip(*found.values(), strict=True) for keys in pair]


def another_node(cluster: Cluster, owner: Server) -> Server:
    return next(node for node in cluster.nodes if node is not owner)


@pytest.mark.parametrize("name", CASES)
def test_every_verb_answers_as_on_a_plain_server(
    name: str, cluster: Cluster, wire_to: WireToCluster
) -> None:
    case = CASES[name]
    scene = Scene(cluster.client(), wire_to())

    assert case.act(scene, case.arrange(scene)) == case.result


def test_one_answer_serves_queues_in_many_slots_and_keeps_their_order(
    cluster: Cluster, wire_to: WireToCluster
) -> None:
    queues = queues_on_all_nodes(cluster)
    jobs = [(keys, job_id) for keys in queues * 3 for job_id in [Minter().mint()]]
    wire = wire_to()

    admitted = wire.answer([calls.enqueue(keys, job_id, job_id.encode()) for keys, job_id in jobs])
    rows = wire.answer(
        [
            calls.command(keys.row(job_id), "HGET", keys.row(job_id), "payload", read=bytes)
            for keys, job_id in jobs
        ]
    )

    assert [answer.unwrap() for answer in admitted] == [Admission.ADMITTED] * len(jobs)
    assert [answer.unwrap() for answer in rows] == [job_id.encode() for _, job_id in jobs]


def test_scripts_that_all_nodes_miss_are_loaded_on_each(
    cluster: Cluster, wire_to: WireToCluster
) -> None:
    wire = wire_to()
    for node in cluster.nodes:
        node.ask("SCRIPT", "FLUSH")

    answers = wire.answer(
        [calls.enqueue(keys, Minter().mint(), b"{}") for keys in queues_on_all_nodes(cluster)]
    )

    assert [answer.unwrap() for answer in answers] == [Admission.ADMITTED] * 6


def test_the_fence_stands_on_the_one_node_that_holds_it(
    cluster: Cluster, wire_to: WireToCluster
) -> None:
    Queue(wire_to(), NAME).pending_size()

    holder = cluster.owner(slot(VERSION))
    assert holder.ask("GET", VERSION) == b"echomq:4.0.0"


def test_a_slot_that_moved_is_found_again(cluster: Cluster, wire_to: WireToCluster) -> None:
    queue, place = Queue(wire_to(), NAME), slot(KEYS.base)
    first, second = Minter().mint_many(2)
    queue.enqueue(first, b"{}")
    cluster.begin_migration(place, another_node(cluster, cluster.owner(place)))
    cluster.finish_migration(place)

    assert queue.enqueue(second, b"{}") is Admission.ADMITTED

    assert [queue.state(job_id) for job_id in (first, second)] == [State.PENDING] * 2


def test_the_fence_is_found_again_after_its_slot_moved(
    cluster: Cluster, wire_to: WireToCluster
) -> None:
    wire, place = wire_to(), slot(VERSION)
    queue = Queue(wire, NAME)
    queue.pending_size()
    cluster.begin_migration(place, another_node(cluster, cluster.owner(place)))
    cluster.finish_migration(place)
    wire.bus.fenced = False

    assert queue.pending_size() == 0


def test_while_a_slot_moves_its_scripts_wait_and_run_once_after_it(
    cluster: Cluster, wire_to: WireToCluster, gap: Gap
) -> None:
    queue, place = Queue(wire_to(), NAME), slot(KEYS.base)
    first, second = Minter().mint_many(2)
    queue.enqueue(first, b"{}")
    cluster.begin_migration(place, another_node(cluster, cluster.owner(place)))
    cluster.move_keys(place, 1)
    gap.meanwhile = lambda: cluster.finish_migration(place)

    assert queue.enqueue(second, b"{}") is Admission.ADMITTED

    assert gap.pauses
    assert queue.facts().counts.pending == 2


def test_while_a_slot_moves_on_and_on_a_script_is_given_up_in_time(
    cluster: Cluster, wire_to: WireToCluster
) -> None:
    queue, place = Queue(wire_to(Bus(patience_s=0)), NAME), slot(KEYS.base)
    queue.enqueue(Minter().mint(), b"{}")
    cluster.begin_migration(place, another_node(cluster, cluster.owner(place)))
    cluster.move_keys(place, 1)

    with pytest.raises(ServerUnavailable, match=r"enqueue.? within 0 s"):
        queue.enqueue(Minter().mint(), b"{}")


def test_a_script_of_one_key_is_asked_of_the_new_node_which_has_to_load_it(
    cluster: Cluster, wire_to: WireToCluster
) -> None:
    queue, place = Queue(wire_to(), NAME), slot(KEYS.base)
    queue.enqueue(Minter().mint(), b"{}")
    for node in cluster.nodes:
        load_all(node)
    target = another_node(cluster, cluster.owner(place))
    target.ask("SCRIPT", "FLUSH")
    cluster.begin_migration(place, target)

    assert queue.pause()

    cluster.finish_migration(place)
    assert queue.is_paused()


def test_a_plain_read_is_asked_of_the_node_that_its_key_went_to(
    cluster: Cluster, wire_to: WireToCluster
) -> None:
    queue, place = Queue(wire_to(), NAME), slot(KEYS.base)
    queue.enqueue(Minter().mint(), b"{}")
    cluster.begin_migration(place, another_node(cluster, cluster.owner(place)))
    cluster.move_keys(place)

    assert queue.pending_size() == 1
