from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from echomq_app.connections.shared import caches_beside

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

DJANGO_REDIS = "django_redis.cache.RedisCache"
CORE = "django.core.cache.backends.redis.RedisCache"
NONE = {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}
SENTINELS: dict[str, Any] = {
    "CLIENT_CLASS": "django_redis.client.SentinelClient",
    "SENTINELS": [("sentinel.example", 26379)],
}


def cache(location: Any, backend: str = DJANGO_REDIS, **options: Any) -> dict[str, Any]:
    return {"BACKEND": backend, "LOCATION": location, "OPTIONS": options}


SAME: list[tuple[str, dict[str, Any]]] = [
    ("redis://host:6379/0", cache("redis://host:6379/0")),
    ("redis://host:6379/0", cache("redis://host")),
    ("redis://host", cache("redis://HOST/0")),
    ("redis://host", cache("host:6379")),
    ("redis://host/1", cache("redis://host:6379/1")),
    ("redis://host/1", cache("redis://host?db=1")),
    ("redis://host?db=1", cache("redis://host/1")),
    ("redis://host/1", cache("redis://host/7?db=1")),
    ("redis://host/1", cache("redis://host", DB=1)),
    ("redis://host/1", cache("redis://host", CONNECTION_POOL_KWARGS={"db": 1})),
    ("redis://host/1", cache("redis://host", backend=CORE, db=1)),
    ("redis://host/1", cache("redis://host/1", DB=5)),
    ("redis://host/1", cache("redis://me:secret@host/1")),
    ("redis://:secret@host/1", cache("redis://host/1")),
    ("rediss://host/0", cache("rediss://host")),
    ("rediss://host:6379/0", cache("redis://host:6379/0")),
    ("redis://localhost", cache("redis://127.0.0.1:6379")),
    ("redis://127.0.0.1", cache("redis://localhost")),
    ("redis://[::1]:6379", cache("redis://127.0.0.1")),
    ("redis://localhost", cache("redis://127.0.0.2")),
    ("redis://localhost", cache("")),
    ("redis://localhost", cache(None, backend=CORE)),
    ("redis://host/2", cache("redis://main/0,redis://host/2")),
    ("redis://host/2", cache(["redis://main/0", "redis://host/2"])),
    ("redis://host/2", cache(("redis://main/0", " redis://host/2 "), backend=CORE)),
    ("unix:///run/r.sock", cache("unix:///run/r.sock?db=0")),
    ("unix:///run/r.sock?db=3", cache("unix:///run/r.sock?db=3")),
    ("unix:///run/r.sock?db=3", cache("unix:///run/r.sock", DB=3)),
    ("unix://me:secret@/run/r.sock", cache("unix:///run/r.sock")),
    ("redis+cluster://one:7000,two:7001", cache("redis://two:7001")),
    ("redis+cluster://two:7001", cache("redis://two:7001/0")),
    ("redis+sentinel://s1:26379,s2:26379/main", cache("redis://main/0", **SENTINELS)),
    ("redis+sentinel://s1:26379/main/2", cache("redis://main/2", **SENTINELS)),
]

APART: list[tuple[str, dict[str, Any]]] = [
    ("redis://host/0", cache("redis://host/1")),
    ("redis://host", cache("redis://other")),
    ("redis://host:6379", cache("redis://host:6380")),
    ("redis://host/0", cache("redis://host", DB=1)),
    ("redis://host/0", cache("redis://host", backend=CORE, db=1)),
    ("unix:///run/r.sock?db=3", cache("unix:///run/r.sock")),
    ("unix:///run/r.sock", cache("unix:///run/other.sock")),
    ("redis+cluster://one:7000,two:7001", cache("redis://three:7002")),
    ("redis+sentinel://s1:26379/main", cache("redis://other/0", **SENTINELS)),
    ("redis+sentinel://s1:26379/main/1", cache("redis://main/0", **SENTINELS)),
    ("redis://host", {**NONE, "LOCATION": "redis://host"}),
    ("redis://host", cache("redis://host:port")),
]


@pytest.mark.parametrize(("ours", "theirs"), SAME)
def test_a_cache_in_the_queues_database_is_found(
    settings: Settings, ours: str, theirs: dict[str, Any]
) -> None:
    settings.CACHES = {"default": NONE, "pages": theirs}

    assert caches_beside(ours) == ["pages"]


@pytest.mark.parametrize(("ours", "theirs"), APART)
def test_a_cache_elsewhere_is_left_alone(
    settings: Settings, ours: str, theirs: dict[str, Any]
) -> None:
    settings.CACHES = {"default": NONE, "pages": theirs}

    assert caches_beside(ours) == []


def test_an_alias_of_the_queues_own_is_fine(settings: Settings) -> None:
    settings.CACHES = {"default": cache("redis://host/0"), "queue": cache("redis://host/1")}

    assert caches_beside("queue") == []


def test_another_alias_in_the_database_of_the_queues_alias_is_found(settings: Settings) -> None:
    settings.CACHES = {
        "default": NONE,
        "pages": cache("redis://host/1"),
        "queue": cache("redis://host/1"),
        "views": cache("redis://host", backend=CORE, db=1),
    }

    assert caches_beside("queue") == ["pages", "views"]


def test_the_default_cache_is_in_use_whoever_asks(settings: Settings) -> None:
    settings.CACHES = {"default": cache("redis://host/0")}

    assert caches_beside("default") == ["default"]


@pytest.mark.parametrize("engine", ["cache", "cached_db"])
def test_the_cache_of_sessions_is_in_use(settings: Settings, engine: str) -> None:
    settings.CACHES = {"default": NONE, "queue": cache("redis://host/1")}
    settings.SESSION_ENGINE = f"django.contrib.sessions.backends.{engine}"
    settings.SESSION_CACHE_ALIAS = "queue"

    assert caches_beside("queue") == ["queue"]


def test_the_cache_of_sessions_in_the_database_is_not_in_use(settings: Settings) -> None:
    settings.CACHES = {"default": NONE, "queue": cache("redis://host/1")}
    settings.SESSION_ENGINE = "django.contrib.sessions.backends.db"
    settings.SESSION_CACHE_ALIAS = "queue"

    assert caches_beside("queue") == []


def test_the_cache_of_the_middleware_is_in_use(settings: Settings) -> None:
    settings.CACHES = {"default": NONE, "queue": cache("redis://host/1")}
    settings.CACHE_MIDDLEWARE_ALIAS = "queue"

    assert caches_beside("queue") == ["queue"]
