"""The supervisor's tick: who is started, who is replaced and when, and how all of them end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest

from echomq_app.runtime.events import Event
from echomq_app.runtime.posts import RECYCLED
from echomq_app.runtime.supervisor import manner
from tests.runtime.crew import Crew, crew
from tests.servers.server import Server

CrewOf = Callable[..., Crew]


@pytest.fixture
def crew_of(engine_server: Server) -> Iterator[CrewOf]:
    with ExitStack() as open_crews:

        def crew_of(**options: Any) -> Crew:
            made = crew(engine_server.client(), engine_server.client(), **options)
            return open_crews.enter_context(made)

        yield crew_of


def test_the_first_tick_starts_every_process(crew_of: CrewOf) -> None:
    crew = crew_of(processes=3)

    assert crew.tick() == 1.0

    assert len(crew.puppets) == 3
    assert [facts["pid"] for facts in crew.tale.of(Event.PROCESS_STARTED)] == [100, 101, 102]
    crew.tick(1)
    assert len(crew.puppets) == 3


def test_a_process_that_dies_is_replaced_at_once(crew_of: CrewOf) -> None:
    crew = crew_of()
    crew.tick()
    crew.puppet.serve()
    crew.tick(1)

    crew.puppet.code = -11
    assert crew.tick(20) == 0.0
    crew.tick()

    assert len(crew.puppets) == 2
    assert crew.puppets[0].told == ["close"]
    (died,) = crew.tale.of(Event.PROCESS_DIED)
    assert died == {"pid": 100, "how": "SIGSEGV", "seconds": 21.0, "jobs": 0, "again_s": 0.0}


def test_who_dies_at_once_again_and_again_is_replaced_ever_later_up_to_a_cap(
    crew_of: CrewOf,
) -> None:
    crew = crew_of()
    pauses = []
    for _ in range(8):
        crew.tick()
        crew.puppet.serve()
        crew.puppet.code = -9
        crew.tick(1)
        again = crew.tale.of(Event.PROCESS_DIED)[-1]["again_s"]
        assert isinstance(again, float)
        pauses.append(again)
        count = len(crew.puppets)
        if again:
            crew.tick(again - 0.5)
            assert len(crew.puppets) == count
        crew.clock.pass_(0.5)

    assert pauses == [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_who_has_lived_long_enough_is_replaced_at_once_again(crew_of: CrewOf) -> None:
    crew = crew_of()
    for _ in range(3):
        crew.tick(60)
        crew.puppet.serve()
        crew.puppet.code = 1
        crew.tick(11)

    assert [facts["again_s"] for facts in crew.tale.of(Event.PROCESS_DIED)] == [0.0] * 3


@pytest.mark.parametrize("code", [0, RECYCLED])
def test_a_process_that_left_in_order_is_replaced_without_a_word_of_death(
    crew_of: CrewOf, code: int
) -> None:
    crew = crew_of()
    for _ in range(3):
        crew.tick()
        crew.puppet.serve()
        crew.puppet.leave(code)
        crew.tick()
    crew.tick()

    assert len(crew.puppets) == 4
    assert crew.tale.of(Event.PROCESS_DIED) == []
    assert [facts["code"] for facts in crew.tale.of(Event.PROCESS_ENDED)] == [code] * 3


def test_an_exit_with_0_that_was_no_leave_is_a_death(crew_of: CrewOf) -> None:
    crew = crew_of(burst=True)
    crew.tick()
    crew.puppet.serve()

    crew.puppet.code = 0
    crew.tick()

    assert [facts["how"] for facts in crew.tale.of(Event.PROCESS_DIED)] == ["exit code 0"]
    crew.tick()
    assert len(crew.puppets) == 2


def test_a_burst_is_over_when_every_process_has_left(crew_of: CrewOf) -> None:
    crew = crew_of(processes=2, burst=True)
    crew.tick()

    crew.puppets[0].leave()
    assert crew.tick() is not None
    crew.puppets[1].leave(RECYCLED)
    assert crew.tick() is not None
    crew.tick()
    assert len(crew.puppets) == 3
    crew.puppets[2].leave()

    assert crew.tick() is None
    assert not crew.supervisor.failed


def test_a_stop_drains_every_process_once_and_waits_for_the_last(crew_of: CrewOf) -> None:
    crew = crew_of(processes=2)
    crew.tick()

    crew.supervisor.stop()
    for _ in range(3):
        assert crew.tick(1) is not None
    crew.puppets[0].leave()
    assert crew.tick(1) is not None
    crew.puppets[1].leave()

    assert crew.tick(1) is None
    assert [puppet.told for puppet in crew.puppets] == [["drain", "close"]] * 2
    assert crew.tale.of(Event.DRAINING) == [{"processes": 2, "seconds": 30.0}]


def test_a_stop_before_the_first_tick_starts_nothing(crew_of: CrewOf) -> None:
    crew = crew_of()
    crew.supervisor.stop()

    assert crew.tick() is None
    assert crew.puppets == []


def test_who_dies_during_a_stop_is_not_replaced(crew_of: CrewOf) -> None:
    crew = crew_of(processes=2)
    crew.tick()
    crew.supervisor.stop()
    crew.tick()

    crew.puppets[0].code = -9
    crew.tick()
    assert [facts["again_s"] for facts in crew.tale.of(Event.PROCESS_DIED)] == ["never"]
    crew.puppets[1].leave()

    assert crew.tick(5) is None
    assert len(crew.puppets) == 2


def test_who_does_not_leave_in_time_is_killed_and_what_it_held_given_back_uncounted(
    crew_of: CrewOf,
) -> None:
    crew = crew_of(drain=timedelta(seconds=5))
    crew.tick()
    jobs = crew.claim(2)
    crew.puppet.serve(*jobs)
    crew.puppet.own.start(jobs[0])
    crew.supervisor.stop()

    crew.tick()
    crew.tick(14.5)
    assert crew.puppet.told == ["drain"]
    crew.tick(1)
    assert crew.puppet.told == ["drain", "kill"]
    assert crew.tick() is None

    assert crew.states(jobs) == ["pending", "pending"]
    assert {crew.row(job)["excused"] for job in jobs} == {b"1"}
    assert len(crew.tale.of(Event.PROCESS_LATE)) == 1


def test_a_kill_ends_every_process(crew_of: CrewOf) -> None:
    crew = crew_of(processes=2)
    crew.tick()

    crew.supervisor.kill()

    assert [puppet.told for puppet in crew.puppets] == [["kill"], ["kill"]]


def test_when_none_could_ever_serve_it_gives_up(crew_of: CrewOf) -> None:
    crew = crew_of(processes=2)
    crew.tick()

    crew.puppets[0].code = 1
    crew.tick()
    crew.puppets[1].code = 1

    assert crew.tick() is None
    assert crew.supervisor.failed
    assert len(crew.puppets) == 2


@pytest.mark.parametrize(("served", "code"), [(True, 1), (False, -9)])
def test_it_does_not_give_up_after_one_has_served_or_when_one_was_killed(
    crew_of: CrewOf, served: bool, code: int
) -> None:
    crew = crew_of()
    crew.tick()
    if served:
        crew.puppet.serve()
    crew.puppet.code = code
    crew.tick()
    crew.tick()

    assert not crew.supervisor.failed
    assert len(crew.puppets) == 2


def test_a_process_that_cannot_be_started_is_tried_again(crew_of: CrewOf) -> None:
    crew = crew_of()
    crew.fails = [OSError("no room"), OSError("no room")]

    crew.tick()
    crew.tick()
    assert crew.puppets == []
    assert [facts["again_s"] for facts in crew.tale.of(Event.PROCESS_UNBORN)] == [0.0, 1.0]
    crew.tick(1)

    assert len(crew.puppets) == 1


def test_a_renewal_starts_fresh_processes_at_once_and_drains_the_old_beside_them(
    crew_of: CrewOf,
) -> None:
    crew = crew_of(processes=2)
    crew.tick()
    for puppet in crew.puppets:
        puppet.serve()

    crew.supervisor.renew()
    crew.tick(0.2)
    crew.supervisor.renew()
    crew.tick(0.2)
    assert len(crew.puppets) == 2
    crew.tick(0.2)
    assert [puppet.told for puppet in crew.puppets] == [["drain"], ["drain"], [], []]
    for puppet in crew.puppets[:2]:
        puppet.leave()
    crew.tick(1)
    crew.tick(1)

    assert len(crew.puppets) == 4
    assert [puppet.told[-1] for puppet in crew.puppets[:2]] == ["close", "close"]


def test_a_renewal_lifts_the_wait_of_who_died_at_once(crew_of: CrewOf) -> None:
    crew = crew_of()
    for _ in range(6):
        crew.tick(60)
        crew.puppet.serve()
        crew.puppet.code = 1
        crew.tick(1)
    count = len(crew.puppets)

    crew.supervisor.renew()
    crew.tick(0.5)

    assert len(crew.puppets) == count + 1


def test_how_a_process_ended_is_said_in_words() -> None:
    assert [manner(3), manner(-9), manner(-64)] == ["exit code 3", "SIGKILL", "SIGRTMAX"]
    assert manner(-250) == "signal 250"
