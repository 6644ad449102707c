"""How many forks lie between this process and the one that loaded this: told without a system call."""

from __future__ import annotations

import os

_count = 0


def forks() -> int:
    """A number that differs between a process and one that was forked from it."""
    return _count


def _after_fork() -> None:
    global _count  # noqa: PLW0603  # the operating system calls this and passes nothing
    _count += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
