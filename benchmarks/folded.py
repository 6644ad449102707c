"""Folded stacks of a sampling profiler, told as text: what costs most by itself, and with what it calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

SHOWN: Final = 45
STACKS: Final = 12


def told(folded: str) -> Iterator[str]:
    """Lines of a report of ``frame;frame;frame 12`` lines."""
    stacks = [_stack(line) for line in folded.splitlines() if line.strip()]
    everything = sum(count for _, count in stacks) or 1
    own: Counter[str] = Counter()
    inclusive: Counter[str] = Counter()
    for frames, count in stacks:
        own[frames[-1]] += count
        for frame in set(frames):
            inclusive[frame] += count
    yield from _top("by itself", own, everything)
    yield from _top("with what it calls", inclusive, everything)
    yield "\nheaviest stacks"
    for frames, count in sorted(stacks, key=lambda one: -one[1])[:STACKS]:
        yield f"{100 * count / everything:5.1f} %  {' > '.join(frames[-8:])}"


def _stack(line: str) -> tuple[list[str], int]:
    frames, _, count = line.rpartition(" ")
    return frames.split(";"), int(count)


def _top(title: str, counts: Counter[str], everything: int) -> Iterator[str]:
    yield f"\n{title}"
    for frame, count in counts.most_common(SHOWN):
        yield f"{100 * count / everything:5.1f} %  {frame}"
