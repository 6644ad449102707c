"""What a page shows of its rows."""

from __future__ import annotations

from echomq_app.protocol import calls
from echomq_app.protocol.states import JobSet
from echomq_app.service.records import PageRequest
from tests.protocol.scene import Scene, new_id


def test_a_page_shows_what_a_row_says_and_cuts_what_is_long(scene: Scene) -> None:
    payload = b'{"task": "shop.tasks.mail", "args": ["' + b"x" * 10_000 + b'"]}'
    held = scene.held(payload, label="host:1:7")
    scene.queue.progress(held.job_id, "50")

    (job,) = scene.queue.page(PageRequest(which=JobSet.ACTIVE)).jobs

    assert (job.job_id, job.state, job.task) == (held.job_id, "active", "shop.tasks.mail")
    assert (job.attempts, job.worker, job.progress) == (1, "1 host:1:7", "50")
    assert job.payload_bytes == len(payload)
    assert job.score_ms == scene.score("active", held.job_id)
    (row,) = scene.run(calls.read_rows(scene.keys, [held.job_id], 100))
    assert len(row.payload) == 100


def test_a_ghost_and_a_row_that_cannot_be_read_are_shown_as_such(scene: Scene) -> None:
    ghost, text = new_id(), new_id()
    scene.client.zadd(scene.keys.dead, {ghost: 0, text: 0})
    scene.client.set(scene.keys.row(text), "x")

    first, second = scene.queue.page(PageRequest(which=JobSet.DEAD)).jobs

    assert (first.job_id, first.ghost) == (ghost, True)
    assert (second.job_id, second.attempts) == (text, None)
    assert second.last_error == "the row of this job is not a hash"
