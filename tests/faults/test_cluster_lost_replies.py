"""Lost replies and lost requests on a cluster, over both links: each verb, by the table of cases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from echomq_app.protocol import calls
from echomq_app.protocol.errors import ConnectionLost
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.keyspace import QueueKeys, slot
from echomq_app.protocol.states import Admission
from echomq_app.wire.link import Wire
from tests.faults.cases import CASES, came_to, script_of
from tests.faults.doors import LosingCluster
from tests.faults.scene import Scene
from tests.servers.cluster import Cluster
from tests.servers.proxy import CuttingProxy
from tests.wire.links import AwaitedWire, Gap, load_all, runs

each_case = pytest.mark.parametrize("name", CASES)


@pytest.fixture
def losing(cluster: Cluster) -> Iterator[LosingCluster]:
    for node in cluster.nodes:
        load_all(node)
    with LosingCluster(cluster) as losing:
        yield losing


@pytest.fixture(params=["blocking", "awaited"])
def scene(
    request: pytest.FixtureRequest, cluster: Cluster, losing: LosingCluster, gap: Gap
) -> Iterator[Scene]:
    if request.param == "blocking":
        yield Scene(cluster.client(), Wire(losing.client(), sleep=gap))
        return
    wire = AwaitedWire(losing.async_client(), gap=gap)
    yield Scene(cluster.client(), wire)
    wire.close()


@pytest.fixture
def proxy(cluster: Cluster, losing: LosingCluster, scene: Scene) -> CuttingProxy:
    """The proxy before the node of the scene's queue."""
    return losing.proxy_of(cluster.owner(slot(scene.keys.base)))


@each_case
def test_a_fast_worker_between_loss_and_resend_runs_no_job_twice(
    name: str, scene: Scene, proxy: CuttingProxy, gap: Gap
) -> None:
    case = CASES[name]
    arranged = case.arrange(scene)
    gap.meanwhile = scene.hand.clear
    cut = proxy.cut_before_reply(runs(script_of(name)))

    assert came_to(case, scene, arranged, case.raced) == case.raced
    scene.hand.clear()

    assert cut.fired == 1
    assert set(scene.hand.ran.values()) == ({case.runs} if case.runs else set())
    assert all(len(scene.holders(job_id)) <= 1 for job_id in scene.payloads)


@each_case
def test_a_verb_whose_request_was_lost_happens_once_or_says_that_it_may_not_have(
    name: str, scene: Scene, proxy: CuttingProxy, losing: LosingCluster
) -> None:
    case, verb = CASES[name], script_of(name)
    arranged = case.arrange(scene)
    cut = proxy.cut_before_request(runs(verb))
    never = isinstance(case.resent, type)
    expected = case.resent if never else case.result

    assert came_to(case, scene, arranged, expected) == expected

    assert cut.fired == 1
    assert len(losing.sent(runs(verb))) == (1 if never else 2)


def test_a_loss_on_one_node_costs_the_calls_of_other_nodes_nothing(
    scene: Scene, cluster: Cluster, losing: LosingCluster, proxy: CuttingProxy
) -> None:
    home = cluster.owner(slot(scene.keys.base))
    other = next(
        keys
        for keys in (QueueKeys(f"other-{number}") for number in range(100))
        if cluster.owner(slot(keys.base)) is not home
    )
    scene.waiting()
    cut = proxy.cut_before_reply(runs("claim_many"))

    answers = scene.lossy.wire.answer(
        [
            calls.claim_many(scene.keys, 60_000, 1, "label"),
            calls.enqueue(other, Minter().mint(), b"{}"),
        ]
    )

    assert cut.fired == 1
    assert isinstance(answers[0].error, ConnectionLost)
    assert (answers[1].value, answers[1].resent) == (Admission.ADMITTED, False)
