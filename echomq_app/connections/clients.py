"""From a URL or a django-redis alias to a redis-py client, blocking or asyncio."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import redis
import redis.asyncio
from django.core.exceptions import ImproperlyConfigured
from redis.asyncio.cluster import ClusterNode as AsyncClusterNode
from redis.asyncio.cluster import RedisCluster as AsyncRedisCluster
from redis.asyncio.retry import Retry as AsyncRetry
from redis.asyncio.sentinel import Sentinel as AsyncSentinel
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.connection import parse_url
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelManagedConnection

PLAIN: Final = ("redis", "rediss", "unix")
CLUSTER: Final = ("redis+cluster", "rediss+cluster")
SENTINEL: Final = ("redis+sentinel", "rediss+sentinel")
SCHEMES: Final = (*PLAIN, *CLUSTER, *SENTINEL)

Client = redis.Redis | RedisCluster
AsyncClient = redis.asyncio.Redis | AsyncRedisCluster
Place = tuple[str, str]
"""The address of a server and the number of a database on it."""

_KEPT: Final = frozenset(
    {
        *("host", "port", "path", "db", "username", "password", "credential_provider"),
        *("client_name", "protocol"),
        *("socket_timeout", "socket_connect_timeout", "socket_keepalive"),
    }
)
"""The options of a blocking connection that an asyncio one takes too, besides those of TLS."""
_BAD_PORT: Final = "a port is no whole number; in a password write / as %2F, ? as %3F, # as %23"


def is_url(connection: str) -> bool:
    """Whether a connection is a URL and not an alias."""
    return "://" in connection


def _options(scheme: str = "redis") -> dict[str, Any]:
    """Retries are the wire's to make; a server that does not answer must not hold a caller for ever."""
    bounds: dict[str, Any] = {"socket_timeout": 5.0, "socket_connect_timeout": 2.0}
    return bounds if scheme == "unix" else {**bounds, "socket_keepalive": True}


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise _unreadable(str(error)) from None
    if parts.scheme not in SCHEMES:
        raise ImproperlyConfigured(
            f'ECHOMQ["CONNECTION"] has the scheme {parts.scheme!r}; use one of {", ".join(SCHEMES)}.'
        )
    return parts


def _unreadable(why: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f'ECHOMQ["CONNECTION"] is a URL that cannot be read: {why}.')


def _hosts(parts: SplitResult, default_port: int) -> list[tuple[str, int]]:
    return [_host(item, default_port) for item in parts.netloc.rpartition("@")[2].split(",")]


def _host(item: str, default_port: int) -> tuple[str, int]:
    """``host``, ``host:port`` or ``[address]:port``."""
    found = urlsplit(f"//{item}")
    if not found.hostname:
        raise _unreadable("it names no host")
    return found.hostname, _port(found) or default_port


def _port(parts: SplitResult) -> int | None:
    try:
        return parts.port
    except ValueError:
        raise _unreadable(_BAD_PORT) from None


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
            'ECHOMQ["CONNECTION"] is a sentinel URL without a service: write '
            '"redis+sentinel://host:26379,host:26379/service".'
        )
    if not (database or "0").isdecimal():
        raise _unreadable(f"the database {database!r} is not a whole number")
    return unquote(service), int(database or 0)


def _tls(parts: SplitResult) -> dict[str, Any]:
    return {"ssl": True} if parts.scheme.startswith("rediss") else {}


def check_url(url: str) -> None:
    """Raise ``ImproperlyConfigured`` when ``url`` cannot be read; nothing is connected."""
    _checked(url)


def _checked(url: str) -> SplitResult:
    parts = _split(url)
    if parts.scheme in PLAIN:
        _plain(url)
    else:
        _hosts(parts, 0)
    if parts.scheme in SENTINEL:
        _service(parts)
    return parts


def _plain(url: str) -> dict[str, Any]:
    """What redis-py reads from the URL of one server."""
    _port(urlsplit(url))
    try:
        return dict(parse_url(url))
    except ValueError as error:
        raise _unreadable(str(error)) from None


def places(url: str, database: object = None) -> frozenset[Place]:
    """Every server and database that ``url`` names; ``database`` counts where it names none.

    A service that sentinels watch is a place by its name; a cluster has one database.
    """
    parts = _split(url)
    if parts.scheme in CLUSTER:
        return frozenset((_address(*host), "0") for host in _hosts(parts, 6379))
    if parts.scheme in SENTINEL:
        service, named = _service(parts)
        return frozenset({(f"service {service}", str(named or database or 0))})
    read = _plain(url)
    address = read.get("path") or _address(read.get("host", "localhost"), read.get("port", 6379))
    return frozenset({(str(address), str(read.get("db", database) or 0))})


def _address(host: str, port: int) -> str:
    loopback = host.lower() in ("localhost", "::1") or host.startswith("127.")
    return f"{'127.0.0.1' if loopback else host.lower()}:{port}"


def client_from_url(url: str) -> Client:
    """A blocking client for ``url``; ``ImproperlyConfigured`` when it cannot be read."""
    parts = _checked(url)
    retry = Retry(NoBackoff(), 0)
    if parts.scheme in PLAIN:
        return redis.Redis.from_url(url, retry=retry, **_options(parts.scheme))
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
    parts = _checked(url)
    retry = AsyncRetry(NoBackoff(), 0)
    if parts.scheme in PLAIN:
        return redis.asyncio.Redis.from_url(url, retry=retry, **_options(parts.scheme))
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
    if kind is None or issubclass(pool.connection_class, SentinelManagedConnection):
        raise ImproperlyConfigured(
            "this django-redis alias has no asyncio counterpart: name a URL in ECHOMQ['CONNECTION'] "
            "to await calls"
        )
    kept = {
        name: value
        for name, value in pool.connection_kwargs.items()
        if name in _KEPT or name.startswith("ssl_")
    }
    return redis.asyncio.Redis(
        connection_pool=redis.asyncio.ConnectionPool(
            connection_class=kind, retry=AsyncRetry(NoBackoff(), 0), **kept
        )
    )


def redacted(url: str) -> str:
    """``url`` without its password and without its query, fit for a page or a log."""
    scheme, _, rest = url.partition("://")
    shown = re.split("[?#]", rest, maxsplit=1)[0]
    place, slash, path = shown.partition("/")
    login, at, hosts = place.rpartition("@")
    if "@" in rest.removeprefix(place):
        return f"{scheme}://***"
    user = f"{login.partition(':')[0]}:***@" if at else ""
    return f"{scheme}://{user}{hosts}{slash}{path}"
