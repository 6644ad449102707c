from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.transaction import atomic
from django.test import TestCase

from echomq_app.connections import queue_named
from echomq_app.protocol.errors import EnqueueFailed
from echomq_app.protocol.states import State
from echomq_app.service.queue import Queue
from tests.django.conftest import point_at
from tests.django.work import work
from tests.servers.cluster import Cluster
from tests.servers.proxy import CuttingProxy

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


def waiting(queue: Queue) -> list[str]:
    """The ids that wait, oldest first."""
    return sorted(queue.browse())


@contextmanager
def rolled_back(using: str = "default") -> Iterator[None]:
    """A transaction, or a savepoint in one, that an exception ends."""
    try:
        with atomic(using=using):
            yield
            raise ZeroDivisionError
    except ZeroDivisionError:
        return


def test_a_job_goes_out_on_commit(site: Any, queue: Queue, enqueued: list[str]) -> None:
    with atomic():
        result = site.add.enqueue(1)
        before = waiting(queue), list(enqueued)

    assert before == ([], [])
    assert waiting(queue) == [result.id]
    assert enqueued == [result.id]


def test_outside_a_transaction_a_job_goes_out_at_once(site: Any, queue: Queue) -> None:
    result = site.add.enqueue(1)

    assert waiting(queue) == [result.id]


def test_a_rollback_sends_nothing(site: Any, queue: Queue, enqueued: list[str]) -> None:
    with rolled_back():
        site.add.enqueue(1)
    with atomic():
        site.add.enqueue(2)
        transaction.set_rollback(True)
    with atomic():
        later = site.add.enqueue(3)

    assert waiting(queue) == [later.id]
    assert enqueued == [later.id]


def test_a_savepoint_that_rolls_back_takes_its_jobs_along(site: Any, queue: Queue) -> None:
    with atomic():
        first = site.add.enqueue(1)
        with rolled_back():
            site.add.enqueue(2)
            with atomic():
                site.add.enqueue(3)
        with atomic():
            fourth = site.add.enqueue(4)
        with rolled_back():
            site.add.enqueue(5)

    assert waiting(queue) == [first.id, fourth.id]


def test_nested_blocks_wait_for_the_outermost(site: Any, queue: Queue) -> None:
    with atomic():
        with atomic():
            with atomic(savepoint=False):
                result = site.add.enqueue(1)
            assert waiting(queue) == []
        assert waiting(queue) == []

    assert waiting(queue) == [result.id]


def test_a_job_waits_for_every_open_database(site: Any, queue: Queue) -> None:
    with atomic():
        alone = site.add.enqueue(1)
        with atomic(using="other"):
            both = site.add.enqueue(2)
        assert waiting(queue) == []

    assert waiting(queue) == [alone.id, both.id]


@pytest.mark.parametrize(("outer", "inner"), [("default", "other"), ("other", "default")])
def test_one_database_that_rolls_back_is_enough(
    site: Any, queue: Queue, outer: str, inner: str
) -> None:
    with rolled_back(outer), atomic(using=inner):
        site.add.enqueue(1)
    with atomic(using=outer):
        with rolled_back(inner):
            site.add.enqueue(2)
        kept = site.add.enqueue(3)

    assert waiting(queue) == [kept.id]


def test_a_transaction_after_one_that_rolled_back_is_clean(site: Any, queue: Queue) -> None:
    with rolled_back(), atomic(using="other"):
        site.add.enqueue(1)
    with atomic(using="other"):
        kept = site.add.enqueue(2)

    assert waiting(queue) == [kept.id]


def test_waiting_for_the_commit_can_be_turned_off_for_all(
    site: Any, queue: Queue, settings: Settings
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "ENQUEUE_ON_COMMIT": False}

    with rolled_back():
        result = site.add.enqueue(1)

    assert waiting(queue) == [result.id]


@pytest.mark.parametrize("for_all", [True, False])
def test_a_backend_has_the_last_word_about_waiting(
    site: Any, queue: Queue, settings: Settings, for_all: bool
) -> None:
    settings.ECHOMQ = {**settings.ECHOMQ, "ENQUEUE_ON_COMMIT": for_all}
    settings.TASKS = {
        "default": {
            **settings.TASKS["default"],
            "OPTIONS": {"enqueue_on_commit": not for_all},
        }
    }

    with atomic():
        result = site.add.enqueue(1)
        seen = waiting(queue)

    assert seen == ([result.id] if for_all else [])


def test_all_jobs_of_a_transaction_take_one_round_trip(
    site: Any, queue: Queue, behind_proxy: CuttingProxy
) -> None:
    with atomic():
        ids = [site.add.enqueue(number).id for number in range(3)]
        for number in range(2):
            site.add.using(queue_name="mail").enqueue(number)
        assert behind_proxy.round_trips == 0

    assert behind_proxy.round_trips == 1
    assert [words[0] for words in behind_proxy.commands] == [b"EVALSHA"] * 2
    assert waiting(queue) == ids


def test_jobs_of_queues_in_different_slots_go_out_on_commit(
    site: Any, settings: Settings, cluster: Cluster
) -> None:
    point_at(settings, cluster.url, PATIENCE=5)
    names = ("default", "mail")
    assert len({cluster.owner(cluster.slot(f"{{{name}}}")).port for name in names}) == 2

    with atomic():
        results = [site.add.using(queue_name=name).enqueue(1) for name in names for _ in range(3)]

    assert [queue_named(name).pending_size() for name in names] == [3, 3]
    work(*names, threads=2)
    assert [site.add.get_result(one.id).return_value for one in results] == [2] * 6


def test_hundreds_of_jobs_go_out_together(site: Any, queue: Queue) -> None:
    with atomic():
        ids = [site.echo.enqueue("x" * 1000).id for _ in range(1200)]

    assert queue.pending_size() == 1200
    assert queue.state(ids[0]) is queue.state(ids[-1]) is State.PENDING


def test_other_hooks_run_in_their_order(site: Any, queue: Queue) -> None:
    seen: list[tuple[str, int]] = []

    def note(name: str) -> None:
        seen.append((name, queue.pending_size()))

    with atomic():
        transaction.on_commit(partial(note, "first"))
        site.add.enqueue(1)
        site.add.enqueue(2)
        transaction.on_commit(partial(note, "second"))
        site.add.enqueue(3)
        transaction.on_commit(partial(note, "third"))

    assert seen == [("first", 0), ("second", 2), ("third", 3)]


def test_a_hook_that_raises_stops_what_comes_after_it_alone(site: Any, queue: Queue) -> None:
    def trip() -> None:
        raise ZeroDivisionError

    @atomic
    def order() -> None:
        kept.append(site.add.enqueue(1).id)
        transaction.on_commit(trip)
        site.add.enqueue(2)

    kept: list[str] = []
    with pytest.raises(ZeroDivisionError):
        order()
    with atomic():
        kept.append(site.add.enqueue(3).id)

    assert waiting(queue) == kept


def test_a_hook_may_enqueue_in_a_transaction_of_its_own(site: Any, queue: Queue) -> None:
    ids: list[str] = []

    def more(number: int) -> None:
        with atomic():
            ids.append(site.add.enqueue(number).id)
        ids.append(site.add.enqueue(number).id)

    with atomic():
        transaction.on_commit(partial(more, 1))
        ids.append(site.add.enqueue(0).id)
        transaction.on_commit(partial(more, 2))
        ids.append(site.add.enqueue(0).id)

    assert len(ids) == 6
    assert waiting(queue) == sorted(ids)


def test_threads_do_not_see_each_others_transactions(site: Any, queue: Queue) -> None:
    ids: list[str] = []

    def enqueue() -> None:
        ids.append(site.add.enqueue(1).id)

    with rolled_back():
        site.add.enqueue(2)
        thread = threading.Thread(target=enqueue)
        thread.start()
        thread.join()
        assert waiting(queue) == ids

    assert len(ids) == 1
    assert waiting(queue) == ids


def test_the_row_is_there_when_the_worker_looks(site: Any, run: Any) -> None:
    with atomic():
        Group.objects.create(name="row")
        result = site.count_groups.enqueue()

    assert run(result).return_value == 1


class OneDatabase(TestCase):
    """What a project's own test case sees."""

    site: Any
    queue: Queue

    wiring: Settings

    @pytest.fixture(autouse=True)
    def _site(self, site: Any, queue: Queue, settings: Settings) -> None:
        self.site, self.queue, self.wiring = site, queue, settings

    def test_a_capture_that_failed_does_not_haunt_the_next(self) -> None:
        home = self.wiring.ECHOMQ["CONNECTION"]
        point_at(self.wiring, "redis://127.0.0.1:1/0", PATIENCE=0.05)
        with pytest.raises(EnqueueFailed), self.captureOnCommitCallbacks(execute=True):
            self.site.add.enqueue(1)
        point_at(self.wiring, home)

        with self.captureOnCommitCallbacks(execute=True):
            second = self.site.add.enqueue(2)
        assert waiting(queue_named("default")) == [second.id]

    def test_captured_hooks_send_when_they_are_executed(self) -> None:
        with self.captureOnCommitCallbacks(execute=True):
            first = self.site.add.enqueue(1)
            second = self.site.add.enqueue(2)
        assert waiting(self.queue) == [first.id, second.id]

        with self.captureOnCommitCallbacks(execute=True), atomic():
            third = self.site.add.enqueue(3)
        assert waiting(self.queue) == [first.id, second.id, third.id]

    def test_captured_hooks_send_nothing_while_they_are_not_executed(self) -> None:
        with self.captureOnCommitCallbacks() as first:
            one = self.site.add.enqueue(1)
        with self.captureOnCommitCallbacks(execute=True):
            two = self.site.add.enqueue(2)
        assert waiting(self.queue) == [two.id]

        for callback in first:
            callback()
        assert waiting(self.queue) == [one.id, two.id]

    def test_a_hook_that_enqueues_is_followed(self) -> None:
        with self.captureOnCommitCallbacks(execute=True):
            transaction.on_commit(partial(self.site.add.enqueue, 2))
            self.site.add.enqueue(1)
        assert self.queue.pending_size() == 2

    def test_a_savepoint_takes_its_jobs_along(self) -> None:
        with self.captureOnCommitCallbacks(execute=True):
            kept = self.site.add.enqueue(1)
            with rolled_back():
                self.site.add.enqueue(2)
        assert waiting(self.queue) == [kept.id]


class ManyDatabases(TestCase):
    """A test case that opens a transaction on each database."""

    databases = {"default", "other"}
    site: Any
    queue: Queue

    @pytest.fixture(autouse=True)
    def _site(self, site: Any, queue: Queue) -> None:
        self.site, self.queue = site, queue

    def test_jobs_wait_for_the_databases_that_the_code_opened(self) -> None:
        with self.captureOnCommitCallbacks(execute=True):
            plain = self.site.add.enqueue(1)
            with atomic():
                inside = self.site.add.enqueue(2)
        assert waiting(self.queue) == [plain.id, inside.id]

        with self.captureOnCommitCallbacks(using="other", execute=True), atomic(using="other"):
            other = self.site.add.enqueue(3)
        assert waiting(self.queue) == [plain.id, inside.id, other.id]
