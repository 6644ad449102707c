"""What the supervisor's tick does for the jobs of a process: while it hangs, and when it has died."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from echomq_app.protocol.errors import FenceMismatch
from echomq_app.protocol.keyspace import VERSION
from echomq_app.runtime.events import Event
from echomq_app.runtime.held import Held
from tests.runtime.crew import Crew, crew
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server


@pytest.fixture
def manned(engine_server: Server, proxy: CuttingProxy) -> Iterator[Crew]:
    """A supervisor behind the proxy whose one process serves."""
    with crew(engine_server.client(), proxy.client()) as made:
        made.tick()
        made.puppet.serve()
        made.tick()
        yield made


def take(manned: Crew, count: int, running: int = 0) -> list[Held]:
    """Jobs in the process's hands, the first of them running."""
    jobs = manned.claim(count)
    manned.puppet.serve(*jobs)
    for job in jobs[:running]:
        manned.puppet.own.start(job)
    manned.tick()
    return jobs


def test_a_process_that_renews_its_leases_itself_is_left_alone(
    manned: Crew, proxy: CuttingProxy
) -> None:
    (job,) = take(manned, 1, running=1)
    proxy.reset()

    for _ in range(120):
        job.lost.until = manned.clock.now + 60
        manned.puppet.serve(job)
        manned.tick(1)

    assert proxy.commands == []
    assert manned.tale.of(Event.LEASES_KEPT) == []


def test_leases_of_a_process_that_hangs_are_renewed_at_half_time_and_it_is_told_until_when(
    manned: Crew,
) -> None:
    jobs = take(manned, 2, running=1)
    for job in jobs:
        manned.client.zadd(manned.queue.keys.active, {job.lease.job_id: 5}, xx=True)

    manned.tick(29)
    assert manned.deadline_in_s(jobs[0]) < 0
    manned.tick(2)

    assert all(manned.deadline_in_s(job) > 50 for job in jobs)
    assert manned.puppet.own.kept(jobs[0].lease.job_id) == manned.clock.now + 60
    assert manned.tale.of(Event.LEASES_KEPT) == [{"pid": 100}]


def test_it_goes_on_renewing_and_says_so_once(manned: Crew) -> None:
    (job,) = take(manned, 1, running=1)
    kept = set()

    for _ in range(200):
        manned.tick(1)
        kept.add(manned.puppet.own.kept(job.lease.job_id))

    assert len(kept) >= 6
    assert max(kept) > manned.clock.now
    assert len(manned.tale.of(Event.LEASES_KEPT)) == 1
    assert manned.puppet.told == []


def test_a_job_that_another_holds_by_then_is_not_renewed_and_not_asked_for_again(
    manned: Crew, proxy: CuttingProxy
) -> None:
    gone, ours = take(manned, 2, running=1)
    manned.queue.release(gone.lease)
    manned.tick(31)
    assert manned.puppet.own.kept(gone.lease.job_id) == 0.0
    assert manned.puppet.own.kept(ours.lease.job_id) > manned.clock.now
    proxy.reset()

    manned.tick(31)

    (renewal,) = [one for one in proxy.commands if one[0] == b"EVALSHA"]
    assert ours.lease.job_id.encode() in renewal
    assert gone.lease.job_id.encode() not in renewal


def test_what_has_run_out_already_is_not_renewed(manned: Crew) -> None:
    (job,) = take(manned, 1, running=1)
    manned.client.zadd(manned.queue.keys.active, {job.lease.job_id: 5}, xx=True)

    manned.tick(61)

    assert manned.deadline_in_s(job) < 0
    assert manned.puppet.own.kept(job.lease.job_id) == 0.0


def test_a_renewal_that_gets_no_answer_is_tried_again(manned: Crew, proxy: CuttingProxy) -> None:
    (job,) = take(manned, 1, running=1)
    proxy.cut_before_request(times=1000)
    manned.tick(31)
    assert manned.puppet.own.kept(job.lease.job_id) == 0.0

    proxy.reset()
    manned.tick(1.5)

    assert manned.puppet.own.kept(job.lease.job_id) == manned.clock.now + 60


def test_a_server_that_is_another_one_ends_the_supervisor(
    manned: Crew, proxy: CuttingProxy
) -> None:
    take(manned, 1, running=1)
    manned.client.set(VERSION, "echomq:9.9.9")
    proxy.drop_connections()

    with pytest.raises(FenceMismatch):
        manned.tick(31)


def test_a_process_that_hangs_without_a_limit_is_killed_after_ten_leases(manned: Crew) -> None:
    (job,) = take(manned, 1, running=1)

    for _ in range(599):
        manned.tick(1)
    assert manned.puppet.told == []
    manned.tick(2)

    assert manned.puppets[0].told == ["kill"]
    manned.tick()
    assert len(manned.tale.of(Event.PROCESS_HUNG)) == 1
    assert 0 < manned.deadline_in_s(job) <= 5


def test_a_process_inside_a_hard_limit_may_hang_as_long_as_that(manned: Crew) -> None:
    (job,) = take(manned, 1, running=1)
    manned.puppet.own.limit(job, 1_000_000.0)

    for _ in range(700):
        manned.tick(1)

    assert manned.puppet.told == []


def test_a_supervisor_that_stood_still_itself_blames_nobody(manned: Crew) -> None:
    take(manned, 1, running=1)

    manned.tick(10_000)

    assert manned.puppet.told == []


def test_a_process_that_has_not_come_up_yet_does_not_count_as_hung(manned: Crew) -> None:
    manned.puppet.code = -9
    manned.tick()
    manned.tick()

    for _ in range(700):
        manned.tick(1)

    assert manned.puppet.told == []


def test_a_death_cuts_the_lease_of_the_job_that_ran_and_gives_back_what_had_not_started(
    manned: Crew,
) -> None:
    ran, *waited = take(manned, 3, running=1)

    manned.puppet.code = -11
    manned.tick()

    assert 0 < manned.deadline_in_s(ran) <= 5
    assert manned.states([ran, *waited]) == ["active", "pending", "pending"]
    assert [manned.row(job).get("excused") for job in (ran, *waited)] == [None, b"1", b"1"]
    assert manned.tale.of(Event.JOBS_FREED) == [{"pid": 100, "suspected": 1, "given_back": 2}]
    assert manned.tale.of(Event.PROCESS_DIED)[0]["jobs"] == 3


def test_a_death_between_jobs_is_counted_against_all_that_were_held(manned: Crew) -> None:
    jobs = take(manned, 2)

    manned.puppet.code = -9
    manned.tick()

    assert all(0 < manned.deadline_in_s(job) <= 5 for job in jobs)


def test_a_hard_limit_kills_the_process_fails_its_job_and_blames_no_other(manned: Crew) -> None:
    slow, beside, waited = take(manned, 3, running=2)
    manned.puppet.own.limit(slow, 30.0)
    (run, _) = sorted(manned.puppet.ledger.runs(), key=lambda one: -one.deadline)

    manned.clock.now = run.deadline - 0.25
    assert manned.tick() == pytest.approx(0.25)
    assert manned.puppet.told == []
    manned.tick(0.25)
    assert manned.puppet.told == ["kill"]
    manned.tick()

    assert manned.states([slow, beside, waited]) == ["scheduled", "pending", "pending"]
    assert manned.row(slow)["last_error"] == b"took 30 s in attempt 1"
    assert [manned.row(job).get("excused") for job in (beside, waited)] == [b"1", b"1"]
    assert manned.tale.of(Event.LIMIT_PASSED) == [
        {"job": slow.lease.job_id, "seconds": 30.0, "pid": 100}
    ]
    assert manned.tale.of(Event.PROCESS_DIED)[0]["again_s"] == 0.0


def test_a_job_past_its_last_attempt_is_dead_of_its_limit(manned: Crew) -> None:
    (first,) = manned.claim()
    manned.queue.retry(first.lease, delay=timedelta(), max_attempts=5, error="no")
    manned.queue.promote()
    (lease,) = manned.queue.claim_many(timedelta(minutes=1), 1, "host:1:1")
    second = Held(lease, manned.clock.now, first.lost)
    manned.puppet.serve(second)
    manned.puppet.own.start(second)
    manned.puppet.own.limit(second, 1.0)
    manned.clock.now = manned.puppet.ledger.runs()[0].deadline

    manned.tick()
    manned.tick()

    assert manned.states([second]) == ["dead"]
    assert manned.row(second)["last_error"] == b"took 1 s in attempt 2"


def test_what_ended_before_the_death_is_left_as_it_ended(manned: Crew) -> None:
    done, gone = take(manned, 2, running=2)
    manned.queue.complete(done.lease)
    manned.queue.release(gone.lease)
    (again,) = manned.queue.claim_many(timedelta(minutes=1), 1, "other:1:0")

    manned.puppet.code = -9
    manned.tick()

    assert manned.deadline_in_s(gone) > 50
    assert manned.queue.complete(again)
    assert manned.tale.of(Event.JOBS_FREED) == []


def test_the_dead_are_settled_for_when_the_server_is_back(
    manned: Crew, proxy: CuttingProxy
) -> None:
    ran, waited = take(manned, 2, running=1)
    proxy.cut_before_request(times=1000)
    manned.puppet.code = -9
    manned.tick()
    assert manned.states([waited]) == ["active"]

    proxy.reset()
    manned.tick(1)

    assert manned.states([waited]) == ["pending"]
    assert manned.deadline_in_s(ran) <= 5


def test_a_process_that_died_as_it_wrote_is_judged_by_its_last_page(manned: Crew) -> None:
    (ran,) = take(manned, 1, running=1)
    record = manned.puppet.own._held
    record._VERSION.pack_into(manned.puppet.own._memory, record._at, 999)

    manned.puppet.code = -9
    manned.tick()

    assert manned.deadline_in_s(ran) <= 5
