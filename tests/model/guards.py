"""The guards of the protocol, each with how to take it out: a text to replace, or a judge to bribe."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Final, NamedTuple

import pytest

from echomq_app.protocol.script import every_verb, script
from echomq_app.protocol.states import Completion
from echomq_app.service import plans
from echomq_app.service.plans import Plan
from echomq_app.wire.exchange import Answer
from tests.model.bound import Machine
from tests.model.slot_machine import SlotMachine
from tests.model.upkeep_machine import KeptMachine

Removal = Callable[[pytest.MonkeyPatch], None]


class Guard(NamedTuple):
    """``rules``: those of the machine ``of`` that lead to where the guard is needed."""

    remove: Removal
    rules: str
    of: Machine = KeptMachine


def replaced(*changes: tuple[str, str]) -> Removal:
    """Run all scripts with other text; each change must hit at least one of them."""

    def remove(patch: pytest.MonkeyPatch) -> None:
        for before, after in changes:
            hit = [verb for verb in every_verb() if before in script(verb).text]
            assert hit, f"no script has this guard any more: {before}"
            for verb in hit:
                _rewrite(patch, verb, before, after)

    return remove


def _rewrite(patch: pytest.MonkeyPatch, verb: str, before: str, after: str) -> None:
    known = vars(script(verb))
    text = script(verb).text.replace(before, after)
    assert text != script(verb).text
    digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
    patch.setitem(known, "text", text)
    patch.setitem(known, "sha", digest)


def _all_payloads_look_alike(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plans, "payload", SimpleNamespace(mark=lambda raw: "one nonce for all"))


def _nobody_reads_the_receipt(patch: pytest.MonkeyPatch) -> None:
    def settled(keys: object, held: object, answer: Answer[Completion]) -> Plan[object]:
        return answer.unwrap()
        yield ()

    patch.setattr(plans, "settled", settled)


GUARDS: Final[Mapping[str, Guard]] = {
    "token": Guard(
        replaced((" or fields[1] ~= token then return nil, 'token' end", " then return nil end")),
        "enqueue claim lapsed_jobs_come_back foreign_claim complete",
    ),
    "place, where a late settle may still find it": Guard(
        replaced(
            (
                "if redis.call('ZSCORE', active, id) then return 'active' end",
                "do return 'active' end",
            )
        ),
        "enqueue claim_many lapsed_jobs_come_back complete retry",
    ),
    "place, for those that must be active": Guard(
        replaced(("if not redis.call('ZSCORE', active, id) then return refuse('place') end", "")),
        "enqueue claim_many lapsed_jobs_come_back release delay extend_one",
    ),
    "place, in a batch of extensions": Guard(
        replaced((" and redis.call('ZSCORE', active, id) then", " then")),
        "enqueue claim_many lapsed_jobs_come_back extend",
    ),
    "label": Guard(
        replaced(("if label ~= '' and fields[2] ~= token .. ' ' .. label then", "if false then")),
        "enqueue claim_many complete release lapsed_jobs_come_back",
    ),
    "settled mark": Guard(
        replaced(
            (
                "if settled and string.sub(settled, 1, #token + 1) == token .. ' ' then",
                "if false then",
            )
        ),
        "enqueue claim_many release delay retry complete scheduled_jobs_come_back",
    ),
    "nonce": Guard(
        _all_payloads_look_alike, "enqueue enqueue_many enqueue_under_a_new_id foreign_enqueue"
    ),
    "receipt, for an admission": Guard(
        replaced(
            ("if result and redis.call('EXISTS', result) == 1 then return 0 end", ""),
            (
                "redis.call('EXISTS', row, base .. 'result:' .. id) > 0",
                "redis.call('EXISTS', row) > 0",
            ),
        ),
        "enqueue enqueue_many claim_many complete remove",
    ),
    "receipt, for a completion": Guard(_nobody_reads_the_receipt, "enqueue claim_many complete"),
    "receipt, for a removal": Guard(
        replaced(("if label ~= '' and ended_by(base, id, label) then", "if false then")),
        "enqueue remove foreign_enqueue a_late_packet_arrives",
    ),
    "row, for an admission": Guard(
        replaced(("if redis.call('EXISTS', row) == 1 then return 0 end", "")),
        "enqueue claim_many",
    ),
    "ghost, for the seed's claim": Guard(
        replaced(("if redis.call('EXISTS', row) == 0 then return {} end", "")),
        "enqueue claim a_row_is_deleted",
    ),
    "ghost, for promote and reap": Guard(
        replaced(("  elseif fields[1] then\n    moved", "  else\n    moved")),
        "enqueue claim sweep schedules_come_due leases_lapse a_row_is_deleted",
    ),
    "excused": Guard(
        replaced(("job.attempts - job.excused >= max_attempts", "job.attempts >= max_attempts")),
        "enqueue claim_many release retry scheduled_jobs_come_back",
    ),
    "requeue's mark": Guard(
        replaced(("if label ~= '' and fields[3] == label then", "if false then")),
        "enqueue claim_many retry requeue scheduled_jobs_come_back",
    ),
    "one place": Guard(
        replaced(
            (
                "redis.call('ZREM', active, id)\nredis.call('HSET', row, 'state', 'pending'",
                "redis.call('HSET', row, 'state', 'pending'",
            )
        ),
        "enqueue claim_many release",
    ),
    "lane's books": Guard(
        replaced(("if was_running then lane_job_stopped(lane) end", "")),
        "foreign_lane_enqueue foreign_lane_claim lapsed_jobs_come_back",
    ),
    "lane's books, at a claim": Guard(
        replaced(("lane_jobs_started(lane, #jobs)", "")), "lane_enqueue lane_claim"
    ),
    "ceiling, within a turn": Guard(
        replaced(
            ("math.min(size_of(lane), (lane.limit or math.huge) - lane.running)", "size_of(lane)")
        ),
        "lane_enqueue lane_claim lane_limit_and_weight",
    ),
    "ceiling, for the ring": Guard(
        replaced((" and not (lane.limit and lane.running >= lane.limit)", "")),
        "lane_enqueue lane_claim lane_limit_and_weight",
    ),
    "pause of a lane": Guard(
        replaced(("lane.waiting > 0 and not lane.parked and", "lane.waiting > 0 and")),
        "lane_enqueue lane_switch",
    ),
    "ring, for a lane that lost its last job": Guard(
        replaced(("if lane.waiting < 1 then redis.call('LREM'", "if false then redis.call('LREM'")),
        "lane_enqueue lane_reassign lane_drain",
    ),
    "place, for a move between lanes": Guard(
        replaced(("if not redis.call('ZSCORE', source.key, id) then return -2 end", "")),
        "lane_enqueue lane_claim lane_reassign",
    ),
    "lane, for a reap of its own": Guard(
        replaced(
            ("if redis.pcall('HGET', base .. 'job:' .. id, 'group') == group then", "if true then")
        ),
        "enqueue lane_enqueue lane_claim claim_many leases_lapse lane_reap",
    ),
    "bound of the wake list": Guard(
        replaced(("or waiting >= 64 then", "then"), ("math.min(count, 64 - waiting)", "count")),
        "enqueue a_flood_is_drained",
    ),
    "bound of the outcomes": Guard(
        replaced(("bound_outcomes(base, limit, now)\nreturn 1", "return 1")),
        "enqueue_under_a_new_id claim_many complete",
    ),
    "lists of what is kept": Guard(
        replaced(("redis.pcall('ZREM', base .. 'outcomes', id)", "")),
        "enqueue claim_many complete what_is_kept_expires sweep",
    ),
    "end of a row's errors": Guard(
        replaced(("redis.pcall('PEXPIRE', errors, keep_ms)", "")), "enqueue claim_many retry"
    ),
    "holder, for a payload": Guard(
        replaced(
            (
                "if redis.call('ZSCORE', active, id) then\n  return redis.error_reply",
                "if false then\n  return redis.error_reply",
            )
        ),
        "enqueue claim_many update_data",
    ),
    "receipt, of a drained job": Guard(
        replaced(("if receipt_ms > 0 and fields[2] then", "if false then")),
        "enqueue drain",
    ),
    "ceiling": Guard(
        replaced(("math.min(size, headroom(base .. 'meta', active))", "size")),
        "enqueue set_rate rate_consult",
    ),
    "jobs that run, for obliterate": Guard(
        replaced(
            ("if not force and redis.call('ZCARD', base .. 'active') > 0 then", "if false then")
        ),
        "enqueue claim_many obliterate",
    ),
    "revision": Guard(
        replaced(("if redis.call('HGET', slot, 'revision') ~= revision then return -1 end", "")),
        "create look fire others_edit others_begin_anew",
        SlotMachine,
    ),
    "due time that was seen": Guard(
        replaced(
            (
                "if tonumber(redis.call('ZSCORE', slots, name) or '') ~= due_ms then return -1 end",
                "",
            )
        ),
        "create look fire time_passes",
        SlotMachine,
    ),
    "due time that has come": Guard(
        replaced(("if due_ms > now then return -2 end", "")),
        "create edit fire",
        SlotMachine,
    ),
    "window around the server's clock": Guard(
        replaced(("(last_ms > now or next_ms <= now)", "false")),
        "create look fire time_passes",
        SlotMachine,
    ),
    "row, for a slot": Guard(
        replaced(
            ("if redis.call('EXISTS', row, base .. 'result:' .. id) > 0 then return 0 end", "")
        ),
        "create look fire time_passes",
        SlotMachine,
    ),
    "what an editor saw": Guard(
        replaced(
            (
                "(score and tonumber(score)) ~= seen_due_ms then return 0 end",
                "false then return 0 end",
            )
        ),
        "create look edit fire time_passes",
        SlotMachine,
    ),
    "writing's own revision": Guard(
        replaced(("if stands == revision then return 1 end", "")),
        "create look fire time_passes",
        SlotMachine,
    ),
    "revision, for a removal": Guard(
        replaced(
            (
                "if revision ~= '' and redis.pcall('HGET', slot, 'revision') ~= revision then return 0 end",
                "",
            )
        ),
        "create look remove others_edit",
        SlotMachine,
    ),
}
