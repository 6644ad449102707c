"""``emq_worker --reload``: Django's own watch over source files, told to whom it concerns."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.utils.autoreload import autoreload_started, file_changed, get_reloader

_listeners: list[Callable[..., bool]] = []


def watch_files(changed: Callable[[str], None]) -> None:
    """Call ``changed`` with the path of each watched file that changes, from a thread of its own.

    Watched are the files of the modules that this process has imported, and what others have asked
    ``django.utils.autoreload`` to watch.
    """

    def take(file_path: Path, **_: Any) -> bool:
        changed(str(file_path))
        return True

    _listeners.append(take)
    file_changed.connect(take)
    reloader = get_reloader()
    autoreload_started.send(sender=reloader)
    threading.Thread(target=reloader.run_loop, name="emq-reload", daemon=True).start()
