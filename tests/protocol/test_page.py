"""Browsing and paging: both directions, every set, by id and by mint-time window (decision 18)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from echomq_app.protocol.errors import InvalidInput
from echomq_app.protocol.ids import EPOCH_MS, JobId, encode
from echomq_app.protocol.states import JobSet
from echomq_app.service.records import JobSummary, PageRequest
from tests.protocol.scene import Scene, new_id

SETS = ("pending", "active", "schedule", "dead", "done")
BORN_MS = 1_780_000_000_000


def minted(at_ms: int, sequence: int = 0) -> JobId:
    """An id that was minted at ``BORN_MS + at_ms``."""
    return JobId(encode((BORN_MS + at_ms - EPOCH_MS) << 22 | sequence))


def fill(scene: Scene, which: str, jobs: list[JobId]) -> None:
    """Members with whole rows, their clocks against their mint order."""
    for number, job_id in enumerate(jobs):
        row = {"state": which, "attempts": "1", "payload": '{"task": "t.f", "args": []}'}
        scene.client.hset(scene.keys.row(job_id), mapping=row)
        clocked = which in ("active", "schedule")
        scene.client.zadd(scene.key(which), {job_id: 9_000 - number if clocked else 0})


def walk(scene: Scene, request: PageRequest) -> list[JobSummary]:
    """All pages, one after another."""
    found: list[JobSummary] = []
    for _ in range(100):
        page = scene.queue.page(request)
        found += page.jobs
        if page.next_cursor is None:
            return found
        assert len(page.jobs) == request.limit
        request = replace(request, cursor=page.next_cursor)
    raise AssertionError("the pages do not end")


def ids(jobs: list[JobSummary]) -> list[JobId]:
    return [job.job_id for job in jobs]


@pytest.mark.parametrize("which", SETS)
@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("limit", [1, 3, 7, 50])
def test_pages_tile_each_set_in_mint_order_in_both_directions(
    scene: Scene, which: str, newest_first: bool, limit: int
) -> None:
    jobs = [minted(number) for number in range(7)]
    fill(scene, which, jobs)

    found = walk(scene, PageRequest(which=JobSet(which), newest_first=newest_first, limit=limit))

    assert ids(found) == (jobs[::-1] if newest_first else jobs)


@pytest.mark.parametrize("which", ["active", "schedule"])
@pytest.mark.parametrize("newest_first", [False, True])
def test_a_set_that_a_clock_scores_can_be_paged_by_its_clock(
    scene: Scene, which: str, newest_first: bool
) -> None:
    jobs = [minted(number) for number in range(7)]
    fill(scene, which, jobs)

    found = walk(
        scene,
        PageRequest(which=JobSet(which), newest_first=newest_first, limit=2, by_clock=True),
    )

    assert ids(found) == (jobs if newest_first else jobs[::-1])
    assert [job.score_ms for job in found] == sorted(
        (job.score_ms or 0 for job in found), reverse=newest_first
    )


@pytest.mark.parametrize("newest_first", [False, True])
def test_members_of_one_instant_are_paged_without_a_gap(scene: Scene, newest_first: bool) -> None:
    jobs = [minted(number) for number in range(9)]
    fill(scene, "schedule", jobs)
    scene.client.zadd(scene.keys.schedule, dict.fromkeys(jobs, 5000))

    found = walk(
        scene,
        PageRequest(which=JobSet.SCHEDULE, newest_first=newest_first, limit=2, by_clock=True),
    )

    assert ids(found) == (jobs[::-1] if newest_first else jobs)


@pytest.mark.parametrize("which", SETS)
@pytest.mark.parametrize("newest_first", [False, True])
def test_a_window_of_mint_time_holds_its_start_and_not_its_end(
    scene: Scene, which: str, newest_first: bool
) -> None:
    jobs = [minted(at_ms, part) for at_ms in range(10) for part in (0, 4095)]
    fill(scene, which, jobs)

    found = walk(
        scene,
        PageRequest(
            which=JobSet(which),
            newest_first=newest_first,
            limit=2,
            since_ms=BORN_MS + 3,
            until_ms=BORN_MS + 6,
        ),
    )

    assert ids(found) == (jobs[6:12][::-1] if newest_first else jobs[6:12])


def test_browse_is_the_newest_of_what_waits_newest_first(scene: Scene) -> None:
    jobs = [minted(number) for number in range(5)]
    for number in (2, 0, 4, 1, 3):
        scene.enqueue(job_id=jobs[number])

    assert scene.queue.browse() == jobs[::-1]
    assert scene.queue.browse(2) == [jobs[4], jobs[3]]


def test_a_page_of_an_empty_set_is_empty_and_the_last(scene: Scene) -> None:
    page = scene.queue.page(PageRequest(which=JobSet.PENDING))

    assert (page.jobs, page.next_cursor) == ((), None)


@pytest.mark.parametrize(
    ("cursor", "sentence"),
    [
        ("nope", "a cursor is a time and a job id; got 'nope'"),
        ("x." + minted(1), f"a cursor is a time and a job id; got 'x.{minted(1)}'"),
        ("5000", "a cursor is a member of the set; got ''"),
        ("", "a cursor is a time and a job id; got ''"),
    ],
)
def test_a_cursor_that_no_page_by_clock_gave_is_refused(
    scene: Scene, cursor: str, sentence: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        scene.queue.page(PageRequest(which=JobSet.SCHEDULE, cursor=cursor, by_clock=True))

    assert str(refused.value) == sentence


@pytest.mark.parametrize("which", SETS)
@pytest.mark.parametrize("cursor", ["", "x" * 5000])
def test_a_cursor_that_no_set_can_hold_is_refused(scene: Scene, which: str, cursor: str) -> None:
    with pytest.raises(InvalidInput, match="a cursor is a member of the set; got "):
        scene.queue.page(PageRequest(which=JobSet(which), cursor=cursor))


def test_everything_known_of_a_job_is_read_at_once(scene: Scene) -> None:
    held = scene.held(label="w1")
    scene.queue.add_log(held.job_id, "a line")
    scene.queue.pause()

    details = scene.queue.job(held.job_id)

    assert details.fields is not None
    assert details.fields["worker"] == b"1 w1"
    assert details.deadline_ms == scene.score("active", held.job_id)
    assert (details.run_at_ms, details.receipt, details.errors) == (None, None, ())
    assert (details.logs, details.paused) == (("a line",), True)
    assert scene.queue.job(new_id()).fields is None
