"""Whether a cache lives where the queues live: ``cache.clear()`` empties a whole database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from echomq_app.connections import clients

Place = frozenset[tuple[str, str]]
"""``(address, database)`` of every server that an alias names."""

_DJANGO_REDIS = "django_redis."
_REDIS_BACKENDS = (_DJANGO_REDIS, "django.core.cache.backends.redis.")


def alias_place(alias: str) -> Place:
    """Where a django-redis alias lives; ``ImproperlyConfigured`` when it is none."""
    config = settings.CACHES.get(alias)
    if config is None or not str(config.get("BACKEND", "")).startswith(_DJANGO_REDIS):
        have = [
            k for k, v in settings.CACHES.items() if str(v["BACKEND"]).startswith(_DJANGO_REDIS)
        ]
        raise ImproperlyConfigured(
            f'ECHOMQ["CONNECTION"] is {alias!r}, which is no django-redis alias in CACHES; there '
            f"{'are ' + ', '.join(have) if have else 'is none'}. Name one, or a URL, or 'embedded'."
        )
    return _places(config)


def caches_beside(connection: str) -> list[str]:
    """Cache aliases in use whose ``clear()`` would delete the queues; sorted."""
    by_alias = not clients.is_url(connection)
    ours = alias_place(connection) if by_alias else frozenset({_place(connection, None)})
    found = [
        alias
        for alias, config in settings.CACHES.items()
        if str(config.get("BACKEND", "")).startswith(_REDIS_BACKENDS)
        and _places(config) & ours
        and not (by_alias and alias == connection and not _is_used(alias))
    ]
    return sorted(found)


def _is_used(alias: str) -> bool:
    """Whether Django itself, or anybody who asks for the default cache, writes to this alias."""
    sessions = getattr(settings, "SESSION_ENGINE", "").rpartition(".")[2] in ("cache", "cached_db")
    return (
        alias == "default"
        or (sessions and alias == getattr(settings, "SESSION_CACHE_ALIAS", "default"))
        or alias == getattr(settings, "CACHE_MIDDLEWARE_ALIAS", "default")
    )


def _places(config: Mapping[str, Any]) -> Place:
    raw = config.get("LOCATION") or "redis://localhost:6379"
    locations = raw.split(",") if isinstance(raw, str) else raw
    options = config.get("OPTIONS") or {}
    database = options.get("DB", options.get("db"))
    database = options.get("CONNECTION_POOL_KWARGS", {}).get("db", database)
    return frozenset(_place(str(location), database) for location in locations)


def _place(location: str, database: object) -> tuple[str, str]:
    url = location.strip() if "://" in location else f"redis://{location.strip()}"
    parts = urlsplit(url)
    named = parse_qs(parts.query).get("db", [None])[0]
    if parts.scheme == "unix":
        return parts.path, str(named or database or 0)
    host = parts.hostname if "," not in parts.netloc else parts.netloc.rpartition("@")[2]
    host = {"localhost": "127.0.0.1", "::1": "127.0.0.1"}.get(host or "", host or "127.0.0.1")
    port = parts.port or 6379 if "," not in parts.netloc else ""
    in_path = parts.path.strip("/").rpartition("/")[2]
    path_db = in_path if in_path.isdigit() else None
    return f"{host}:{port}", str(named or path_db or database or 0)
