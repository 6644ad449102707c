"""The machine on the real scripts, on each engine.

``ECHOMQ_MODEL_EXAMPLES=5000`` lets it run for longer.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.bound import Machine, machine_on
from tests.model.slot_machine import SlotMachine
from tests.servers.server import Server

EXAMPLES = int(os.environ.get("ECHOMQ_MODEL_EXAMPLES", "60"))


def run(machine: Machine) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=50,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.timeout(900)
def test_every_verb_keeps_the_promises_among_zombies_losses_and_other_programs(
    every_engine: Server,
) -> None:
    run(machine_on(every_engine))


@pytest.mark.timeout(900)
def test_each_slot_of_a_schedule_runs_once_among_stale_schedulers_edits_and_losses(
    every_engine: Server,
) -> None:
    run(machine_on(every_engine, kind=SlotMachine))
