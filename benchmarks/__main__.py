"""``python -m benchmarks``: ask the questions in rounds, print the tables, keep the results."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import machine
from benchmarks.aims import judged
from benchmarks.contender import Contender
from benchmarks.contenders import CONTENDERS, taking_part
from benchmarks.question import Question
from benchmarks.questions import chosen
from benchmarks.results import FOLDER, Results
from benchmarks.stage import Stage
from benchmarks.table import aim_line, tables


def main(words: Sequence[str] | None = None) -> int:
    """1 when a contender did not do what it was asked."""
    options = _parser().parse_args(words)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        questions = chosen(options.only)
    except ValueError as error:
        sys.exit(str(error))
    results = Results(
        rounds=options.rounds, whole=not options.only and not options.peers and options.scale == 1
    )
    with Stage(options.scale) as stage:
        server = f"{stage.server.engine.name} {stage.server.engine.version}"
        results.machine = machine.note(server, [one for one in CONTENDERS if one.installed])
        for question in questions:
            contenders = taking_part(question.family, options.peers)
            _ask(question, contenders, options.rounds, stage, results)
    for table in tables(results, questions):
        print(f"\n{table}")
    for aim, value in judged(results):
        print(aim_line(aim, value))
    if not options.no_keep:
        print(f"\nkept in {results.write(options.folder, '-'.join(options.only) or 'all')}")
    return 1 if results.failures else 0


def _ask(
    question: Question,
    contenders: Sequence[Contender],
    rounds: int,
    stage: Stage,
    results: Results,
) -> None:
    """Each round asks every contender once, and another one opens it."""
    begun = time.monotonic()
    for number in range(1 if question.once else rounds):
        results.loads.append(machine.load())
        first = number % max(len(contenders), 1)
        for contender in [*contenders[first:], *contenders[:first]]:
            try:
                sample = question.measure(stage, contender)
            except RuntimeError as error:
                results.failures.append(f"{question.name}, {contender.name}: {error}")
                print(f"FAILED: {results.failures[-1]}", file=sys.stderr)
                continue
            results.add(question.name, contender.name, sample)
    print(f"{question.name}: {time.monotonic() - begun:.0f} s", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds a question (default 3)")
    parser.add_argument("--only", nargs="*", default=[], help="questions or families of them")
    parser.add_argument("--peers", nargs="*", default=[], help="names of contenders")
    parser.add_argument("--scale", type=float, default=1.0, help="a part of the usual amounts")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where results are kept")
    parser.add_argument("--no-keep", action="store_true", help="print the tables alone")
    return parser


if __name__ == "__main__":
    sys.exit(main())
