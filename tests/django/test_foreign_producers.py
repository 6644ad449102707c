from __future__ import annotations

import json
import sys
from datetime import timedelta
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from echomq_app.backend.execution import UNKNOWN_TASK_TRIES, TaskRunner
from echomq_app.backend.registry import UnknownTask, find_task
from echomq_app.compat import TaskResultDoesNotExist, TaskResultStatus
from echomq_app.conf import Settings
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.payload import TaskPayload, encode
from echomq_app.protocol.states import State
from echomq_app.runtime.outcomes import Delayed
from echomq_app.service.queue import Queue
from tests.django.work import work
from tests.eventually import eventually
from tests.foreign.seeds import seed_enqueue
from tests.servers.server import Server

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings as DjangoSettings

TASKS = "tests.django.site.tasks"


@pytest.fixture
def foreign(site: Any, engine_server: Server) -> Any:
    """Enqueue a payload as another program does: the seed's script, its own id, nothing else."""

    def enqueue(payload: Any, queue: str = "default") -> str:
        raw = payload if isinstance(payload, (bytes, str)) else json.dumps(payload)
        job_id = Minter().mint()
        assert seed_enqueue(engine_server.client(), queue, job_id, raw) == 1
        return job_id

    return enqueue


def last_error(queue: Queue, job_id: str) -> str:
    fields = queue.job(job_id).fields
    assert fields is not None
    return fields.get("last_error", b"").decode()


def test_a_foreign_job_runs_like_our_own(site: Any, foreign: Any, backend: Any) -> None:
    ours = site.add.enqueue(1, right=2)
    theirs = foreign({"task": f"{TASKS}.add", "args": [1], "kwargs": {"right": 2}})
    work()

    mine, other = backend.get_result(ours.id), backend.get_result(theirs)

    assert other.return_value == mine.return_value == 3
    assert (other.status, other.args, other.kwargs) == (mine.status, mine.args, mine.kwargs)
    assert (other.attempts, other.task) == (mine.attempts, mine.task)


@pytest.mark.parametrize(
    "payload",
    [
        {"task": f"{TASKS}.echo"},
        {"task": f"{TASKS}.echo", "args": None, "kwargs": None, "meta": None, "priority": None},
        {"task": f"{TASKS}.echo", "args": [], "v": 99, "else": {"deep": [1]}},
        json.dumps({"task": f"{TASKS}.echo"}).encode("utf-8-sig"),
    ],
)
def test_the_least_of_a_payload_is_enough(
    site: Any, foreign: Any, backend: Any, payload: Any
) -> None:
    job_id = foreign(payload)
    work()

    assert backend.get_result(job_id).return_value == [[], {}]


def test_odd_text_of_a_foreign_producer_is_passed_on(site: Any, foreign: Any, backend: Any) -> None:
    job_id = foreign(f'{{"task":"{TASKS}.echo","args":["\\ud800","\\u0000","ж"]}}')
    work()

    assert backend.get_result(job_id).return_value == [["\ud800", "\x00", "ж"], {}]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "the payload is not UTF-8 JSON"),
        (b"\xff\xfe\xfd", "the payload is not UTF-8 JSON"),
        (b"pickle", "the payload is not UTF-8 JSON"),
        (b"[1]", "the payload is not a JSON object; got list"),
        (b"null", "the payload is not a JSON object; got NoneType"),
        ({}, "the payload's 'task' is not text; got NoneType None"),
        ({"task": ["a"]}, "the payload's 'task' is not text; got list"),
        ({"task": "a.b", "args": {}}, "the payload's 'args' is not an array; got dict"),
        ({"task": "a.b", "kwargs": []}, "the payload's 'kwargs' is not an object; got list"),
        ({"task": "a.b", "max_attempts": True}, "'max_attempts' is not a whole number"),
        ({"task": "a.b", "expires_at": "soon"}, "'expires_at' is not a whole number"),
        (b'{"task":"a.b","args":[' + b"1" * 5000 + b"]}", "the payload is not UTF-8 JSON"),
    ],
    ids=str,
)
def test_a_payload_that_is_none_is_dead_with_the_reason(
    site: Any, foreign: Any, queue: Queue, payload: Any, reason: str
) -> None:
    job_id = foreign(payload)
    work()

    assert queue.state(job_id) is State.DEAD
    assert reason in last_error(queue, job_id)


REFUSED = [
    (f"{TASKS}.not_a_task", "is function, not a task: put @task above the function"),
    (f"{TASKS}.seen", "is list, not a task"),
    (f"{TASKS}.Declined", "is type, not a task"),
    (f"{TASKS}.missing", "cannot be imported"),
    (f"{TASKS}.add.func", "cannot be imported"),
    ("tests.django.site.nowhere.task", "cannot be imported"),
    ("os.system", "is builtin_function_or_method, not a task"),
    ("subprocess.run", "is function, not a task"),
    ("builtins.eval", "is builtin_function_or_method, not a task"),
    ("antigravity.fly", "is not in an installed app: add the app to INSTALLED_APPS, or import"),
    ("tests.django.elsewhere.stray", "is not in an installed app"),
    ("tests.django.site_too.tasks.add", "is not in an installed app"),
    ("add", "is not in an installed app"),
    ("", "is not in an installed app"),
    (".", "is not in an installed app"),
    ("..tasks.add", "is not in an installed app"),
    ("tests.django.site..tasks.add", "cannot be imported"),
    ("tests.django.site.tasks.", "cannot be imported"),
    ("tests.django.site/../elsewhere.stray", "is not in an installed app"),
    ("x." * 5_000 + "y", "is not in an installed app"),
]


@pytest.mark.parametrize(("path", "sentence"), REFUSED, ids=lambda word: str(word)[:40])
def test_what_is_no_task_of_the_project_is_refused_in_words(
    site: Any, path: str, sentence: str
) -> None:
    before = set(sys.modules)

    with pytest.raises(UnknownTask) as refused:
        find_task(path)

    assert sentence in str(refused.value)
    assert len(str(refused.value)) < 1_000
    gone = {"antigravity", "tests.django.elsewhere"}
    assert not gone & (set(sys.modules) - before)


def test_nothing_of_a_refused_path_is_run_or_imported(
    site: Any, foreign: Any, queue: Queue
) -> None:
    sys.modules.pop("tests.django.elsewhere", None)
    paths = [path for path, _ in REFUSED]
    ids = [foreign({"task": path, "args": ["touch it"]}) for path in paths]
    work(threads=4)

    assert {queue.state(job_id) for job_id in ids} == {State.SCHEDULED}
    assert site.seen == []
    assert not {"antigravity", "tests.django.elsewhere"} & sys.modules.keys()


def test_a_module_outside_the_apps_counts_once_the_project_has_imported_it(site: Any) -> None:
    from tests.django.elsewhere import stray

    try:
        assert find_task("tests.django.elsewhere.stray") is stray
    finally:
        find_task.cache_clear()
        del sys.modules["tests.django.elsewhere"]


def test_a_module_of_an_app_is_imported_when_its_task_comes(
    site: Any, foreign: Any, backend: Any
) -> None:
    sys.modules.pop("tests.django.site.more", None)
    find_task.cache_clear()
    job_id = foreign({"task": "tests.django.site.more.rare", "args": ["word"]})
    work()

    assert backend.get_result(job_id).return_value == "WORD"


def test_a_module_that_cannot_be_imported_is_a_failure_with_its_traceback(
    site: Any, foreign: Any, queue: Queue
) -> None:
    path = "tests.django.site.broken.anything"
    job_id = foreign({"task": path, "max_attempts": 1})
    work()

    assert queue.state(job_id) is State.DEAD
    assert last_error(queue, job_id) == "RuntimeError: the module is broken"
    (report,) = queue.job(job_id).errors
    assert "broken.py" in json.loads(report)["traceback"]


def test_an_unknown_task_waits_and_does_not_count(
    site: Any, foreign: Any, queue: Queue, backend: Any
) -> None:
    job_id = foreign({"task": f"{TASKS}.of_the_next_deploy"})
    work()

    job = queue.job(job_id)
    assert job.fields is not None
    assert job.state is State.SCHEDULED
    assert job.run_at_ms is not None
    assert (job.fields["attempts"], job.fields["excused"]) == (b"1", b"1")
    assert job.run_at_ms - job.now_ms <= 1_000
    with pytest.raises(TaskResultDoesNotExist):
        backend.get_result(job_id)


def test_an_unknown_task_runs_once_a_worker_knows_it(
    site: Any, foreign: Any, queue: Queue, backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = foreign({"task": "deployed_later.add", "args": [1]})
    work()
    deployed = ModuleType("deployed_later")
    vars(deployed)["add"] = site.add
    monkeypatch.setitem(sys.modules, "deployed_later", deployed)

    def done() -> bool:
        work()
        return queue.state(job_id) is State.DONE

    eventually(done)

    assert site.seen == [(1, 1)]
    assert backend.get_result(job_id).attempts == 1
    find_task.cache_clear()


def test_an_unknown_task_waits_longer_each_time_and_about_an_hour_in_all(
    site: Any, queue: Queue, hold: Any, engine_server: Server
) -> None:
    queue.enqueue_new(encode(TaskPayload(task=f"{TASKS}.unknown")))
    held = hold(queue)
    pauses = []
    for excused in range(UNKNOWN_TASK_TRIES):
        held.lease = held.lease._replace(excused=excused)
        outcome = TaskRunner(Settings())(held)
        assert isinstance(outcome, Delayed)
        pauses.append(outcome.delay)

    assert pauses[:4] == [timedelta(seconds=one) for one in (1, 2, 4, 8)]
    assert max(pauses) == timedelta(minutes=1)
    assert timedelta(minutes=45) < sum(pauses, timedelta()) < timedelta(minutes=75)


def test_an_unknown_task_is_dead_in_the_end_with_the_reason(
    site: Any, foreign: Any, queue: Queue, engine_server: Server
) -> None:
    job_id = foreign({"task": f"{TASKS}.unknown"})
    row = queue.keys.row(job_id)
    engine_server.ask("HSET", row, "attempts", UNKNOWN_TASK_TRIES, "excused", UNKNOWN_TASK_TRIES)
    work()

    assert queue.state(job_id) is State.DEAD
    assert last_error(queue, job_id).startswith(f"the task '{TASKS}.unknown' cannot be imported")


def test_a_dead_foreign_job_tells_its_failure_as_ours_does(
    site: Any, foreign: Any, backend: Any
) -> None:
    job_id = foreign({"task": f"{TASKS}.fail", "max_attempts": 1, "kwargs": {"text": "theirs"}})
    work()

    result = backend.get_result(job_id)

    assert result.status == TaskResultStatus.FAILED
    assert result.errors[0].traceback.endswith("Declined: theirs\n")


def test_wrong_arguments_are_a_failure_of_the_task(
    site: Any, foreign: Any, queue: Queue, settings: DjangoSettings
) -> None:
    job_id = foreign({"task": f"{TASKS}.add", "args": [1, 2, 3], "max_attempts": 1})
    work()

    assert last_error(queue, job_id).startswith("TypeError: add() takes from 1 to 2 positional")
