"""The machine on the real scripts. ``ECHOMQ_MODEL_EXAMPLES=5000`` lets it run for longer."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import machine_on
from tests.servers.server import Server

EXAMPLES = int(os.environ.get("ECHOMQ_MODEL_EXAMPLES", "150"))


def test_every_verb_keeps_the_promises_among_zombies_losses_and_other_programs(
    engine_server: Server,
) -> None:
    run_state_machine_as_test(
        machine_on(engine_server),
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=50,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
