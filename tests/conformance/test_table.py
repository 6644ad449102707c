"""The table in the docs: every scenario has its test, or a reason."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache

import pytest

from checks.tree import ROOT
from tests.servers.parts import why_missing

PAGE = ROOT / "docs" / "reference" / "conformance.md"
ROW = re.compile(r"^\| (?P<number>\d+) \| (?P<name>\w+) \| (?P<fate>.+) \|$", re.MULTILINE)
TEST = re.compile(r"^`(?P<file>tests/conformance/\w+\.py)::(?P<test>test_\w+)`$")
REASON = re.compile(r"^(?:Decision \d+: .{20,}|Later: .{10,})\.$")
NAMES = (
    *("fence", "mint", "duplicate", "kind", "order", "claim", "stale", "complete", "retry"),
    *("dead", "reap", "rotate", "pause", "limit", "schedule", "repeat", "backoff"),
    *("resubscribe", "counts", "state", "metrics", "dedup", "rate", "lane_depth"),
    *("queue_pause", "drain", "obliterate", "update_data", "update_progress", "job_logs"),
    *("remove_job", "reprocess_job", "lock_extend", "stalled", "events", "telemetry", "cancel"),
    *("unknown_state", "rate_consult", "dedup_release", "extend_locks_batch", "stalled_group"),
    *("obliterate_grouped", "reassign", "lane_drain", "reap_group", "flow_add", "flow_fanin"),
    *("flow_children_values", "flow_cross_queue", "flow_fail_parent", "flow_ignore_dep"),
    *("flow_add_bulk", "flow_grandchild", "flow_grandchild_fail", "pool_enqueue", "pool_order"),
    *("native_lock_field", "native_lock_refuses", "weighted_proportion", "starvation_drill"),
    *("batch_claim", "batch_claim_short", "batch_partial_failure", "batch_shaping_floor"),
    *("batch_shaping_timeout", "batch_shaping_partial_failure", "grouped_batch_affinity"),
    *("grouped_batch_ceiling", "grouped_batch_fairness", "batch_partition", "batch_delay"),
    *("batch_delay_stale", "stream_verbs", "stream_append", "stream_group"),
    *("stream_retention", "stream_archived", "stream_time_travel"),
)
DEPLOYMENTS = tuple(
    part for part in ("valkey-9", "redis-7", "redis-8", "cluster") if not why_missing(part)
)
ONLY_WITH_FIELD_EXPIRY = {"native_lock_refuses"}
SEEDS = ("L1_surface", "L2_happy", "L3_fence", "L4_schedule", "L5_dead", "L6_reap")


def rows() -> list[tuple[int, str, str]]:
    """Number, name and fate of each row."""
    return [
        (int(row["number"]), row["name"], row["fate"]) for row in ROW.finditer(PAGE.read_text())
    ]


@cache
def collected() -> frozenset[str]:
    """The tests of this folder as pytest finds them on this machine, parameters included."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/conformance"]
    plain = {name: value for name, value in os.environ.items() if name != "CI"}
    listing = subprocess.run(
        [*command, "-p", "no:cacheprovider"],
        cwd=ROOT,
        env=plain,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    return frozenset(line for line in listing.splitlines() if "::" in line)


def is_collected(test: str, deployment: str) -> bool:
    """Whether a test runs on a deployment; where two can speak, with our own verbs."""
    return not collected().isdisjoint({f"{test}[{deployment}]", f"{test}[{deployment}-ours]"})


def test_the_table_has_a_row_for_each_of_the_79_scenarios_in_their_order() -> None:
    assert [(number, name) for number, name, _ in rows()] == list(enumerate(NAMES, start=1))
    assert len(NAMES) == 79


def test_each_row_names_a_test_or_a_reason() -> None:
    silent = [name for _, name, fate in rows() if not (TEST.match(fate) or REASON.match(fate))]

    assert silent == []


def test_each_named_test_is_collected_on_each_deployment() -> None:
    missing = [
        (name, deployment)
        for _, name, fate in rows()
        if (found := TEST.match(fate))
        for deployment in DEPLOYMENTS
        if not is_collected(f"{found['file']}::{found['test']}", deployment)
        and (name not in ONLY_WITH_FIELD_EXPIRY or deployment in ("valkey-9", "redis-8"))
    ]

    assert missing == []


def test_each_named_test_carries_the_number_and_the_name_of_its_scenario() -> None:
    named = {number: found["test"] for number, _, fate in rows() if (found := TEST.match(fate))}

    assert named == {number: f"test_{number:02}_{NAMES[number - 1]}" for number in named}


def test_no_scenario_has_a_test_that_the_table_does_not_name() -> None:
    numbered = {line.partition("[")[0] for line in collected() if re.search(r"::test_\d\d_", line)}
    told = {fate.strip("`") for _, _, fate in rows() if TEST.match(fate)}

    assert numbered == told


@pytest.mark.parametrize("name", SEEDS)
def test_each_line_of_the_seeds_is_a_test_on_each_deployment(name: str) -> None:
    wanted = {f"tests/conformance/test_seeds.py::test_{name}[{place}]" for place in DEPLOYMENTS}

    assert wanted <= collected()
