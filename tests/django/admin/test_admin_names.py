"""Queue names with any character a queue may have, in addresses and on pages."""

from __future__ import annotations

from html import unescape

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from echomq_app.admin.segments import QueueSegment
from echomq_app.connections import queue_named, server_bus
from echomq_app.service.queue import Queue
from tests.django.admin.jobs import address, waiting

NAMES = [
    "plain",
    "a/b",
    "..",
    ".",
    "a b",
    " ",
    "mail.high",
    "with_underscore",
    "_2F",
    "100%",
    "?q=1&x#y",
    "<b>&\"'",
    "ünï–cödé 🚚",
    "a\nb",
    "-",
    "x" * 128,
    "é" * 64,
]


@pytest.mark.parametrize("name", NAMES)
def test_a_queue_of_any_name_can_be_found_looked_at_and_paused(
    name: str, queue: Queue, operator: Client
) -> None:
    server_bus().join(name)
    strange = queue_named(name)
    job_id = waiting(strange)

    listing = operator.get(address("changelist"))
    job_page = operator.get(address("job", name, job_id))
    paused = operator.post(address("pause", name), {"back": address("set", name, "pending")})
    set_page = operator.get(paused["Location"])

    assert name in [row.name for row in listing.context["rows"]]
    assert f'href="{address("set", name, "pending")}"' in listing.content.decode()
    assert job_page.context["job_id"] == job_id
    assert [row.job_id for row in set_page.context["content"].rows] == [job_id]
    assert name in unescape(set_page.content.decode())
    assert strange.is_paused()


@given(st.text(st.characters(codec="utf-8", exclude_characters="{}\0"), min_size=1, max_size=32))
def test_a_segment_reads_back_as_its_name(name: str) -> None:
    segment = QueueSegment()

    written = segment.to_url(name)

    assert written.isascii()
    assert set(written) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    assert name == "emq" or segment.to_python(written) == name


@pytest.mark.parametrize("segment", ["emq", "_7B", "_00", "_FF", "_41", "_2f", "a_", "x" * 129])
def test_a_segment_that_is_no_name_or_not_its_only_spelling_is_not_found(
    segment: str, queue: Queue, viewer: Client
) -> None:
    base = address("changelist")

    assert viewer.get(f"{base}{segment}/pending/").status_code == 404


def test_two_names_never_share_an_address() -> None:
    assert len({QueueSegment().to_url(name) for name in NAMES}) == len(NAMES)
