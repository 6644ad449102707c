"""A thread beside a loop that looks, once a second, at what must not wait for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

LOOK_EVERY_S: Final = 1.0
LEAVING_S: Final = 2.0


@contextmanager
def beside(looks: Sequence[Callable[[], None]], every_s: float = LOOK_EVERY_S) -> Iterator[None]:
    """Call each of ``looks`` once a second until the block ends. One that waits holds up the rest."""
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            for one in looks:
                one()
            over.wait(every_s)

    thread = threading.Thread(target=look, name="emq-desk", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(LEAVING_S)
