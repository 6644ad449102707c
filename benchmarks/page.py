"""``python -m benchmarks.page``: write docs/explanation/benchmarks.md from the newest whole run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.aims import judged
from benchmarks.contenders import CONTENDERS, OURS, PEERS
from benchmarks.place import ROOT
from benchmarks.questions import QUESTIONS
from benchmarks.results import Results, latest, read
from benchmarks.table import TITLES, aim_line, number, tables

PAGE: Final = ROOT / "docs" / "explanation" / "benchmarks.md"

INTRODUCTION: Final = """\
# Benchmarks

`make bench` measures this project beside its peers: one server, one machine, one run. This page is
written by `python -m benchmarks.page` from the newest whole run in `benchmarks/results/`. Ratios carry
over to another machine better than numbers do; run it on yours: `make bench ROUNDS=5 ONLY="drain pickup"
PEERS="echomq raw huey"` asks a part. `python -m benchmarks.profile` writes down where the time of our own
paths goes, into `benchmarks/profiles/`.
"""

METHOD: Final = """\
## How it is measured

- Rounds are interleaved: each asks every contender once, and each is opened by another one. Told are
  medians over all rounds; the spread is the smallest and the largest number seen.
- Every job does the same: it appends sixteen bytes to one file, so what is counted is what ran, not what
  a library says of itself. That costs a job one to two microseconds, in every contender.
- Senders and workers are real processes. A sender lives as long as the run, as a web process does.
- For a drain, workers start, run a few jobs, are stopped by a signal while the backlog is laid before
  them, and go on: neither start-up nor sending is in the numbers. The first twentieth of a backlog is
  not timed.
- Pickup is the time from before the sending call to the job's first line, with one job at a time and
  uneven pauses.
- Every argument is a text of 100 characters. The server writes nothing to disk.
- A job that does nothing shows what a queue costs. Real jobs take longer, and the queues then differ
  less.

## What this does not show

- Two cores carry sender, workers and server: nobody's best at scale, and a busy machine's other work is
  in the numbers.
- The contenders promise different things. A list that is popped (Huey, taskiq, django-q2) loses the jobs
  of a worker that dies; ours, Dramatiq, django-vtasks, Celery and RQ get theirs back in different ways.
  We keep a result and a receipt for each job; most peers are measured without results, which is their
  faster setting.
- Nothing is measured here of recovery, of failing jobs, of many queues, or of a server over a network.
"""


def page(results: Results) -> str:
    """The whole page."""
    parts = [INTRODUCTION, *_machine(results), *_aims(results), *_behind(results)]
    parts += [_section(results), METHOD, *_contenders(results)]
    return "\n".join(parts)


def _machine(results: Results) -> Iterator[str]:
    facts = results.machine
    loads = [one for one, *_ in results.loads]
    yield "## The run\n"
    yield f"- {facts['begun'][:10]}, commit {facts['commit']}, {results.rounds} rounds"
    yield f"- {facts['cpu']}, {facts['cores']} cores, {facts['memory_gib']} GiB, {facts['system']}"
    yield f"- Python {facts['python']}, server {facts['server']} on a Unix socket"
    yield f"- load while it ran, the benchmark itself included: {min(loads)} to {max(loads)}" + (
        f"; niceness {facts['niceness']}" if facts["niceness"] else ""
    )
    yield ""


def _aims(results: Results) -> Iterator[str]:
    yield "## What we aim at\n"
    yield "| | wanted | measured | |"
    yield "| --- | ---: | ---: | --- |"
    for aim, value in judged(results):
        yield aim_line(aim, value)
    yield ""


def _behind(results: Results) -> Iterator[str]:
    yield "## Where peers are ahead\n"
    for question in QUESTIONS:
        for row in question.rows:
            told = results.told(question, row)
            if OURS not in told:
                continue
            sign = 1 if row.more_is_better else -1
            ahead = [name for name in told if sign * told[name] > sign * told[OURS]]
            named = [f"{TITLES[one]} {number(told[one])}" for one in ahead if one in PEERS]
            if named:
                unit = f" {row.unit}" if row.unit else ""
                yield f"- {row.title}: {', '.join(named)}; ours {number(told[OURS])}{unit}"
    yield ""


def _section(results: Results) -> str:
    return "## The numbers\n\n" + "\n\n".join(tables(results, QUESTIONS)) + "\n"


def _contenders(results: Results) -> Iterator[str]:
    versions = results.machine["versions"]
    yield "## The contenders\n"
    yield "| | setting | versions |"
    yield "| --- | --- | --- |"
    for one in CONTENDERS:
        named = ", ".join(f"{name} {versions[name]}" for name in one.packages if name in versions)
        yield f"| {one.title} | {one.note} | {named} |"
    yield ""


def main(path: Path = PAGE) -> None:
    """Write the page."""
    path.write_text(page(read(latest())))


if __name__ == "__main__":
    main()
