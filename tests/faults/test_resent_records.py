"""What the resend of a stream's verbs meets, and what is left to the caller."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from echomq_app.protocol.entries import record_ids
from echomq_app.protocol.errors import ConnectionLost, NotMonotonic
from echomq_app.protocol.states import StreamStart
from echomq_app.service.streams import Stream
from tests.faults.scene import NAME, Scene
from tests.servers.proxy import CuttingProxy
from tests.servers.traps import named
from tests.wire.links import Gap


def streams(scene: Scene) -> tuple[Stream, Stream]:
    """A stream over the lossy wire, and directly."""
    lossy, direct = scene.lossy.wire, scene.direct.wire
    return Stream(lossy, NAME, "log", scene.minter), Stream(direct, NAME, "log", scene.minter)


def test_a_resent_append_finds_its_own_record_and_adds_none(
    scene: Scene, proxy: CuttingProxy
) -> None:
    lossy, direct = streams(scene)
    cut = proxy.cut_before_reply(named("XADD"))

    record_id = lossy.append({"n": 1})

    assert cut.fired == 1
    assert [record.record_id for record in direct.read()] == [record_id]


def test_a_resent_batch_keeps_its_order_and_holds_each_record_once(
    scene: Scene, proxy: CuttingProxy
) -> None:
    lossy, direct = streams(scene)
    proxy.cut_before_reply(lambda words: words[0] == b"XADD" and words[-1] == b"3")

    ids = lossy.append_many([{"n": number} for number in range(6)])

    assert [record.record_id for record in direct.read()] == ids
    assert [record.fields["n"] for record in direct.read()] == [b"%d" % n for n in range(6)]


def test_a_resent_append_is_not_taken_for_another_s_record_in_its_place(
    scene: Scene, proxy: CuttingProxy, gap: Gap
) -> None:
    lossy, direct = streams(scene)
    (record_id,) = record_ids([scene.minter.mint()])
    gap.meanwhile = lambda: direct.append({"n": "theirs"}, record_id)
    proxy.cut_before_request(named("XADD"))

    with pytest.raises(NotMonotonic):
        lossy.append({"n": "ours"}, record_id)


TAKES: dict[str, Callable[[Stream], object]] = {
    "XREADGROUP": lambda stream: stream.read_group("mail", "me"),
    "XAUTOCLAIM": lambda stream: stream.claim_back("mail", "me", timedelta()),
}


@pytest.mark.parametrize("command", TAKES)
def test_records_whose_delivery_was_lost_are_the_consumer_s_own(
    scene: Scene, proxy: CuttingProxy, command: str
) -> None:
    lossy, direct = streams(scene)
    direct.join("mail", StreamStart.OLDEST)
    record_id = direct.append({"n": 1})
    if command == "XAUTOCLAIM":
        direct.read_group("mail", "gone")
    cut = proxy.cut_before_reply(named(command))

    with pytest.raises(ConnectionLost):
        TAKES[command](lossy)

    assert cut.fired == 1
    assert [record.record_id for record in lossy.read_own("mail", "me")] == [record_id]


def test_a_resent_ack_and_a_resent_join_change_nothing_more(
    scene: Scene, proxy: CuttingProxy
) -> None:
    lossy, direct = streams(scene)
    proxy.cut_before_reply(named("XGROUP"))
    proxy.cut_before_reply(named("XACK"))

    assert lossy.join("mail", StreamStart.OLDEST) is True
    direct.append_many([{"n": 1}, {"n": 2}])
    first, second = direct.read_group("mail", "me")
    lossy.ack("mail", [first])

    assert [one.entry for one in direct.unacked("mail")] == [second.entry]
