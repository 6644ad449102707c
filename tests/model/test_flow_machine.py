"""The machine of flows on each engine; without any one guard it must fail.

``ECHOMQ_MODEL_EXAMPLES=5000`` lets it run for longer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RULE_MARKER, run_state_machine_as_test

from tests.model.flow_machine import FlowMachine
from tests.model.guards import replaced
from tests.model.tally import Tally
from tests.model.test_machine import EXAMPLES
from tests.servers.server import Server

MOST_EXAMPLES = 4000
GUARDS = {
    "a flow that is there": ("if i == 1 then return 0 end\n    return -i", "", "add add_again"),
    "a child counts once": (
        "redis.call('HEXISTS', processed, child) == 1",
        "false",
        "add claim complete carry an_old_completion_is_carried_again",
    ),
    "an ignored death counted already": (
        "if redis.call('HDEL', ignored, child) == 0 then",
        "do",
        "add claim complete bury requeue",
    ),
    "only who waits is released": (
        "> 0 or not books.waits then return end",
        "> 0 then return end",
        "add claim complete bury requeue",
    ),
    "only who waits is buried": (
        "return true, books.waits and string.sub",
        "return true, string.sub",
        "add claim complete bury requeue",
    ),
    "a death is told upwards": (
        "child, job, text, done = books.id",
        "job = {} or books.id",
        "add claim bury carry",
    ),
    "a removal is told": ("tell_parents(base, id, job, 'it was removed')", "", "add remove"),
    "books go with their row": (
        "row .. ':dependencies', row .. ':processed',",
        "",
        "add claim complete remove",
    ),
}


def machine_on(server: Server, tally: Tally, *, only: str = "") -> type[FlowMachine]:
    """The machine, bound to a server; with ``only``, it takes no other rules than those."""
    rules = {name for name, value in vars(FlowMachine).items() if hasattr(value, RULE_MARKER)}
    assert rules >= set(only.split())
    dropped = rules - {*only.split(), "nothing_happens"} if only else set()

    def begin(self: FlowMachine) -> None:
        FlowMachine.__init__(self, server, tally)

    return type("FlowMachine", (FlowMachine,), {"__init__": begin, **dict.fromkeys(dropped)})


def within(examples: int, steps: int, **more: Any) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        **more,
    )


@pytest.mark.timeout(900)
def test_flows_keep_their_promises_whatever_becomes_of_their_jobs(every_engine: Server) -> None:
    run_state_machine_as_test(machine_on(every_engine, Tally()), settings=within(EXAMPLES, 40))


@pytest.mark.parametrize("guard", GUARDS)
def test_the_machine_of_flows_fails_without(
    guard: str,
    engine_server: Server,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    before, after, rules = GUARDS[guard]
    replaced((before, after))(monkeypatch)
    tally = Tally()

    with pytest.raises(AssertionError) as seen:
        run_state_machine_as_test(
            machine_on(engine_server, tally, only=rules),
            settings=within(
                MOST_EXAMPLES,
                30,
                derandomize=True,
                phases=[Phase.generate],
                report_multiple_bugs=False,
            ),
        )

    why = str(seen.value).partition("\n")[0]
    record_property("tooth", f"{guard}: example {tally.examples}, step {tally.steps}: {why:.120}")
