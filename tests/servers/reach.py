"""Clients for what listens on a Unix socket."""

from __future__ import annotations

from typing import Any

import redis
import redis.asyncio
import redis.asyncio.retry
from redis.backoff import NoBackoff
from redis.retry import Retry


class OnSocket:
    """Something that speaks RESP on ``socket_path``."""

    socket_path: str

    @property
    def url(self) -> str:
        """``unix://`` URL of database 0."""
        return f"unix://{self.socket_path}?db=0"

    def client(self, **options: Any) -> redis.Redis:
        """A redis-py client with its own pool that never retries and answers bytes."""
        options = {"retry": Retry(NoBackoff(), 0)} | options
        return redis.Redis(unix_socket_path=self.socket_path, **options)

    def async_client(self, **options: Any) -> redis.asyncio.Redis:
        """The same for asyncio."""
        options = {"retry": redis.asyncio.retry.Retry(NoBackoff(), 0)} | options
        return redis.asyncio.Redis(unix_socket_path=self.socket_path, **options)
