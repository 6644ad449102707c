"""Reads what the site's tasks noted."""

from __future__ import annotations

from typing import NamedTuple, cast

import redis

JOURNAL = "journal"


class Entry(NamedTuple):
    """A line of the journal: which process did what with which claim of which job."""

    what: str
    job: str
    token: int
    pid: int


def read(client: redis.Redis) -> list[Entry]:
    """All entries, oldest first."""
    lines = [line.decode().split() for line in cast("list[bytes]", client.lrange(JOURNAL, 0, -1))]
    return [Entry(what, job, int(token), int(pid)) for what, job, token, pid in lines]
