"""Who takes part, and in which setting."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.contender import Contender

OURS = "echomq"
SERVICE = "echomq-service"
RAW = "raw"
WAKE = "blpop"


def _django(*words: str) -> Sequence[str]:
    return ("-m", "django", *words)


CONTENDERS = (
    Contender(
        name=OURS,
        title="EchoMQ for Django, `task.enqueue()`",
        note="`@task` functions, default settings (receipts and results kept), `emq_worker`",
        module="ours",
        packages=("Django", "redis", "hiredis"),
        worker=lambda slots: _django("emq_worker", "--concurrency", str(slots)),
        uses_django=True,
        pace=2000,
    ),
    Contender(
        name=SERVICE,
        title="EchoMQ for Django, `Queue.enqueue_new()`",
        note="the bare service call; bulk is `Queue.enqueue_many()` with ids minted in the same loop",
        module="service",
        uses_django=True,
        questions=frozenset({"enqueue", "bulk", "memory"}),
    ),
    Contender(
        name=RAW,
        title="raw socket",
        note="the limit: the same scripts, packed beforehand, over a bare socket; its drain is a loop "
        "that settles and claims in one round trip and runs the job inline",
        module="raw",
        worker=lambda slots: ("-m", "benchmarks.peers.raw", str(slots)),
        pace=6000,
        questions=frozenset({"enqueue", "bulk", "drain"}),
    ),
    Contender(
        name=WAKE,
        title="bare BLPOP",
        note="a push that wakes a blocked read, both over redis-py",
        module="blpop",
        worker=lambda slots: ("-m", "benchmarks.peers.blpop"),
        questions=frozenset({"pickup"}),
    ),
    Contender(
        name="huey",
        title="Huey",
        note="`RedisHuey`, thread workers, results on (a task that returns `None` stores none)",
        module="huey",
        packages=("huey",),
        worker=lambda slots: (
            *("-m", "huey.bin.huey_consumer", "benchmarks.peers.huey.app"),
            *("--workers", str(slots), "--worker-type", "thread"),
        ),
        pace=1500,
    ),
    Contender(
        name="dramatiq",
        title="Dramatiq",
        note="`RedisBroker`, default middleware, one process, no result backend",
        module="dramatiq",
        packages=("dramatiq",),
        worker=lambda slots: (
            *("-m", "dramatiq", "benchmarks.peers.dramatiq"),
            *("--processes", "1", "--threads", str(slots)),
        ),
        pace=1000,
    ),
    Contender(
        name="django-vtasks",
        title="django-vtasks",
        note="Valkey backend with its Rust driver, plain functions (faster here than `async` ones), "
        "no result is kept",
        module="vtasks",
        packages=("django-vtasks", "django-vcache"),
        worker=lambda slots: _django("runworker", "--concurrency", str(slots)),
        uses_django=True,
        pace=1500,
    ),
    Contender(
        name="django-q2",
        title="django-q2",
        note="Redis broker, results not saved (`save_limit` -1); a slot is a process",
        module="django_q",
        packages=("django-q2",),
        worker=lambda slots: _django("qcluster"),
        uses_django=True,
        pace=1500,
    ),
    Contender(
        name="taskiq",
        title="taskiq",
        note="`ListQueueBroker` of taskiq-redis, `async` tasks, no result backend",
        module="taskiq",
        packages=("taskiq", "taskiq-redis"),
        worker=lambda slots: (
            *("-m", "taskiq", "worker", "benchmarks.peers.taskiq:broker"),
            *("--workers", "1", "--max-async-tasks", str(slots)),
        ),
        pace=1000,
    ),
    Contender(
        name="celery",
        title="Celery",
        note="Redis broker, `--pool threads` (faster here than prefork), no mingle, no gossip, "
        "results ignored",
        module="celery",
        packages=("celery", "kombu"),
        worker=lambda slots: (
            *("-m", "celery", "-A", "benchmarks.peers.celery", "worker"),
            *("--pool", "threads", "--concurrency", str(slots)),
            *("--without-mingle", "--without-gossip"),
        ),
        pace=500,
    ),
    Contender(
        name="rq",
        title="RQ",
        note="a fork a job, results kept for 500 s; a slot is a process of `rq worker-pool`",
        module="rq",
        packages=("rq",),
        worker=lambda slots: (
            *("-m", "rq.cli", "worker-pool", "bench"),
            *("--num-workers", str(slots)),
        ),
        pace=40,
    ),
)

PEERS = frozenset(one.name for one in CONTENDERS) - {OURS, SERVICE, RAW, WAKE}


def taking_part(question: str, names: Sequence[str] = ()) -> list[Contender]:
    """The installed contenders that a question is asked of, or those of them that are named."""
    found = [one for one in CONTENDERS if question in one.questions and one.installed]
    return [one for one in found if not names or one.name in names]


def contender(name: str) -> Contender:
    """The contender of that name; ``KeyError`` for none."""
    return {one.name: one for one in CONTENDERS}[name]
