"""A separate interpreter that asks for the embedded server when it is told to."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from echomq_app.runtime.embedded import EmbeddedError, EmbeddedServer

ROOT = Path(__file__).resolve().parents[2]
READY = "ready\n"


class Peer:
    """One such interpreter, in a process group of its own."""

    def __init__(self, folder: Path, options: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(folder), json.dumps(dict(options or {}))],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def wait_ready(self) -> Self:
        """Return when everything is imported and only the word to go is missing."""
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == READY
        return self

    def go(self) -> Self:
        """Let it call ``ensure()``."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self

    def answer(self) -> Any:
        """What ``ensure()`` came to: ``{"url", "pid"}`` or ``{"error", "text"}``."""
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())


@contextmanager
def peers(
    folder: Path, count: int, options: Mapping[str, str] | None = None
) -> Iterator[list[Peer]]:
    """``count`` interpreters, ready to go; they are ended at the end of the block."""
    started = [Peer(folder, options) for _ in range(count)]
    try:
        yield [peer.wait_ready() for peer in started]
    finally:
        for peer in started:
            peer.process.kill()
            peer.process.communicate()


def main(folder: str, options: str) -> None:
    server = EmbeddedServer(Path(folder), options=json.loads(options))
    sys.stdout.write(READY)
    sys.stdout.flush()
    sys.stdin.readline()
    answer: dict[str, object]
    try:
        answer = {"url": server.ensure(), "pid": server.status().pid}
    except EmbeddedError as error:
        answer = {"error": type(error).__name__, "text": str(error)}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
