"""What a verb does when its reply is lost, as a case to be run in many ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tests.faults.scene import Scene

Arrange = Callable[[Scene], Any]
Act = Callable[[Scene, Any], object]
MINUTE_MS: Final = 60_000


@dataclass(frozen=True, kw_only=True)
class Case:
    """``act`` runs the verb over the lossy wire on what ``arrange`` has put there.

    ``result``: what it answers undisturbed. ``resent``: what it answers when its first reply was
    lost and nobody came between; ``raced``: when a fast worker came between. An exception class
    is raised. ``runs``: how often the fast worker runs each of the case's jobs, all told.
    """

    arrange: Arrange
    act: Act
    result: object
    resent: object
    raced: object
    runs: int
    moves_deadlines: bool = False
