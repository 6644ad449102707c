from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from django.contrib.admin.models import CHANGE, DELETION, LogEntry
from django.contrib.messages import get_messages
from django.test import Client

from echomq_app.protocol.states import State
from echomq_app.service.queue import Queue
from tests.django.admin.jobs import address, connect, failed, running, scheduled, waiting
from tests.servers.proxy import CuttingProxy
from tests.servers.server import Server

if TYPE_CHECKING:
    from django.http.response import HttpResponseBase
    from pytest_django.fixtures import Settings

GONE = "JOB0000000000a"


def said(response: HttpResponseBase) -> list[str]:
    return [str(message) for message in get_messages(response.wsgi_request)]  # type: ignore[attr-defined]  # the client adds it


def trail() -> list[tuple[str, str, int, str]]:
    entries = LogEntry.objects.order_by("pk").values_list(
        "user__username", "object_repr", "action_flag", "change_message"
    )
    return list(entries)


WHO = "op-view_queue-pause_queue-requeue_job-remove_job"


def test_pause_stops_claims_and_resume_lets_them_go_on(queue: Queue, operator: Client) -> None:
    paused = operator.post(address("pause", "default"))

    assert queue.is_paused()
    assert "Queue default is paused" in said(paused)[0]

    resumed = operator.post(address("resume", "default"))

    assert not queue.is_paused()
    assert "Queue default is served again" in said(resumed)[-1]
    assert trail() == [
        (WHO, "default", CHANGE, "Paused."),
        (WHO, "default", CHANGE, "Resumed."),
    ]


def test_a_pause_of_a_paused_queue_says_so_and_leaves_no_trail(
    queue: Queue, operator: Client
) -> None:
    queue.pause()

    response = operator.post(address("pause", "default"))

    assert said(response) == ["Queue default was paused already."]
    assert trail() == []


def test_requeue_gives_a_dead_job_all_its_attempts_again(queue: Queue, operator: Client) -> None:
    dead = failed(queue)

    response = operator.post(address("requeue", "default", dead))

    assert queue.state(dead) is State.PENDING
    assert said(response) == [f"Job {dead} waits again."]
    assert trail() == [(WHO, f"default, job {dead}", CHANGE, "Requeued 1 job.")]


def test_requeue_of_a_job_that_is_not_dead_is_refused(queue: Queue, operator: Client) -> None:
    job_id = waiting(queue)

    response = operator.post(address("requeue", "default", job_id))

    assert "not dead" in said(response)[0]
    assert trail() == []


def test_requeue_selected_requeues_what_is_dead_and_counts_the_rest(
    queue: Queue, operator: Client
) -> None:
    dead = [failed(queue), failed(queue)]
    unticked = failed(queue)
    alive = waiting(queue)

    response = operator.post(
        address("requeue_selected", "default"), {"job": [*dead, alive, GONE, dead[0]]}
    )

    assert {queue.state(job_id) for job_id in dead} == {State.PENDING}
    assert queue.state(unticked) is State.DEAD
    assert said(response) == [
        "2 jobs wait again.",
        "1 job was not dead and was left as it is.",
        "1 job is gone.",
    ]
    assert trail() == [(WHO, "default", CHANGE, f"Requeued 2 jobs: {dead[0]}, {dead[1]}.")]


def test_requeue_selected_without_a_selection_does_nothing(queue: Queue, operator: Client) -> None:
    response = operator.post(address("requeue_selected", "default"))

    assert said(response) == ["No job was selected; nothing was done."]
    assert trail() == []


@pytest.mark.parametrize("make", [waiting, failed, scheduled])
def test_remove_ends_a_job_that_nobody_holds_and_leaves_a_receipt(
    make: Callable[[Queue], str], queue: Queue, operator: Client
) -> None:
    job_id = make(queue)

    response = operator.post(address("remove", "default", job_id))

    left = queue.job(job_id)
    assert left.fields is None
    assert left.receipt is not None
    assert left.receipt.label.startswith("removed by user ")
    assert said(response) == [f"Job {job_id} was removed."]
    assert trail() == [(WHO, f"default, job {job_id}", DELETION, "Removed 1 job.")]


def test_remove_of_a_held_job_is_refused_and_changes_nothing(
    queue: Queue, operator: Client
) -> None:
    held = running(queue)

    response = operator.post(address("remove", "default", held.job_id))

    assert queue.state(held.job_id) is State.ACTIVE
    assert "A worker holds this job" in said(response)[0]
    assert trail() == []


def test_remove_of_a_job_that_is_gone_says_so(queue: Queue, operator: Client) -> None:
    response = operator.post(address("remove", "default", GONE))

    assert said(response) == [f"Job {GONE} is gone."]
    assert trail() == []


@pytest.mark.parametrize("act", ["requeue", "remove"])
def test_an_act_on_a_malformed_id_is_refused(act: str, queue: Queue, operator: Client) -> None:
    response = operator.post(address(act, "default", "no-id"))

    assert "a job id is 14 ASCII characters" in said(response)[0]
    assert trail() == []


def test_an_act_goes_back_to_its_page(queue: Queue, operator: Client) -> None:
    back = address("set", "default", "dead") + "?order=oldest"

    assert operator.post(address("pause", "default"), {"back": back})["Location"] == back


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example/", "javascript:x", ""])
def test_an_act_never_goes_back_to_another_site(back: str, queue: Queue, operator: Client) -> None:
    response = operator.post(address("pause", "default"), {"back": back})

    assert response["Location"] == address("set", "default", "pending")


def test_without_a_server_an_act_says_so_and_leaves_no_trail(
    settings: Settings, operator: Client
) -> None:
    settings.ECHOMQ = {"CONNECTION": "redis://127.0.0.1:1/0", "PATIENCE": 0.05}

    response = operator.post(address("pause", "default"))

    assert "does not answer" in said(response)[0]
    assert trail() == []


def test_an_act_whose_answer_is_lost_leaves_a_trail_that_says_so(
    engine_server: Server, proxy: CuttingProxy, settings: Settings, operator: Client
) -> None:
    connect(settings, proxy.url)
    operator.get(address("changelist"))
    proxy.cut_before_reply(lambda words: words[0] == b"EVALSHA", times=10_000)

    response = operator.post(address("pause", "default"))

    assert "does not answer" in said(response)[0]
    assert trail() == [(WHO, "default", CHANGE, "Pause: no answer came; it may have happened.")]


def test_the_log_of_actions_links_to_the_queue(queue: Queue, operator: Client) -> None:
    operator.post(address("pause", "default"))

    (entry,) = LogEntry.objects.all()
    link = entry.get_admin_url()
    assert link is not None
    followed = operator.get(link, follow=True)

    assert followed.status_code == 200
    assert followed.request["PATH_INFO"] == address("set", "default", "pending")
    assert link in operator.get("/admin/").content.decode()


def test_a_lapsed_lease_does_not_make_a_job_removable_before_it_is_reaped(
    queue: Queue, operator: Client
) -> None:
    held = running(queue, lease=timedelta(milliseconds=1))

    operator.post(address("remove", "default", held.job_id))

    assert queue.state(held.job_id) is State.ACTIVE
