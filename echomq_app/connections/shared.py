"""Whether a cache lives where the queues live: ``cache.clear()`` empties a whole database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from echomq_app.connections import clients
from echomq_app.connections.clients import Place

_DJANGO_REDIS = "django_redis."
_REDIS_BACKENDS = (_DJANGO_REDIS, "django.core.cache.backends.redis.")


def alias_places(alias: str) -> frozenset[Place]:
    """Where a django-redis alias lives; ``ImproperlyConfigured`` when it is none or not readable."""
    config = settings.CACHES.get(alias)
    if config is None:
        have = [k for k, v in settings.CACHES.items() if _backend(v).startswith(_DJANGO_REDIS)]
        raise ImproperlyConfigured(
            f'ECHOMQ["CONNECTION"] is {alias!r}, which is neither a URL (scheme://...) nor an alias in '
            f"CACHES; its django-redis aliases: {', '.join(have) or 'none'}."
        )
    if not _backend(config).startswith(_DJANGO_REDIS):
        raise ImproperlyConfigured(
            f'ECHOMQ["CONNECTION"] is {alias!r}, and CACHES[{alias!r}] is a {_backend(config)}; the '
            "queues need a django_redis.cache.RedisCache."
        )
    try:
        return _places(config)
    except ImproperlyConfigured as error:
        raise ImproperlyConfigured(f"CACHES[{alias!r}]: {error}") from error


def location(alias: str) -> str:
    """An alias's address without secrets; empty when it cannot be read."""
    try:
        places = sorted(alias_places(alias))
    except ImproperlyConfigured:
        return ""
    return ", ".join(f"{server} database {database}" for server, database in places)


def caches_beside(connection: str) -> list[str]:
    """Cache aliases in use whose ``clear()`` would delete the queues of an alias or URL; sorted."""
    own = None if clients.is_url(connection) else connection
    ours = clients.places(connection) if own is None else alias_places(own)
    return sorted(
        alias
        for alias, config in settings.CACHES.items()
        if _backend(config).startswith(_REDIS_BACKENDS)
        and (alias != own or _is_used(alias))
        and _readable_places(config) & ours
    )


def _backend(config: Mapping[str, Any]) -> str:
    return str(config.get("BACKEND", ""))


def _is_used(alias: str) -> bool:
    """Whether Django itself, or anybody who asks for the default cache, writes to this alias."""
    sessions = getattr(settings, "SESSION_ENGINE", "").rpartition(".")[2] in ("cache", "cached_db")
    return (
        alias == "default"
        or (sessions and alias == getattr(settings, "SESSION_CACHE_ALIAS", "default"))
        or alias == getattr(settings, "CACHE_MIDDLEWARE_ALIAS", "default")
    )


def _readable_places(config: Mapping[str, Any]) -> frozenset[Place]:
    """A cache whose address nobody can read is the cache's own trouble."""
    try:
        return _places(config)
    except ImproperlyConfigured:
        return frozenset()


def _places(config: Mapping[str, Any]) -> frozenset[Place]:
    raw = config.get("LOCATION") or "redis://localhost:6379"
    locations = raw.split(",") if isinstance(raw, str) else raw
    options = config.get("OPTIONS") or {}
    pool = options.get("CONNECTION_POOL_KWARGS") or {}
    database = pool.get("db", options.get("DB", options.get("db")))
    sentinel = "SENTINELS" in options
    return frozenset(
        place
        for location in locations
        for place in clients.places(_url(str(location).strip(), sentinel), database)
    )


def _url(location: str, sentinel: bool) -> str:
    """A location as one of our URLs. With sentinels its host is the name of a service."""
    url = location if "://" in location else f"redis://{location}"
    if not sentinel:
        return url
    scheme, _, rest = url.partition("://")
    return f"{scheme}+sentinel://sentinel/{rest.rpartition('@')[2]}"
