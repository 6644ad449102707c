"""Queue names and sets as parts of a URL."""

from __future__ import annotations

from string import ascii_letters, digits
from typing import Final
from urllib.parse import unquote_to_bytes

from django.urls import register_converter

from echomq_app.protocol.keyspace import valid_queue_name
from echomq_app.protocol.states import JobSet

_PLAIN: Final = frozenset(ascii_letters + digits + "-")


class QueueSegment:
    """A queue's name in one segment: each byte outside ``A-Za-z0-9-`` is ``_XX``.

    So ``..`` and ``/`` are names like any other: no browser, proxy or router reads them as a path.
    """

    regex = "(?:[A-Za-z0-9-]|_[0-9A-F]{2})+"

    def to_python(self, value: str) -> str:
        """The name; ``ValueError``, which is a 404, for what ``to_url`` would not have written."""
        name = valid_queue_name(unquote_to_bytes(value.replace("_", "%")).decode())
        if self.to_url(name) != value:
            raise ValueError(value)
        return name

    def to_url(self, name: str) -> str:
        return "".join(
            letter if letter in _PLAIN else "".join(f"_{byte:02X}" for byte in letter.encode())
            for letter in name
        )


class SetSegment:
    """One of the sets, by its key's last word."""

    regex = "|".join(JobSet)

    def to_python(self, value: str) -> JobSet:
        return JobSet(value)

    def to_url(self, which: str) -> str:
        return str(which)


register_converter(QueueSegment, "emq_queue")
register_converter(SetSegment, "emq_set")
