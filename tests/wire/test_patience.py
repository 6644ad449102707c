"""How long a call is tried: bounded, in growing steps with jitter, and told by a clock of its own."""

from __future__ import annotations

import pytest
import redis

from echomq_app.protocol import calls
from echomq_app.protocol.calls import Call
from echomq_app.protocol.errors import ConnectionLost, ServerUnavailable
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.states import Admission
from echomq_app.wire import exchange as rules
from echomq_app.wire.exchange import Answer, Bus, Lost, Pause, Send
from echomq_app.wire.link import Wire
from tests.servers.server import Server

KEYS = QueueKeys("q")
SLACK_S = 0.001


class Clock:
    """Stands still but for the pauses that are taken on it."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(rules, "time", clock)
    return clock


def new_enqueue() -> Call[Admission]:
    return calls.enqueue(KEYS, Minter().mint(), b"{}")


def lose_everything(
    call: Call[Admission], bus: Bus, clock: Clock, *, sent: bool
) -> Answer[Admission]:
    """Run the exchange against a server that answers nothing."""
    steps = rules.exchange([call], bus)
    taken: object = None
    try:
        while True:
            step = steps.send(taken)
            if isinstance(step, Pause):
                clock.sleep(step.seconds)
            if isinstance(step, Send):
                lost = Lost(sent and step.behind_fence, redis.ConnectionError("gone"))
                fenced = not step.behind_fence
                taken = [OURS if fenced else lost for _ in step.commands]
            else:
                taken = None
    except StopIteration as end:
        answers: list[Answer[Admission]] = end.value
        return answers[0]


OURS = b"echomq:4.0.0"


@pytest.mark.parametrize("patience_s", [0.5, 5.0, 60.0])
def test_pauses_never_sum_up_to_more_than_the_patience(patience_s: float, clock: Clock) -> None:
    lose_everything(new_enqueue(), Bus(patience_s=patience_s), clock, sent=True)

    assert sum(clock.pauses) == pytest.approx(patience_s, abs=SLACK_S)


def test_pauses_double_up_to_a_cap_each_with_a_jitter_of_half(clock: Clock) -> None:
    lose_everything(new_enqueue(), Bus(patience_s=60), clock, sent=True)

    plan = [min(rules.FIRST_PAUSE_S * 2**n, rules.LONGEST_PAUSE_S) for n in range(40)]
    for pause, planned in zip(clock.pauses[:-1], plan, strict=False):
        assert planned * 0.5 <= pause <= planned * 1.5
    assert len(clock.pauses) < 60


def test_two_clients_do_not_pause_in_step(clock: Clock) -> None:
    lose_everything(new_enqueue(), Bus(patience_s=5), clock, sent=True)
    first, clock.pauses = clock.pauses, []
    lose_everything(new_enqueue(), Bus(patience_s=5), clock, sent=True)

    assert first != clock.pauses


def test_a_call_that_may_have_run_ends_as_lost_and_says_so(clock: Clock) -> None:
    answer = lose_everything(new_enqueue(), Bus(patience_s=1), clock, sent=True)

    assert type(answer.error) is ConnectionLost
    assert answer.resent
    assert str(answer.error).endswith("within 1 s: gone")


def test_a_call_that_was_never_sent_ends_as_unavailable(clock: Clock) -> None:
    answer = lose_everything(new_enqueue(), Bus(patience_s=1), clock, sent=False)

    assert type(answer.error) is ServerUnavailable
    assert not answer.resent


def test_a_call_without_patience_is_sent_once(clock: Clock) -> None:
    lose_everything(new_enqueue(), Bus(patience_s=0), clock, sent=True)

    assert clock.pauses == []


def test_a_wire_to_a_dead_server_gives_up_when_its_patience_ends(
    fresh_server: Server, clock: Clock
) -> None:
    fresh_server.kill()
    wire = Wire(fresh_server.client(), Bus(patience_s=5), sleep=clock.sleep)

    with pytest.raises(ServerUnavailable, match=r"no server answered .?enqueue.? within 5 s"):
        wire.run(new_enqueue())

    assert sum(clock.pauses) == pytest.approx(5, abs=SLACK_S)


def test_a_dead_server_is_brought_back_by_who_owns_it(fresh_server: Server, clock: Clock) -> None:
    fresh_server.kill()
    wire = Wire(fresh_server.client(), sleep=clock.sleep, revive=fresh_server.start)

    assert wire.run(new_enqueue()) is Admission.ADMITTED
