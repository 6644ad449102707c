"""Flows over two queues whose requests or replies are lost: each job runs once, each parent hears once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from echomq_app.protocol.errors import ConnectionLost, IdCollision
from echomq_app.protocol.states import Admission, State
from echomq_app.service.flow_plans import Carried
from echomq_app.service.flows import Flows
from echomq_app.service.queue import Queue
from tests.faults.flows import FAR, far_flow, flow_of, new_flow
from tests.faults.scene import Hand, Scene
from tests.servers.proxy import CuttingProxy
from tests.wire.links import Gap, runs


@pytest.fixture
def far(scene: Scene) -> Hand:
    """A fast worker of the queue where the children are."""
    return Hand(Queue(scene.direct.wire, FAR))


def finish_all(scene: Scene, far: Hand) -> None:
    """Run what can be claimed, children first, and carry what they tell."""
    far.clear()
    Flows(scene.direct.wire).carry(FAR)
    scene.hand.clear()


def nth(sending: int) -> Callable[[tuple[bytes, ...]], bool]:
    """The ``sending``-th run of flow_add, counted from one."""
    seen = iter(range(1, 100))
    is_run = runs("flow_add")
    return lambda words: is_run(words) and next(seen) == sending


@pytest.mark.parametrize("sending", [1, 2, 3])
@pytest.mark.parametrize("raced", [False, True])
def test_a_lost_reply_anywhere_in_a_flow_s_admission_runs_no_job_twice(
    scene: Scene, far: Hand, proxy: CuttingProxy, gap: Gap, sending: int, raced: bool
) -> None:
    flow = far_flow(scene)
    gap.meanwhile = lambda: finish_all(scene, far) if raced else None
    cut = proxy.cut_before_reply(nth(sending))

    assert flow_of(scene).add(flow) is Admission.ADMITTED

    assert cut.fired == 1
    finish_all(scene, far)
    assert dict(far.ran) == {child.job_id: 1 for child in flow.children}
    assert dict(scene.hand.ran) == {flow.job_id: 1}


@pytest.mark.parametrize("sending", [1, 2, 3])
def test_a_lost_request_anywhere_in_a_flow_s_admission_loses_no_job(
    scene: Scene, far: Hand, proxy: CuttingProxy, sending: int
) -> None:
    flow = far_flow(scene)
    cut = proxy.cut_before_request(nth(sending))

    assert flow_of(scene).add(flow) is Admission.ADMITTED

    assert cut.fired == 1
    finish_all(scene, far)
    assert dict(far.ran) == {child.job_id: 1 for child in flow.children}
    assert dict(scene.hand.ran) == {flow.job_id: 1}


def test_a_flow_that_is_sent_again_by_hand_after_its_end_runs_nothing(
    scene: Scene, far: Hand
) -> None:
    flow = far_flow(scene)
    flow_of(scene).add(flow)
    finish_all(scene, far)

    assert flow_of(scene).add(flow) is Admission.DUPLICATE

    finish_all(scene, far)
    assert set(far.ran.values()) == set(scene.hand.ran.values()) == {1}


def test_a_child_that_another_job_took_between_two_sendings_is_a_collision(
    scene: Scene, proxy: CuttingProxy, gap: Gap
) -> None:
    flow = new_flow(scene)
    child = flow.children[1].job_id
    gap.meanwhile = lambda: scene.direct.enqueue(child, b"another")
    proxy.cut_before_request(runs("flow_add"))

    with pytest.raises(IdCollision):
        flow_of(scene).add(flow)

    assert scene.state(flow.job_id) is State.ABSENT


def test_a_lost_reply_to_a_delivery_is_sent_again_and_counts_once(
    scene: Scene, far: Hand, proxy: CuttingProxy
) -> None:
    flow = far_flow(scene)
    flow_of(scene).add(flow)
    far.clear()
    cut = proxy.cut_before_reply(runs("flow_deliver"))

    assert flow_of(scene).carry(FAR) == Carried(2, 0)

    assert cut.fired == 1
    assert scene.state(flow.job_id) is State.PENDING


@pytest.mark.parametrize("lost", ["reply", "request"])
def test_a_sweep_that_may_have_been_lost_is_made_good_by_the_next_carrying(
    scene: Scene, far: Hand, proxy: CuttingProxy, lost: str
) -> None:
    flow = far_flow(scene)
    flow_of(scene).add(flow)
    far.clear()
    cut = proxy.cut_before_reply if lost == "reply" else proxy.cut_before_request
    cut(runs("flow_sweep"))

    with pytest.raises(ConnectionLost):
        flow_of(scene).carry(FAR)

    left = 0 if lost == "reply" else 2
    assert flow_of(scene).carry(FAR) == Carried(left, 0)
    assert flow_of(scene).children(scene.direct.name, flow.job_id).left == 0
    scene.hand.clear()
    assert dict(scene.hand.ran) == {flow.job_id: 1}
