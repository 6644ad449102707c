"""How long to wait for a server before saying that it does not answer."""

from __future__ import annotations

import time
from pathlib import Path

from .errors import EmbeddedNotAnswering
from .place import LOG_NAME, read_pid
from .probe import Answer

_LOOK_EVERY_S = 0.01
_LOADING_GETS = 20


class Patience:
    """A budget that starts when it is made; a server that loads its data gets twenty times it."""

    def __init__(self, folder: Path, limit_s: float) -> None:
        self._folder = folder
        self._limit_s = limit_s
        self._start = time.monotonic()

    def wait(self, answer: Answer) -> None:
        """Pause before the next look; raises ``EmbeddedNotAnswering`` when the budget is spent."""
        limit = self._limit_s * (_LOADING_GETS if answer is Answer.LOADING else 1)
        if time.monotonic() - self._start > limit:
            raise EmbeddedNotAnswering(
                self._folder, read_pid(self._folder), limit, self._folder / LOG_NAME
            )
        time.sleep(_LOOK_EVERY_S)
