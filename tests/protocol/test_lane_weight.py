from __future__ import annotations

import pytest

from echomq_app.protocol.errors import InvalidInput, InvalidLane, WrongType
from tests.protocol.lanes import GROUP, waits
from tests.protocol.scene import LONG, Scene


def test_a_weight_is_kept_until_it_is_taken_back(scene: Scene) -> None:
    waits(scene, count=9)

    scene.lanes.weight(GROUP, 3)
    assert len(scene.lanes.claim_weighted(LONG)) == 3

    scene.lanes.weight(GROUP, 2)
    assert len(scene.lanes.claim_weighted(LONG)) == 2

    scene.lanes.weight(GROUP, None)
    assert len(scene.lanes.claim_weighted(LONG)) == 1
    assert scene.client.exists(scene.keys.gweight) == 0


def test_a_plain_claim_knows_no_weights(scene: Scene) -> None:
    waits(scene, count=3)
    scene.lanes.weight(GROUP, 3)

    assert len(scene.lanes.claim(LONG)) == 1


def test_said_twice_is_said_once(scene: Scene) -> None:
    scene.lanes.weight(GROUP, 3)
    before = scene.snapshot()

    scene.lanes.weight(GROUP, 3)

    assert scene.snapshot() == before


def test_weights_of_another_type_refuse_with_nothing_written(scene: Scene) -> None:
    scene.client.set(scene.keys.gweight, "x")

    with pytest.raises(WrongType):
        scene.lanes.weight(GROUP, 3)

    assert scene.client.get(scene.keys.gweight) == b"x"


@pytest.mark.parametrize("weight", [0, -1, 1.5, True, "2"])
def test_a_weight_that_is_none_is_refused_before_any_wire(scene: Scene, weight: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        scene.lanes.weight(GROUP, weight)

    assert str(refused.value) == (
        f"a lane's weight is a whole number from 1 to 9007199254740991; got {weight!r}"
    )


def test_a_name_that_is_none_is_refused_before_any_wire(scene: Scene) -> None:
    with pytest.raises(InvalidLane, match="a lane is named by a branded id"):
        scene.lanes.weight("shop", 1)
