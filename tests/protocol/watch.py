"""What a script does to the keyspace, as MONITOR tells it on a second connection."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import redis

LINE = re.compile(rb"^[\d.]+ \[\d+ (?P<who>[^\]]+)\] (?P<words>.*)$", re.DOTALL)
WORD = re.compile(rb'"((?:[^"\\]|\\.)*)"', re.DOTALL)
END = "the watch is over"


@dataclass
class Watched:
    """The commands that scripts ran, oldest first."""

    commands: list[list[str]] = field(default_factory=list)

    def keys(self, client: redis.Redis) -> set[str]:
        """Every key, and every channel, that the commands name, as the server resolves them."""
        return {key for words in self.commands for key in keys_of(client, words)}

    def writes(self, client: redis.Redis) -> list[list[str]]:
        """The commands that the server counts among those that write."""
        return [words for words in self.commands if b"write" in flags_of(client, words[0])]


def flags_of(client: redis.Redis, name: str) -> set[bytes]:
    """What the server says of a command."""
    told: Any = client.execute_command("COMMAND INFO", name)
    (info,) = told.values() if isinstance(told, dict) else told
    flags = info["flags"] if isinstance(info, dict) else info[2]
    return {flag if isinstance(flag, bytes) else str(flag).encode() for flag in flags}


def keys_of(client: redis.Redis, words: list[str]) -> list[str]:
    """The keys of one command; the channel of a PUBLISH."""
    if words[0].upper() == "PUBLISH":
        return [words[1]]
    if len(words) == 1:
        return []
    try:
        found: Any = client.execute_command("COMMAND GETKEYS", *words)
    except redis.ResponseError as refusal:
        if "no key arguments" not in str(refusal):
            raise
        return []
    return [str(key) for key in found]


@contextmanager
def watching(client: redis.Redis) -> Iterator[Watched]:
    """Collect what scripts run inside the block."""
    watched = Watched()
    listener = client.connection_pool.make_connection()
    try:
        listener.connect()
        listener.send_command("MONITOR")
        listener.read_response()
        yield watched
        client.echo(END)
        while True:
            found = LINE.match(listener.read_response(disable_decoding=True))
            assert found is not None
            words = [_plain(word) for word in WORD.findall(found["words"])]
            if END in words:
                return
            if found["who"] == b"lua":
                watched.commands.append(words)
    finally:
        listener.disconnect()


def _plain(word: bytes) -> str:
    raw, _ = codecs.escape_decode(word)
    return bytes(raw).decode("utf-8", "replace")
