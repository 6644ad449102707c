"""A process that mints with a given node and a clock that stands still, and admits many jobs.

Arguments: socket, way, count, name. It waits for a token on ``start``, then says how many ids it
minted and how many collisions it met.
"""

from __future__ import annotations

import sys

import redis

from echomq_app.protocol.errors import IdCollision
from echomq_app.protocol.ids import JobId, Minter
from echomq_app.protocol.states import Admission
from echomq_app.service.queue import Queue
from echomq_app.wire.link import Wire
from tests.faults.scene import NAME

NODE = 7
STANDSTILL_S = 1_800_000_000.0
BULK = 50


class CountingMinter(Minter):
    """Counts the ids it gave."""

    minted = 0

    def mint(self) -> JobId:
        self.minted += 1
        return super().mint()

    def mint_many(self, count: int) -> list[JobId]:
        self.minted += count
        return super().mint_many(count)


def admit_fresh(queue: Queue, _: Minter, payloads: list[bytes]) -> int:
    """Under ids that nobody has seen: the queue mints again by itself."""
    for raw in payloads:
        queue.enqueue_new(raw)
    return 0


def admit_stored(queue: Queue, minter: Minter, payloads: list[bytes]) -> int:
    """Under ids that were stored first: each collision is heard, and stored anew."""
    collisions = 0
    for raw in payloads:
        while True:
            try:
                queue.enqueue(minter.mint(), raw)
                break
            except IdCollision:
                collisions += 1
    return collisions


def admit_bulk(queue: Queue, minter: Minter, payloads: list[bytes]) -> int:
    """Many in one call: each collision is heard and sent again."""
    collisions, left = 0, payloads
    while left:
        part, left = left[:BULK], left[BULK:]
        jobs = list(zip(minter.mint_many(len(part)), part, strict=True))
        for (_, raw), verdict in zip(jobs, queue.enqueue_many(jobs), strict=True):
            if verdict is Admission.COLLISION:
                collisions += 1
                left.append(raw)
    return collisions


WAYS = {"fresh": admit_fresh, "stored": admit_stored, "bulk": admit_bulk}


def main(socket: str, way: str, count: str, name: str) -> None:
    client = redis.Redis(unix_socket_path=socket)
    minter = CountingMinter(NODE, clock=lambda: STANDSTILL_S, spread=0)
    queue = Queue(Wire(client), NAME, minter=minter)
    payloads = [f"{name} {number}".encode() for number in range(int(count))]
    queue.pending_size()
    client.rpush("ready", name)
    client.blpop(["start"], timeout=10)
    collisions = WAYS[way](queue, minter, payloads)
    sys.stdout.write(f"{minter.minted} {collisions}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
