"""A slot that migrates under load: every job runs once and none is left behind."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial

from echomq_app.protocol.errors import EchoMQError
from echomq_app.protocol.ids import JobId, Minter
from echomq_app.protocol.keyspace import slot
from echomq_app.service.queue import Queue
from echomq_app.wire.exchange import Bus
from echomq_app.wire.link import Wire
from tests.eventually import eventually
from tests.faults.scene import NAME, Hand, new_payload
from tests.servers.cluster import Cluster

WORKERS = 2
MOVES = 4
PATIENCE_S = 30.0


class Load:
    """A producer and workers, each on a wire of its own, until told to stop."""

    def __init__(self, cluster: Cluster) -> None:
        self.queues = [
            Queue(Wire(cluster.client(), Bus(patience_s=PATIENCE_S)), NAME)
            for _ in range(WORKERS + 1)
        ]
        self.hands = [Hand(queue) for queue in self.queues[1:]]
        self.sent: list[JobId] = []
        self.errors: list[EchoMQError] = []
        self._over = threading.Event()
        self._minter = Minter()

    def produce(self) -> None:
        """Admit one by one, by schedule and in bulk."""
        queue = self.queues[0]
        while not self._over.is_set():
            single, later, *many = self._minter.mint_many(12)
            queue.enqueue(single, new_payload())
            queue.schedule_in(later, new_payload(), timedelta(milliseconds=5))
            queue.enqueue_many([(job_id, new_payload()) for job_id in many])
            self.sent += [single, later, *many]

    def work(self, hand: Hand) -> None:
        while not self._over.is_set():
            hand.clear()

    def _watched(self, act: Callable[[], None]) -> None:
        try:
            act()
        except EchoMQError as error:
            self.errors.append(error)

    @contextmanager
    def running(self) -> Iterator[None]:
        acts = [self.produce, *(partial(self.work, hand) for hand in self.hands)]
        threads = [threading.Thread(target=self._watched, args=(act,)) for act in acts]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in threads:
                thread.join(PATIENCE_S)

    def done(self) -> int:
        return sum(hand.ran.total() for hand in self.hands)

    def has_done(self, count: int) -> bool:
        return self.done() >= count


def test_a_slot_that_migrates_under_load_loses_no_job_and_doubles_none(cluster: Cluster) -> None:
    load, place = Load(cluster), slot(f"emq:{{{NAME}}}:")
    with load.running():
        for move in range(MOVES):
            seen = load.done()
            eventually(partial(load.has_done, seen + 100), message="work between two moves")
            owner = cluster.owner(place)
            others = [node for node in cluster.nodes if node is not owner]
            cluster.begin_migration(place, others[move % 2])
            while cluster.move_keys(place, 3):
                pass
            cluster.finish_migration(place)
        seen = load.done()
        eventually(partial(load.has_done, seen + 100), message="work after the last move")
    assert load.errors == []
    last = Hand(Queue(Wire(cluster.client()), NAME))

    def nothing_is_parked() -> bool:
        last.clear()
        return last.queue.facts().counts.schedule == 0

    eventually(nothing_is_parked)
    ran: Counter[JobId] = Counter()
    for hand in (*load.hands, last):
        ran += hand.ran

    assert set(ran) == set(load.sent)
    assert set(ran.values()) == {1}
    counts = last.queue.facts().counts
    assert (counts.pending, counts.active, counts.schedule, counts.dead) == (0, 0, 0, 0)
    assert counts.completed == len(load.sent)
