"""How the queues of a worker share its slots: in turn, strictly in order, or by weight."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from echomq_app.runtime.order import InTurn, Order, Strict, Weighted
from tests.runtime.scene import Scene
from tests.servers.cluster import Cluster
from tests.servers.proxy import CuttingProxy
from tests.wire.links import runs

SceneOf = Callable[..., Scene]
PLENTY = 10**9


class Store:
    """Queues without a server: what each has ready, and what a worker that follows an order got."""

    def __init__(self, order: Order, ready: Mapping[str, int]) -> None:
        self.order = order
        self.ready = Counter(ready)
        self.got: Counter[str] = Counter()
        self.asked: list[str] = []

    def ask(self, room: int) -> None:
        """Fill ``room`` free slots as far as the queues go: one round of the order."""
        names = list(self.order.sort(list(self.ready)))
        while names:
            name = names.pop(0)
            if room and (size := self.order.portion(name, names, room)):
                jobs = min(size, self.ready[name])
                self.asked.append(name)
                self.ready[name] -= jobs
                self.got[name] += jobs
                room -= jobs
                self.order.took(name, jobs, jobs == size)


def test_in_turn_the_queue_that_was_not_asked_for_longest_comes_first() -> None:
    store = Store(InTurn(), {"a": PLENTY, "b": PLENTY, "c": PLENTY})

    for _ in range(9):
        store.ask(1)

    assert store.asked == ["a", "b", "c"] * 3


def test_strictly_a_later_queue_gets_nothing_while_an_earlier_one_has_jobs() -> None:
    chance = random.Random(7)
    store = Store(Strict(["a", "b", "c"]), {"a": 0, "b": 0, "c": 0})

    for _ in range(10_000):
        store.ready[chance.choice("abc")] += chance.randrange(6)
        before, got = store.ready.copy(), store.got.copy()
        store.ask(room := chance.randrange(9))
        for name in "abc":
            assert store.got[name] - got[name] == min(before[name], room)
            room -= store.got[name] - got[name]


def test_strictly_a_queue_that_filled_its_claim_keeps_the_room_that_is_left() -> None:
    order = Strict(["a", "b"])
    order.sort(["a", "b"])

    order.took("a", 1000, more=True)
    assert order.portion("b", [], 24) == 0

    order.took("a", 20, more=False)
    assert order.portion("b", [], 4) == 4


def test_by_weight_many_free_slots_are_shared_in_one_round() -> None:
    store = Store(Weighted({"a": 5, "b": 1}), {"a": PLENTY, "b": PLENTY})
    store.ask(12)
    store.ask(12)
    store.got.clear()

    store.ask(12)

    assert store.got == {"a": 10, "b": 2}


@pytest.mark.parametrize("room", [1, 3, 8, 200])
@pytest.mark.parametrize(
    "weights", [{"a": 5, "b": 1}, {"a": 1, "b": 1}, {"a": 7, "b": 3, "c": 2}, {"a": 1000, "b": 1}]
)
def test_queues_that_always_have_jobs_share_by_their_weights(
    weights: dict[str, int], room: int
) -> None:
    store = Store(Weighted(weights), dict.fromkeys(weights, PLENTY))

    for _ in range(20_000 // room):
        store.ask(room)

    total, parts = store.got.total(), sum(weights.values())
    for name, weight in weights.items():
        assert abs(store.got[name] - total * weight / parts) <= 2 * room + len(weights)


def test_by_weight_no_queue_waits_longer_than_its_share_says_whatever_the_others_bring() -> None:
    chance = random.Random(11)
    weights = {"a": 50, "b": 5, "c": 1}
    store = Store(Weighted(weights), {"a": 0, "b": 0, "c": PLENTY})
    waited = longest = 0

    for _ in range(50_000):
        store.ready[chance.choice("ab")] += chance.choice((0, 1, 100))
        before = store.got["c"]
        store.ask(1)
        waited = waited + 1 if store.got["c"] == before else 0
        longest = max(longest, waited)

    assert longest <= 2 * sum(weights.values())
    assert store.got["a"] > store.got["b"] > store.got["c"] > 0


def test_by_weight_what_one_queue_leaves_the_others_use_in_the_same_round_or_the_next() -> None:
    store = Store(Weighted({"a": 5, "b": 1}), {"a": 2, "b": PLENTY})

    store.ask(12)
    assert store.got == {"a": 2, "b": 10}

    store.ask(12)
    assert store.got == {"a": 2, "b": 22}


def test_by_weight_a_queue_that_was_empty_for_long_has_saved_nothing_up() -> None:
    store = Store(Weighted({"a": 1, "b": 1}), {"a": PLENTY, "b": 0})
    for _ in range(1000):
        store.ask(1)
    store.ready["b"] = PLENTY
    store.got.clear()

    for _ in range(20):
        store.ask(1)

    assert store.got == {"a": 10, "b": 10}


def test_by_weight_a_queue_that_could_not_be_asked_has_saved_nothing_up() -> None:
    order = Weighted({"a": 1, "b": 1})
    for name in ("a", "b"):
        order.sort(["a", "b"])
        order.took(name, 1, more=True)
    for _ in range(100):
        order.sort(["a"])
        order.took("a", 1, more=True)

    order.sort(["a", "b"])
    order.took("b", 1, more=True)

    assert order.sort(["a", "b"])[0] == "a"


def shares(scene: Scene, ticks: int) -> Counter[str]:
    """Whose jobs ran in so many ticks that find all slots free; too long ones to be claimed ahead."""
    served: Counter[str] = Counter()
    for _ in range(ticks):
        scene.worker.tick()
        scene.clock.pass_(0.2)
        served.update(held.lease.queue for held in scene.bench.end_all())
    return served


def test_a_worker_runs_jobs_in_the_proportion_of_the_weights(scene_of: SceneOf) -> None:
    scene = scene_of("high", "low", concurrency=1, order=Weighted({"high": 5, "low": 1}))
    for queue in scene.queues:
        scene.enqueue(400, queue)

    served = shares(scene, 300)

    assert served.total() == 300
    assert abs(served["low"] - 50) <= 2


def test_a_worker_in_strict_order_empties_the_first_queue_before_it_takes_from_the_next(
    scene_of: SceneOf,
) -> None:
    scene = scene_of("high", "low", concurrency=3, order=Strict(["high", "low"]))
    high, low = scene.queues
    scene.enqueue(7, high)
    scene.enqueue(7, low)

    rounds = [shares(scene, 1) for _ in range(5)]

    assert rounds == [{"high": 3}, {"high": 3}, {"high": 1, "low": 2}, {"low": 3}, {"low": 2}]


def test_a_full_worker_gives_its_next_slot_to_a_job_of_the_first_queue_that_it_did_not_hear_of(
    scene_of: SceneOf,
) -> None:
    scene = scene_of("high", "low", concurrency=1, order=Strict(["high", "low"]))
    high, low = scene.queues
    scene.enqueue(10, low)
    scene.worker.tick()
    (job,) = scene.enqueue(1, high)

    scene.bench.end_all()
    scene.worker.tick()

    assert scene.ran == [job]


def test_a_strict_worker_with_free_slots_asks_no_queue_that_has_no_news(
    scene_of: SceneOf, proxy: CuttingProxy
) -> None:
    scene = scene_of("high", "low", concurrency=4, order=Strict(["high", "low"]))
    scene.worker.tick()
    scene.worker.tick()
    proxy.reset()

    scene.worker.tick({scene.queues[1].keys.wake})

    assert sum(runs("claim_many")(words) for words in proxy.commands) == 1


def test_a_broken_first_queue_does_not_keep_the_next_from_being_served(scene_of: SceneOf) -> None:
    scene = scene_of("high", "low", concurrency=1, order=Strict(["high", "low"]))
    high, low = scene.queues
    scene.client.set(high.keys.active, "x")
    jobs = scene.enqueue(1, low)

    scene.worker.tick()

    assert scene.ran == jobs


@pytest.mark.parametrize("strict", [True, False])
def test_queues_in_different_slots_of_a_cluster_keep_their_order(
    cluster: Cluster, strict: bool
) -> None:
    names = ("high", "low", "lowest")
    order = Strict(names) if strict else Weighted({"high": 4, "low": 2, "lowest": 1})
    client = cluster.client()
    scene = Scene(client, cluster.client(), *names, patience_s=2.0, concurrency=1, order=order)
    for queue in scene.queues:
        scene.enqueue(20, queue)

    served = shares(scene, 21)

    assert served == ({"high": 20, "low": 1} if strict else {"high": 12, "low": 6, "lowest": 3})
