"""What one process writes into its ledger, another reads whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from checks.tree import ROOT
from echomq_app.protocol.ids import JobId
from echomq_app.runtime.held import Held, Loss
from echomq_app.runtime.ledger import Entry, Ledger
from echomq_app.runtime.outcomes import Completed, Outcome
from echomq_app.service.records import Lease
from tests.runtime.scene import MINTER


@pytest.fixture
def ends() -> Iterator[tuple[Ledger, Ledger]]:
    """The supervisor's end and the process's."""
    ours = Ledger.create(2)
    theirs = Ledger.join(str(ours.path))
    yield ours, theirs
    ours.close()
    theirs.close()


Ends = tuple[Ledger, Ledger]


def held(until: float = 60.0, queue: str = "q", job_id: JobId | None = None) -> Held:
    lease = Lease(
        queue=queue, job_id=job_id or MINTER.mint(), payload=b"{}", token=3, label="host:1:0"
    )
    return Held(lease, 0.0, Loss(until, lambda: 0.0))


def test_a_process_that_has_written_nothing_is_not_ready_and_has_no_page(ends: Ends) -> None:
    ours, theirs = ends

    assert (ours.is_ready, ours.has_left, ours.page(), ours.runs()) == (False, False, None, [])
    theirs.hold(())
    assert ours.is_ready
    theirs.leave()
    assert ours.has_left


def test_the_file_is_gone_once_both_have_it(ends: Ends) -> None:
    assert not ends[0].path.exists()


def test_a_page_tells_each_lease_and_the_earliest_end(ends: Ends) -> None:
    ours, theirs = ends
    jobs = [held(60.0, "default"), held(12.5, "почта\n"), held(70.0)]

    theirs.hold(jobs)

    page = ours.page()
    assert page is not None
    assert page.until == 12.5
    assert page.entries == tuple(
        Entry(one.lease.queue, "host:1:0", one.lease.job_id, 3) for one in jobs
    )


def test_each_page_is_a_new_version(ends: Ends) -> None:
    ours, theirs = ends
    versions = []
    for _ in range(3):
        theirs.hold([held()])
        page = ours.page()
        assert page is not None
        versions.append(page.version)

    assert versions == sorted(set(versions))


def test_a_writer_that_died_as_it_wrote_leaves_no_page(ends: Ends) -> None:
    ours, theirs = ends
    theirs.hold([held()])

    theirs._held._VERSION.pack_into(theirs._memory, theirs._held._at, 3)

    assert ours.page() is None


def test_a_page_whose_bytes_do_not_match_their_checksum_is_not_read(ends: Ends) -> None:
    ours, theirs = ends
    theirs.hold([held()])

    theirs._memory[theirs._held._body_at] ^= 1

    assert ours.page() is None


def test_a_ledger_of_another_release_is_not_read(ends: Ends) -> None:
    ours, theirs = ends
    theirs.hold([held()])
    theirs._memory[:5] = b"other"

    assert ours.page() is None


def test_more_leases_than_there_is_room_for_leave_a_page_of_some(ends: Ends) -> None:
    ours, theirs = ends

    theirs.hold([held(queue="q" * 100) for _ in range(5000)])

    page = ours.page()
    assert page is not None
    assert 500 < len(page.entries) < 5000


WRITER = """
import sys
from echomq_app.runtime.ledger import Ledger

record = Ledger.join(sys.argv[1])._held
print("writes", flush=True)
while True:
    for letter, size in (b"a", 60_000), (b"b", 80_000), (b"c", 100_000):
        record.write(letter * size)
"""


def test_a_reader_never_sees_half_of_what_another_process_writes() -> None:
    ours = Ledger.create(1)
    command = [sys.executable, "-c", WRITER, str(ours.path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writes\n"
        found = [ours._held.read() for _ in range(20_000)]
        writer.kill()

    bodies = {read[1] for read in found if read is not None}
    assert len(bodies) > 1
    assert bodies <= {b"a" * 60_000, b"b" * 80_000, b"c" * 100_000}
    ours.close()


def test_a_run_is_seen_from_its_start_to_its_end_however_it_ends(ends: Ends) -> None:
    ours, theirs = ends
    job = held()
    seen: list[list[str]] = []

    def run(_: Held) -> Outcome:
        seen.append([one.job_id for one in ours.runs()])
        raise SystemExit

    with pytest.raises(SystemExit):
        theirs.watched(run)(job)

    assert seen == [[job.lease.job_id]]
    assert ours.runs() == []


def test_what_a_watched_run_answers_is_its_outcome(ends: Ends) -> None:
    outcome = Completed()

    assert ends[1].watched(lambda _: outcome)(held()) is outcome


def test_a_run_has_no_deadline_until_it_is_given_a_limit(ends: Ends) -> None:
    ours, theirs = ends
    job = held()
    theirs.start(job)
    assert [(one.deadline, one.limit_s) for one in ours.runs()] == [(0.0, 0.0)]

    theirs.limit(job, 30.0)

    (run,) = ours.runs()
    assert run.limit_s == 30.0
    assert run.started_at < run.deadline - 29
    theirs.end(job)
    theirs.start(job)
    assert [one.deadline for one in ours.runs()] == [0.0]


def test_more_runs_than_places_are_not_seen_and_do_no_harm(ends: Ends) -> None:
    ours, theirs = ends
    jobs = [held() for _ in range(3)]
    for job in jobs:
        theirs.start(job)
        theirs.limit(job, 1.0)

    assert {one.job_id for one in ours.runs()} == {one.lease.job_id for one in jobs[:2]}
    for job in jobs:
        theirs.end(job)
    assert ours.runs() == []


def test_what_the_supervisor_renewed_prolongs_a_lease_and_what_was_refused_does_not(
    ends: Ends,
) -> None:
    ours, theirs = ends
    kept, refused = MINTER.mint_many(2)
    assert theirs.kept(kept) == 0.0

    ours.keep(90.0, [refused])

    assert (theirs.kept(kept), theirs.kept(refused)) == (90.0, 0.0)
    ours.keep(120.0, [])
    assert theirs.kept(refused) == 120.0


def test_a_lease_that_was_kept_is_not_lost_and_once_lost_stays_so() -> None:
    now, kept = [0.0], [0.0]
    loss = Loss(60.0, lambda: now[0], lambda: kept[0])

    now[0], kept[0] = 61.0, 100.0
    assert not loss.is_set()
    now[0] = 101.0
    assert loss.is_set()
    kept[0] = 200.0
    assert loss.is_set()
