"""What each verb of flows does when its reply is lost."""

from __future__ import annotations

from typing import Final

from echomq_app.protocol import calls
from echomq_app.protocol.errors import ConnectionLost
from echomq_app.protocol.states import Admission
from tests.faults.case import Case
from tests.faults.flows import entry_told, flow_of, held_parent, new_flow, tell

FLOW_CASES: Final[dict[str, Case]] = {
    "flow_add": Case(
        arrange=new_flow,
        act=lambda scene, flow: flow_of(scene).add(flow),
        result=Admission.ADMITTED,
        resent=Admission.ADMITTED,
        raced=Admission.ADMITTED,
        runs=1,
    ),
    "flow_deliver": Case(
        arrange=held_parent, act=tell, result=True, resent=False, raced=False, runs=1
    ),
    "flow_sweep": Case(
        arrange=entry_told,
        act=lambda scene, entry: scene.lossy.wire.run(calls.flow_sweep(scene.keys, [entry])),
        result=1,
        resent=ConnectionLost,
        raced=ConnectionLost,
        runs=0,
    ),
}
