"""Replies of the server and answers of the truth in one language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import redis

from echomq_app.protocol import replies
from tests.model.lives import Refused


def spoken(act: Callable[[], Any]) -> Any:
    """What another program hears, a refusal among it."""
    try:
        return plain(act())
    except redis.ResponseError as refused:
        return plain(refused)


def plain(reply: Any) -> Any:
    """A reply, or what the truth answers, with text for bytes and the code for a refusal."""
    if isinstance(reply, Refused):
        return {"code": reply.code}
    if isinstance(reply, redis.ResponseError):
        return {"code": str(reply).split()[0]}
    if isinstance(reply, Sequence) and not isinstance(reply, str | bytes):
        return [plain(item) for item in reply]
    return replies.text(reply) if isinstance(reply, bytes) else reply
