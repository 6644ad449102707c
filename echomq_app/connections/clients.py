"""From a URL or a django-redis alias to a redis-py client, blocking or asyncio."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit

import redis
import redis.asyncio
from django.core.exceptions import ImproperlyConfigured
from redis.asyncio.cluster import ClusterNode as AsyncClusterNode
from redis.asyncio.cluster import RedisCluster as AsyncRedisCluster
from redis.asyncio.retry import Retry as AsyncRetry
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry
from redis.sentinel import Sentinel

PLAIN: Final = ("redis", "rediss", "unix")
CLUSTER: Final = ("redis+cluster", "rediss+cluster")
SENTINEL: Final = ("redis+sentinel", "rediss+sentinel")
SCHEMES: Final = (*PLAIN, *CLUSTER, *SENTINEL)

Client = redis.Redis | RedisCluster
AsyncClient = redis.asyncio.Redis | AsyncRedisCluster


def is_url(connection: str) -> bool:
    """Whether a connection is a URL and not an alias."""
    return "://" in connection


def _options() -> dict[str, Any]:
    """Retries are the wire's to make; a server that does not answer must not hold a caller for ever."""
    return {"socket_timeout": 5.0, "socket_connect_timeout": 2.0, "socket_keepalive": True}


def _split(url: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise ImproperlyConfigured(
            f'ECHOMQ["CONNECTION"] has the scheme {parts.scheme!r}; use one of {", ".join(SCHEMES)}.'
        )
    return parts


def _hosts(parts: SplitResult, default_port: int) -> list[tuple[str, int]]:
    hosts = []
    for item in parts.netloc.rpartition("@")[2].split(","):
        host, _, port = item.rpartition(":") if not item.endswith("]") else (item, "", "")
        hosts.append(((host or item).strip("[]"), int(port) if host and port else default_port))
    return hosts


def _credentials(parts: SplitResult) -> dict[str, Any]:
    login = parts.netloc.rpartition("@")[0]
    user, colon, password = login.partition(":")
    if not login:
        return {}
    found: dict[str, Any] = {"password": unquote(password)} if colon else {}
    return {**found, "username": unquote(user)} if user else found


def _query(parts: SplitResult) -> dict[str, Any]:
    """``?name=value`` options of a cluster or sentinel URL; whole numbers are read as numbers."""
    return {
        name: int(value) if value.isdigit() else value for name, value in parse_qsl(parts.query)
    }


def _service(parts: SplitResult) -> tuple[str, int]:
    service, _, database = parts.path.strip("/").partition("/")
    if not service:
        raise ImproperlyConfigured(
            'a sentinel URL names its service: "redis+sentinel://host:26379,host:26379/service".'
        )
    return unquote(service), int(database or 0)


def _tls(parts: SplitResult) -> dict[str, Any]:
    return {"ssl": True} if parts.scheme.startswith("rediss") else {}


def check_url(url: str) -> None:
    """Raise ``ImproperlyConfigured`` when ``url`` cannot be read; nothing is connected."""
    parts = _split(url)
    if parts.scheme in SENTINEL:
        _service(parts)


def client_from_url(url: str) -> Client:
    """A blocking client for ``url``; ``ImproperlyConfigured`` when it cannot be read."""
    parts = _split(url)
    retry = Retry(NoBackoff(), 0)
    if parts.scheme in PLAIN:
        return redis.Redis.from_url(url, retry=retry, **_options())
    shared = {**_credentials(parts), **_query(parts), **_tls(parts), **_options()}
    if parts.scheme in CLUSTER:
        nodes = [ClusterNode(host, port) for host, port in _hosts(parts, 6379)]
        return RedisCluster(startup_nodes=nodes, retry=retry, require_full_coverage=False, **shared)
    service, database = _service(parts)
    sentinel = Sentinel(_hosts(parts, 26379), sentinel_kwargs=_options(), **shared)
    master: redis.Redis = sentinel.master_for(service, db=database, retry=retry)
    return master


def async_client_from_url(url: str) -> AsyncClient:
    """An asyncio client for ``url``; it belongs to the running event loop."""
    parts = _split(url)
    retry = AsyncRetry(NoBackoff(), 0)
    if parts.scheme in PLAIN:
        return redis.asyncio.Redis.from_url(url, retry=retry, **_options())
    shared = {**_credentials(parts), **_query(parts), **_tls(parts), **_options()}
    if parts.scheme in CLUSTER:
        nodes = [AsyncClusterNode(host, port) for host, port in _hosts(parts, 6379)]
        return AsyncRedisCluster(
            startup_nodes=nodes, retry=retry, require_full_coverage=False, **shared
        )
    service, database = _service(parts)
    sentinel = AsyncSentinel(_hosts(parts, 26379), sentinel_kwargs=_options(), **shared)
    master: redis.asyncio.Redis = sentinel.master_for(service, db=database, retry=retry)
    return master


def async_client_beside(client: Client) -> AsyncClient:
    """An asyncio client of the server that a blocking plain client speaks to."""
    pool = client.connection_pool  # type: ignore[union-attr]  # aliases are never clusters
    kinds = {
        redis.Connection: redis.asyncio.Connection,
        redis.SSLConnection: redis.asyncio.SSLConnection,
        redis.UnixDomainSocketConnection: redis.asyncio.UnixDomainSocketConnection,
    }
    kind = next((kinds[one] for one in pool.connection_class.__mro__ if one in kinds), None)
    if kind is None:
        raise ImproperlyConfigured(
            "this django-redis alias has no asyncio counterpart: name a URL in ECHOMQ['CONNECTION'] "
            "to await calls"
        )
    wanted = ("host", "port", "path", "db", "username", "password", "socket_timeout", "client_name")
    kept = {name: value for name, value in pool.connection_kwargs.items() if name in wanted}
    kept |= {k: v for k, v in pool.connection_kwargs.items() if k.startswith("ssl_")}
    return redis.asyncio.Redis(
        connection_pool=redis.asyncio.ConnectionPool(
            connection_class=kind, retry=AsyncRetry(NoBackoff(), 0), **kept
        )
    )


def redacted(url: str) -> str:
    """``url`` without its password and without its query, fit for a page or a log."""
    parts = urlsplit(url)
    login, at, hosts = parts.netloc.rpartition("@")
    user = login.partition(":")[0]
    return urlunsplit(parts._replace(netloc=(f"{user}:***@" if at else "") + hosts, query=""))
