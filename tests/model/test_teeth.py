"""Without any one guard the very same machine must fail."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.bound import machine_on
from tests.model.guards import GUARDS
from tests.model.tally import Tally
from tests.servers.server import Server

MOST_EXAMPLES = 4000


@pytest.mark.parametrize("guard", GUARDS)
def test_the_machine_fails_without(
    guard: str,
    engine_server: Server,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    removed = GUARDS[guard]
    removed.remove(monkeypatch)
    tally = Tally()

    with pytest.raises(AssertionError) as seen:
        run_state_machine_as_test(
            machine_on(engine_server, tally, only=removed.rules.split(), kind=removed.of),
            settings=settings(
                max_examples=MOST_EXAMPLES,
                stateful_step_count=30,
                derandomize=True,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                report_multiple_bugs=False,
                suppress_health_check=list(HealthCheck),
            ),
        )

    why = str(seen.value).partition("\n")[0]
    record_property("tooth", f"{guard}: example {tally.examples}, step {tally.steps}: {why:.120}")
