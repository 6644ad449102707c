"""``python -m benchmarks.profile``: where the time of our hot paths goes, as text in benchmarks/profiles/.

``service``, ``task``, ``bulk``: the sender. ``drain``: a worker on a backlog. ``startup``: what a
worker imports before its first claim. Sampled from outside by py-spy, all threads together.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from benchmarks import machine
from benchmarks.contenders import OURS, RAW, SERVICE, contender
from benchmarks.folded import SHOWN, told
from benchmarks.stage import Stage

FOLDER: Final = Path(__file__).resolve().parent / "profiles"
SAMPLES_A_SECOND: Final = 500
LONGEST_S: Final = 300.0
_IMPORT = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \|(.+)")


def _sampled(pid: int, work: Callable[[], object], stage: Stage) -> str:
    """The folded stacks of a process while ``work`` goes on: what holds the interpreter, not what waits."""
    path = stage.folder / "folded"
    spy = subprocess.Popen(
        [
            *(
                str(Path(sys.executable).with_name("py-spy")),
                "record",
                "--pid",
                str(pid),
                "--rate",
                str(SAMPLES_A_SECOND),
            ),
            *("--gil", "--format", "raw", "--function"),
            *("--output", str(path), "--duration", "unlimited"),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert spy.stdout is not None
    spy.stdout.readline()
    work()
    spy.send_signal(signal.SIGINT)
    spy.communicate(timeout=30)
    return path.read_text()


def _sender(name: str, how: str, count: int, stage: Stage) -> Iterator[str]:
    sender = stage.producer(contender(name))
    sender.send(how, count // 10)
    seconds: list[float] = []
    folded = _sampled(sender.pid, lambda: seconds.append(sender.send(how, count)), stage)
    yield f"{count} jobs in {seconds[0]:.2f} s, {count / seconds[0]:,.0f} a second under the profiler"
    yield from told(folded)


def _drain(slots: int, count: int, stage: Stage) -> Iterator[str]:
    ours = contender(OURS)
    with stage.working(ours, slots) as workers:
        with stage.frozen(workers):
            stage.tally.clear()
            stage.feed(ours, count)
        folded = _sampled(workers[0].pid, lambda: stage.reach(count, workers, LONGEST_S), stage)
    yield f"{count} jobs at concurrency {slots}"
    yield from told(folded)


def _startup(stage: Stage) -> Iterator[str]:
    ours = contender(OURS)
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "django", "emq_worker", "--burst"],
        env=stage.environment(ours),
        cwd=stage.folder,
        check=True,
        capture_output=True,
        text=True,
    )
    found = [_IMPORT.match(line) for line in ran.stderr.splitlines()]
    own = {one[3].strip(): int(one[1]) / 1000 for one in found if one}
    inclusive = {one[3].strip(): int(one[2]) / 1000 for one in found if one}
    yield f"{len(own)} modules, {sum(own.values()):.0f} ms"
    for title, costs in (("by itself", own), ("with what it imports", inclusive)):
        yield f"\n{title}, ms"
        for module in sorted(costs, key=costs.__getitem__, reverse=True)[:SHOWN]:
            yield f"{costs[module]:8.1f}  {module}"


def profiles(slots: int, count: int) -> dict[str, Callable[[Stage], Iterator[str]]]:
    """What can be profiled, by name."""
    return {
        "service": lambda stage: _sender(SERVICE, "one", count, stage),
        "task": lambda stage: _sender(OURS, "one", count, stage),
        "bulk": lambda stage: _sender(SERVICE, "many", count * 10, stage),
        "drain": lambda stage: _drain(slots, count, stage),
        "startup": _startup,
    }


def main(words: Sequence[str] | None = None) -> None:
    """Write one file for each profile asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile", description=__doc__)
    parser.add_argument("what", nargs="*", help=f"of {', '.join(profiles(8, 1))}; by default all")
    parser.add_argument("--slots", type=int, default=8, help="a drain's concurrency")
    parser.add_argument("--count", type=int, default=10_000, help="jobs")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args(words)
    known = profiles(options.slots, options.count)
    for name in options.what or known:
        with Stage() as stage:
            note = machine.note(stage.server.engine.version, [contender(RAW)])
            lines = [f"{name}, {note['begun']}, commit {note['commit']}, Python {note['python']}"]
            lines += known[name](stage)
        path = options.folder / (
            f"{name}-{options.slots}.txt" if name == "drain" else f"{name}.txt"
        )
        path.write_text("\n".join(lines) + "\n")
        print("\n".join(lines[:25]), f"\n... all of it in {path}")


if __name__ == "__main__":
    main()
