"""The demo as processes: it starts, serves, ends, and says why when it cannot."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from project.demo.ground import HOST
from tests.demo.running import PARTS, Customer, RunningDemo, is_alive
from tests.eventually import eventually

WEBHOOKS = "emq:{webhooks}:"
SEND_IN_AN_HOUR = """
from datetime import timedelta
from django.utils import timezone
from project.shop.tasks import send_receipt
print(send_receipt.using(run_after=timezone.now() + timedelta(hours=1)).enqueue(1).id)
"""


@pytest.fixture
def new_demo() -> Iterator[Callable[[], RunningDemo]]:
    """Make demos, not started, that leave nothing behind."""
    with ExitStack() as demos:
        yield lambda: demos.enter_context(closing(RunningDemo()))


def test_the_jobs_of_an_order_are_done_before_its_page_is_looked_at_for_long(
    demo: RunningDemo,
) -> None:
    customer = Customer(demo.port)

    page = customer.order(1, "ada@example.com")

    eventually(lambda: customer.look(page).count("state done") >= 2, within=30)
    assert any("ada@example.com" in mail.read_text() for mail in (demo.state / "mail").iterdir())
    assert page in customer.look("/")


def test_retries_and_dead_letters_appear_by_themselves(demo: RunningDemo) -> None:
    with demo.client() as client:
        demo.manage("place_orders", "4")
        eventually(lambda: client.zcard(WEBHOOKS + "schedule"), within=30, message="a retry")
        eventually(lambda: client.zcard(WEBHOOKS + "dead"), within=60, message="a dead letter")


def test_a_second_demo_on_the_same_folder_is_refused(demo: RunningDemo) -> None:
    with closing(RunningDemo(demo.state)) as second:
        second.start()

        assert second.exit_code() == 1
        assert f"Another demo runs on {demo.state}" in second.said()
    assert set(demo.left_running()) == PARTS | {"server"}


def test_one_ctrl_c_ends_all_and_what_waits_is_there_at_the_next_start(
    new_demo: Callable[[], RunningDemo],
) -> None:
    demo = new_demo().started()
    later = demo.manage("shell", "--verbosity", "0", "-c", SEND_IN_AN_HOUR).strip()
    first_login = login_line(demo)
    before = demo.said()
    demo.signal_group(signal.SIGINT)
    assert demo.exit_code() == 0
    assert set(demo.pids()) > PARTS
    assert demo.left_running() == []
    assert "Traceback" not in demo.said().removeprefix(before)

    demo.started()

    with demo.client() as client:
        assert client.zscore("emq:{mail}:schedule", later) is not None
    assert login_line(demo) == first_login


def login_line(demo: RunningDemo) -> str:
    [line] = [line for line in demo.said().splitlines() if "password" in line]
    return line


def test_sigterm_ends_all_but_a_server_that_ran_before(
    new_demo: Callable[[], RunningDemo],
) -> None:
    demo = new_demo()
    demo.server.ensure()
    demo.started()

    demo.process.send_signal(signal.SIGTERM)

    assert demo.exit_code() == 0
    assert demo.left_running() == ["server"]


def test_a_port_that_is_taken_is_named_and_nothing_is_left(
    new_demo: Callable[[], RunningDemo],
) -> None:
    demo = new_demo()

    with socket.create_server((HOST, demo.port)):
        demo.start()
        assert demo.exit_code() == 1

    assert f"Port {demo.port} on {HOST} is not free" in demo.said()
    assert f"PORT={demo.port + 1} make demo" in demo.said()
    assert "Traceback" not in demo.said()
    assert demo.pids() == {}
    assert demo.left_running() == []


def test_a_part_that_dies_is_named_and_ends_the_rest(new_demo: Callable[[], RunningDemo]) -> None:
    demo = new_demo().started()
    before = demo.said()

    os.kill(demo.pids()["worker 2"], signal.SIGKILL)

    assert demo.exit_code() == 1
    assert "worker 2 was ended by SIGKILL." in demo.said()
    assert "Traceback" not in demo.said().removeprefix(before)
    assert demo.left_running() == []


def test_a_server_that_dies_is_started_again_and_the_demo_says_so(
    new_demo: Callable[[], RunningDemo],
) -> None:
    demo = new_demo().started()
    pid = demo.server.status().pid
    assert pid is not None

    os.kill(pid, signal.SIGKILL)

    eventually(lambda: f"process {pid} died, process " in demo.said(), within=30)
    assert demo.manage("place_orders", "1")
    demo.signal_group(signal.SIGINT)
    assert demo.exit_code() == 0
    assert demo.left_running() == []


def test_parts_end_with_a_demo_that_was_killed(new_demo: Callable[[], RunningDemo]) -> None:
    demo = new_demo().started()

    demo.process.kill()

    demo.exit_code()
    eventually(lambda: not any(map(is_alive, demo.pids().values())), within=30)
