from __future__ import annotations

import re
import sys
import unittest
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import isolate_apps

from checks.tree import ROOT
from echomq_app.backend.registry import find_task
from echomq_app.compat import HAS_BUILTIN_TASKS, TaskResultStatus
from echomq_app.connections import queue_named
from echomq_app.protocol.errors import EnqueueFailed
from echomq_app.service.queue import Queue
from tests.django.conftest import point_at
from tests.django.work import work
from tests.foreign.seeds import seed_enqueue
from tests.servers.server import Server

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

pytestmark = pytest.mark.django_db(transaction=True)


def blocks(page: str, language: str = "python") -> list[str]:
    """The code of a how-to page, as its readers have to write it on this Django."""
    text = (ROOT / "docs" / "how-to" / f"{page}.md").read_text()
    found = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    if HAS_BUILTIN_TASKS:
        return found
    return [code.replace("from django.tasks import", "from django_tasks import") for code in found]


@pytest.fixture
def reader(site: Any) -> Iterator[dict[str, Any]]:
    """Names of a reader's ``shop.tasks``: those of the first block of the page on enqueueing."""
    module = ModuleType("shop.tasks")
    sys.modules["shop.tasks"] = module
    exec(blocks("enqueue")[0], module.__dict__)
    module.__dict__["Order"] = Group
    find_task.cache_clear()
    yield module.__dict__
    del sys.modules["shop.tasks"]
    find_task.cache_clear()


def test_the_page_on_enqueueing_works_block_by_block(
    reader: dict[str, Any], backend: Any, capsys: pytest.CaptureFixture[str], engine_server: Server
) -> None:
    _, send, view, look, *_ = blocks("enqueue")
    (foreign,) = blocks("enqueue", "json")

    exec(send, reader)
    exec(view, reader)
    awaited = async_to_sync(reader["view"])(None)
    seed_enqueue(engine_server.client(), "default", "JOB0STRpsM4RZ1", foreign)
    imported = reader["import_rows"].enqueue([1, 2, 3])
    work("default", "mail")
    exec(look, reader)

    told = {name: backend.get_result(reader[name].id) for name in ("result", "later", "mailed")}
    assert told["result"].return_value == "receipt of order 7"
    assert told["later"].status == TaskResultStatus.READY
    assert told["mailed"].return_value == "receipt of order 9"
    assert backend.get_result(awaited).return_value == "receipt of order 7"
    assert backend.get_result("JOB0STRpsM4RZ1").return_value == "receipt of order 7"
    assert backend.get_result(imported.id).return_value == 3
    assert capsys.readouterr().out == "SUCCESSFUL 1 []\nreceipt of order 7\n"


def test_the_page_on_transactions_works_block_by_block(
    reader: dict[str, Any], queue: Queue, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    store, fail, at_once, case, *_ = blocks("transactions")
    home = settings.ECHOMQ["CONNECTION"]

    exec(store, reader)
    assert queue.browse() == [reader["result"].id]
    assert Group.objects.get().name == f"7 apples ({reader['result'].id})"

    exec(fail, reader)
    assert reader["unsent"] is None
    assert queue.pending_size() == 2

    begin, resend = fail.split("\n\nif ")
    point_at(settings, "redis://127.0.0.1:1/0", PATIENCE=0.05)
    exec(begin, reader)
    assert isinstance(reader["unsent"], EnqueueFailed)
    point_at(settings, home)
    exec(f"if {resend}", reader)
    assert queue_named("default").pending_size() == 3
    assert "send_receipt" in capsys.readouterr().out

    exec(case, reader)
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(reader["OrderTest"])
    assert unittest.TextTestRunner().run(suite).wasSuccessful()

    chosen: dict[str, Any] = {}
    exec(at_once, chosen)
    settings.ECHOMQ = {**chosen["ECHOMQ"], "CONNECTION": home}
    settings.TASKS = chosen["TASKS"]
    before = queue_named("default").pending_size()
    with reader["transaction"].atomic():
        reader["send_receipt"].enqueue(7)
        assert queue_named("default").pending_size() == before + 1


@pytest.fixture
def fenced(reader: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The reader's tasks once the models of the page on late writes are there, with their tables."""
    models = ModuleType("project.shop.models_of_a_reader")
    sys.modules["shop.models"] = models
    with isolate_apps("project.shop"):
        exec(blocks("fencing")[0], models.__dict__)
    tables = [models.__dict__[name] for name in ("Export", "Line")]
    with connection.schema_editor() as editor:
        for table in tables:
            editor.create_model(table)
    for code in blocks("fencing")[1:]:
        exec(code, reader)
    yield reader
    with connection.schema_editor() as editor:
        for table in reversed(tables):
            editor.delete_model(table)
    del sys.modules["shop.models"]


def test_the_page_on_late_writes_works_block_by_block(fenced: dict[str, Any], backend: Any) -> None:
    exported = fenced["export"].enqueue(["one", "two"])
    lined = fenced["export_lines"].enqueue(["one", "two"])
    work("default")
    first, second = fenced["Export"].objects.order_by("job")
    older, newer = (fenced["summarise"].enqueue(first.pk, rows) for rows in (3, 4))
    first.fenced_update(SimpleNamespace(job_id=newer.id, fence=1), rows=5)
    work("default")

    first.refresh_from_db()
    assert (first.job, first.rows, first.finished) == (exported.id, 4, True)
    assert (second.job, second.line_set.count(), second.finished) == (lined.id, 2, True)
    told = [backend.get_result(one.id).return_value for one in (exported, older, newer)]
    assert told == [2, "a newer job has written it", None]
