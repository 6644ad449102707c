"""Every address of the admin's EchoMQ pages, walked: none can be added and forgotten."""

from __future__ import annotations

import re

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import URLPattern

from checks.tree import ROOT
from echomq_app.models import Queue as QueueModel
from echomq_app.service.queue import Queue
from tests.django.admin.conftest import Enter
from tests.django.admin.jobs import address, failed, waiting

PARTS = {
    "queue": "default",
    "which": "dead",
    "job_id": "JOB0000000000a",
    "object_id": "default",
}
PERMISSION = {
    "pause": "pause_queue",
    "resume": "pause_queue",
    "requeue": "requeue_job",
    "requeue_selected": "requeue_job",
    "remove": "remove_job",
}
PAGES = {"changelist", "set", "find", "job", "change"}


def patterns() -> dict[str, URLPattern]:
    prefix = "echomq_app_queue_"
    found = admin.site.get_model_admin(QueueModel).get_urls()
    return {str(one.name).removeprefix(prefix): one for one in found}


def path_of(name: str) -> str:
    return address(name, *(PARTS[part] for part in patterns()[name].pattern.converters))


def test_every_address_is_a_known_page_or_act() -> None:
    assert set(patterns()) == PAGES | set(PERMISSION)


@pytest.mark.parametrize("name", sorted(patterns()))
def test_a_stranger_is_sent_to_the_login(name: str, queue: Queue, db: None) -> None:
    for response in (Client().get(path_of(name)), Client().post(path_of(name))):
        assert response.status_code == 302
        assert response["Location"].startswith("/admin/login/")


@pytest.mark.parametrize("name", sorted(patterns()))
def test_staff_without_a_permission_is_refused(name: str, queue: Queue, enter: Enter) -> None:
    staff = enter()

    assert staff.get(path_of(name)).status_code == 403
    assert staff.post(path_of(name)).status_code in (403, 405)


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_viewer_sees_every_page_and_cannot_post_to_it(
    name: str, queue: Queue, viewer: Client
) -> None:
    assert viewer.get(path_of(name), follow=True).status_code in (200, 404)
    assert viewer.post(path_of(name)).status_code == 405


@pytest.mark.parametrize("name", sorted(PERMISSION))
def test_a_viewer_cannot_act(name: str, queue: Queue, viewer: Client) -> None:
    assert viewer.post(path_of(name)).status_code == 403
    assert LogEntry.objects.count() == 0


@pytest.mark.parametrize("name", sorted(PERMISSION))
def test_the_other_permissions_do_not_open_an_act(name: str, queue: Queue, enter: Enter) -> None:
    others = enter("view_queue", *sorted({*PERMISSION.values()} - {PERMISSION[name]}))
    blind = enter(PERMISSION[name])

    assert others.post(path_of(name)).status_code == 403
    assert blind.post(path_of(name)).status_code == 403


@pytest.mark.parametrize("name", sorted(PERMISSION))
def test_its_own_permission_opens_an_act_by_post_only(
    name: str, queue: Queue, enter: Enter
) -> None:
    holder = enter("view_queue", PERMISSION[name])

    assert holder.post(path_of(name)).status_code == 302
    assert holder.get(path_of(name)).status_code == 405


@pytest.mark.parametrize("name", sorted(PERMISSION))
def test_a_post_without_the_token_of_the_form_is_refused(
    name: str, queue: Queue, operator: Client
) -> None:
    operator.handler.enforce_csrf_checks = True

    assert operator.post(path_of(name)).status_code == 403
    assert not queue.is_paused()


def test_a_viewer_sees_no_button_that_changes_anything(queue: Queue, viewer: Client) -> None:
    dead = failed(queue)
    waiting(queue)

    for page in ("changelist",), ("set", "default", "dead"), ("job", "default", dead):
        text = viewer.get(address(*page)).content.decode()
        posts = [form for form in text.split("<form")[1:] if 'method="post"' in form]
        assert len(posts) == 1, page
        assert "logout" in posts[0]
        assert 'type="checkbox"' not in text


def test_permissions_are_the_four_and_none_of_djangos_own() -> None:
    assert QueueModel._meta.default_permissions == ()
    assert {codename for codename, _ in QueueModel._meta.permissions} == {
        "view_queue",
        *PERMISSION.values(),
    }


def test_the_reference_page_names_each_permission_and_no_other() -> None:
    page = (ROOT / "docs/reference/permissions.md").read_text()

    listed = re.findall(r"^\| `echomq_app\.(\w+)` \|", page, re.MULTILINE)

    assert listed == [codename for codename, _ in QueueModel._meta.permissions]
