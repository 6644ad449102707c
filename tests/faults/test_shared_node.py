"""Two processes that share a node id and mint in the same millisecond lose no job (decision 8)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from echomq_app.wire.link import Wire
from tests.eventually import eventually
from tests.faults.scene import LEASE, Scene
from tests.servers.server import Server

JOBS = 300
NAMES = ("left", "right")
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("way", ["fresh", "stored", "bulk"])
def test_two_processes_with_one_node_in_one_millisecond_lose_no_job(
    way: str, engine_server: Server
) -> None:
    client = engine_server.client()
    processes = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.faults.same_node"),
                *(engine_server.socket_path, way, str(JOBS), name),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in NAMES
    ]
    eventually(lambda: client.llen("ready") == len(NAMES), within=30, message="both processes")
    client.rpush("start", *NAMES)
    told = [process.communicate(timeout=60)[0].split() for process in processes]

    assert [process.returncode for process in processes] == [0, 0]
    minted = sum(int(words[0]) for words in told)
    collisions = sum(int(words[1]) for words in told)
    assert minted > 2 * JOBS, "the two processes never met, so the test has shown nothing"
    assert way == "fresh" or collisions == minted - 2 * JOBS

    scene = Scene(client, Wire(client))
    ran = []
    while claimed := scene.direct.claim_many(LEASE, 100):
        ran += [held.payload.decode() for held in claimed]
    assert sorted(ran) == sorted(f"{name} {number}" for name in NAMES for number in range(JOBS))
