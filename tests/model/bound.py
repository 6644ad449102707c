"""A machine, bound to a server and perhaps to some of its rules."""

from __future__ import annotations

from collections.abc import Collection
from inspect import getmembers

from hypothesis.stateful import RULE_MARKER

from tests.model.slot_machine import SlotMachine
from tests.model.tally import Tally
from tests.model.upkeep_machine import KeptMachine
from tests.servers.server import Server

Machine = type[KeptMachine] | type[SlotMachine]


def machine_on(
    server: Server,
    tally: Tally | None = None,
    *,
    only: Collection[str] = (),
    kind: Machine = KeptMachine,
) -> Machine:
    """A machine, bound to a server; with ``only``, it takes no other rules than those."""
    rules = {name for name, _ in getmembers(kind, lambda one: hasattr(one, RULE_MARKER))}
    assert rules >= set(only), f"no such rules: {set(only) - rules}"
    dropped = rules - set(only) if only else set()

    def begin(self: KeptMachine | SlotMachine) -> None:
        kind.__init__(self, server, tally or Tally())  # type: ignore[arg-type]  # an instance of kind

    return type(kind.__name__, (kind,), {"__init__": begin, **dict.fromkeys(dropped)})
