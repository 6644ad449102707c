"""The supervisor with real processes: what it says of them, and in which order they end."""

from __future__ import annotations

import os
import re
import signal

import pytest

from project.demo.ground import GroundTaken, free_port
from project.demo.part import Part
from project.demo.supervisor import PartEnded, StopRequested, Supervisor

LONG = 60.0
STAY = Part(name="stays", arguments=("shell", "-c", "import time; time.sleep(600)"))
DEAF = Part(
    name="deaf",
    arguments=(
        "shell",
        "-c",
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "print('deaf', flush=True); time.sleep(600)",
    ),
)


class Heard(list[tuple[str, str]]):
    """What the parts said, as (name, line)."""

    def say(self, name: str, line: str) -> None:
        self.append((name, line))


def test_a_part_that_fails_is_named_with_its_exit_code_and_last_lines() -> None:
    broken = Part(name="broken", arguments=("no_such_command",))

    with Supervisor(Heard().say) as supervisor:
        supervisor.start(broken)
        with pytest.raises(PartEnded) as ended:
            supervisor.wait(LONG)

    first, *lines = str(ended.value).splitlines()
    assert first == "broken ended with exit code 1."
    assert any("no_such_command" in line for line in lines)


def test_a_part_that_ends_well_on_its_own_is_an_end_too() -> None:
    with Supervisor(Heard().say) as supervisor:
        supervisor.start(Part(name="short", arguments=("version",)))
        with pytest.raises(PartEnded, match=re.escape("short ended with exit code 0.")):
            supervisor.wait(LONG)


def test_a_step_that_ends_well_is_waited_for() -> None:
    heard = Heard()

    with Supervisor(heard.say) as supervisor:
        supervisor.run(Part(name="step", arguments=("version",)))

    assert [name for name, _ in heard] == ["step", "step"]


def test_a_step_that_fails_says_so() -> None:
    step = Part(name="step", arguments=("no_such_command",))

    with (
        Supervisor(Heard().say) as supervisor,
        pytest.raises(PartEnded, match="step ended with exit code 1"),
    ):
        supervisor.run(step)


def test_a_signal_asks_for_the_end_and_the_last_start_ends_first() -> None:
    order: list[str] = []

    with Supervisor(Heard().say) as supervisor:
        supervisor.at_the_end(lambda: order.append(f"then {stays.exit_code}"))
        [stays] = supervisor.start(STAY)
        supervisor.at_the_end(lambda: order.append(f"first {stays.exit_code}"))
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(StopRequested):
            supervisor.wait(LONG)

    assert order == ["first None", f"then {-signal.SIGTERM}"]


def test_a_part_that_ignores_the_request_to_end_is_killed() -> None:
    heard = Heard()

    with Supervisor(heard.say, grace=0.2) as supervisor:
        [deaf] = supervisor.start(DEAF)
        while ("deaf", "deaf") not in heard:
            supervisor.wait(0.05)

    assert deaf.exit_code == -signal.SIGKILL


def test_the_signals_are_given_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]

    with Supervisor(Heard().say):
        assert signal.getsignal(signal.SIGINT) != before[0]

    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.parametrize("text", ["", "0", "65536", "http", "-1", "８０００"])
def test_a_port_that_is_none_is_refused_with_what_was_seen(text: str) -> None:
    with pytest.raises(GroundTaken, match="PORT must be a number from 1 to 65535, not"):
        free_port(text)
