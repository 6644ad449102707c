"""The golden traces that lie beside the repository, spoken through our calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tests.golden.differences import DIFFERENCES
from tests.golden.speaker import RAISED, Speaker
from tests.protocol.scene import Scene
from tests.servers.parts import SHARED
from tests.servers.server import Server

pytestmark = pytest.mark.part("shared")

OUR_FIELDS = frozenset(
    {"settled", "requeued", "excused", "lapses", "worker", "claimed_at"},
)
OUR_KEYS = re.compile(r"^emq:\{q\}:(?:groups|done|outcomes|expire|result:\w+)$")
WAKE = "emq:{q}:wake"
FENCE = "{emq}:version"


@cache
def traces() -> dict[str, dict[str, Any]]:
    """The scenarios by name; none where the folder is not there."""
    path = SHARED / "golden.json"
    return (
        {trace["name"]: trace for trace in json.loads(path.read_text())} if path.is_file() else {}
    )


RUN = list(traces()) or ["no traces"]


@pytest.fixture
def scene(every_engine: Server) -> Iterator[Scene]:
    client = every_engine.client()
    yield Scene(client)
    client.close()


def expected_replies(name: str) -> list[Any]:
    """What the trace answers, with our differences in place."""
    replies = [
        RAISED if "raise" in reply else reply["reply"] for reply in traces()[name]["replies"]
    ]
    difference = DIFFERENCES.get(name)
    for step, reply in (difference.replies if difference else {}).items():
        assert replies[step] != reply, f"{name}: step {step} does not differ any more"
        replies[step] = reply
    return replies


def expected_keyspace(name: str) -> dict[str, Any]:
    """What the trace leaves, with our differences in place and the fence's value set aside."""
    keys = dict(traces()[name]["keyspace"])
    difference = DIFFERENCES.get(name)
    for key, value in (difference.keyspace if difference else {}).items():
        assert keys.get(key) != value, f"{name}: {key} does not differ any more"
        keys[key] = value
    del keys[FENCE]
    return {key: value for key, value in keys.items() if value is not None}


def left_keyspace(scene: Scene, expected: dict[str, Any]) -> dict[str, Any]:
    """What we left in the trace's words; our additive fields and keys set aside."""
    assert scene.client.exists(FENCE)
    found = {}
    for key, (kind, value, _) in scene.snapshot().items():
        if OUR_KEYS.match(key) or (key == WAKE and WAKE not in expected):
            continue
        found[key] = {"type": kind, "value": in_their_words(kind, value, expected.get(key, {}))}
    return found


def in_their_words(kind: str, value: Any, expected: dict[str, Any]) -> Any:
    """A value without our additive fields and with ``<ts>`` where the trace has it."""
    if kind == "hash":
        return {name: text for name, text in value.items() if name not in OUR_FIELDS}
    return told_by_clock(value, expected.get("value", [])) if kind == "zset" else value


def told_by_clock(pairs: list[tuple[str, float]], expected: list[list[Any]]) -> list[list[Any]]:
    """Members with whole scores; ``<ts>`` where the trace has it, in the trace's order."""
    clocked = {member for member, score in expected if score == "<ts>"}
    order = [member for member, _ in expected]
    told = [[member, "<ts>" if member in clocked else int(score)] for member, score in pairs]
    return sorted(told, key=lambda pair: order.index(pair[0]) if pair[0] in order else -1)


def wrong_clocks(scene: Scene, name: str, began_ms: int) -> list[Any]:
    """The scores that are not the server's time of some step and the offset of the trace."""
    offsets: dict[tuple[str, str], list[int]] = {}
    for stamp in traces()[name]["timestamps"]:
        offset = re.fullmatch(r"server time \+ (\d+) ms", stamp["is"])
        assert offset is not None
        offsets.setdefault((stamp["key"], stamp["member"]), []).append(int(offset[1]))
    wrong = []
    for (key, member), known in offsets.items():
        score = scene.client.zscore(key, member)
        spans = [(began_ms + offset, scene.server_ms() + offset) for offset in known]
        if score is not None and not any(low <= score <= high for low, high in spans):
            wrong.append((key, member, score, spans))
    return wrong


@pytest.mark.parametrize("name", RUN)
def test_a_trace_comes_out_the_same_but_for_what_was_decided(scene: Scene, name: str) -> None:
    scene.queue.pending_size()
    speaker = Speaker(scene)
    began_ms = scene.server_ms()

    replies = [
        speaker.say(verb, *(words[1:] if verb not in ("raw", "sleep") else words))
        for verb, *words in traces()[name]["steps"]
    ]

    assert replies == expected_replies(name)
    expected = expected_keyspace(name)
    assert left_keyspace(scene, expected) == expected
    assert wrong_clocks(scene, name, began_ms) == []


def test_every_trace_is_run_and_each_difference_is_one_of_a_trace() -> None:
    assert len(traces()) == 44
    assert set(traces()) == set(RUN)
    assert set(DIFFERENCES) <= set(RUN)
    assert all(DIFFERENCES[name].why for name in DIFFERENCES)
