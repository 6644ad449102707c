"""Schedulers and editors around one queue's schedules on a real server, each with eyes of its own.

The server's clock is real. Hours pass because everything that holds a time moves an hour into the
past: the registry, the packets in flight. What people have seen is counted in slots and stays.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

import redis

from echomq_app.protocol import calls, replies
from echomq_app.protocol.errors import ConnectionLost
from echomq_app.protocol.ids import Minter
from echomq_app.protocol.keyspace import QueueKeys
from echomq_app.protocol.replies import Slot
from echomq_app.protocol.script import every_verb, script
from echomq_app.protocol.states import SlotFiring
from echomq_app.service.queue import Queue, new_label
from echomq_app.service.slots import Firing, Slots
from echomq_app.wire.exchange import Command
from tests.model.lossy import Blow, LossyWire
from tests.model.scene import LEASE, RECEIPT_MS, Trouble
from tests.model.slot_truth import SlotTruth

T = TypeVar("T")
QUEUE: Final = "slots"
HOUR_MS: Final = 3_600_000
NAMES: Final = ("daily", "weekly")
TIMES: Final = {"slot_write": (3, 5), "slot_fire": (1, 3, 4), "slot_remove": ()}
"""Which arguments of a script are times."""


class Seen(NamedTuple):
    """A schedule as somebody saw it; ``due`` is counted in slots."""

    name: str
    due: int
    revision: str
    template: str


class SlotScene:
    def __init__(self, client: redis.Redis) -> None:
        self.client: Any = client
        client.flushall()
        self.keys = QueueKeys(QUEUE)
        self.truth = SlotTruth()
        self.late: list[Command] = []
        self.serial = 0
        self._verbs = {script(verb).sha: verb for verb in every_verb()}
        for verb in every_verb():
            client.script_load(script(verb).text)
        self.schedulers = [self._slots() for _ in range(3)]
        self.rival = self._slots()
        self.worker = Queue(LossyWire(client, self.heard, []), QUEUE)
        self.memory: list[list[Seen]] = [[] for _ in self.schedulers]
        seconds, _ = client.time()
        self.zero_ms = int(seconds) * 1000 - HOUR_MS // 2

    def _slots(self) -> Slots:
        """Any two of these mint the very same ids."""
        minter = Minter(node=1, clock=lambda: 1_750_000_000.0, spread=0)
        return Slots(LossyWire(self.client, self.heard, self.late), QUEUE, minter=minter)

    def close(self) -> None:
        self.client.close()

    def count(self) -> int:
        self.serial += 1
        return self.serial

    def ms(self, slot: int) -> int:
        return self.zero_ms + slot * HOUR_MS

    def slot_at(self, ms: Any) -> int | None:
        if ms in ("", b""):
            return None
        slot, rest = divmod(int(ms) - self.zero_ms, HOUR_MS)
        assert rest == 0, f"{ms} is no slot"
        return slot

    def _verb(self, command: Command) -> str:
        return self._verbs.get(str(command[1]), "") if command[0] == "EVALSHA" else ""

    def heard(self, command: Command, reply: Any) -> None:
        """Let the truth execute a script, and hold the reply, and the job, against it."""
        verb = self._verb(command)
        if verb not in TIMES or isinstance(reply, redis.exceptions.NoScriptError):
            return
        words = [replies.text(word) for word in command[3 + int(command[2]) :]]
        told: list[Any] = [
            self.slot_at(word) if place in TIMES[verb] else word for place, word in enumerate(words)
        ]
        if verb == "slot_fire":
            told[5] = told[5] == "1"
            if reply == 1:
                job = json.loads(words[7])
                self.truth.ran(words[0], job["template"], job["slot"])
        must = self.truth.answers(verb, told)
        assert reply == must, f"{verb}{told} answered {reply}, and must answer {must}"

    def attempt(self, slots: Slots, trouble: Trouble, act: Callable[[], T]) -> T | ConnectionLost:
        """What a verb answers, or the loss that it names."""
        wire = slots.wire
        assert isinstance(wire, LossyWire)
        blows = [Blow(fate, getattr(self, name, None)) for fate, name in trouble.blows]
        wire.brace(blows, patient=trouble.patient)
        try:
            return act()
        except ConnectionLost as lost:
            failure = lost
        finally:
            wire.brace((), patient=True)
        assert trouble.blows, f"a connection was lost that nobody cut: {failure}"
        return failure

    def an_hour_passes(self) -> None:
        self.truth.now += 1
        self.zero_ms -= HOUR_MS
        for name, score in self.client.zrange(self.keys.slots, 0, -1, withscores=True):
            self.client.zadd(self.keys.slots, {name: score - HOUR_MS})
        self.late[:] = [self._an_hour_ago(command) for command in self.late]

    def _an_hour_ago(self, command: Command) -> Command:
        times = TIMES.get(self._verb(command), ())
        places = [3 + int(command[2]) + place for place in times]
        return tuple(
            int(word) - HOUR_MS if place in places and word != "" else word
            for place, word in enumerate(command)
        )

    def deliver_late(self) -> None:
        command = self.late.pop(0)
        self.heard(command, self.client.execute_command(*command))

    def seen(self, slots: Slots) -> list[Seen]:
        """What is due, as it stands; the read is held against the truth."""
        found = [
            Seen(one.name, self.slot_at(one.due_ms) or 0, one.revision, one.template.decode())
            for one in slots.due().slots
        ]
        assert [tuple(one) for one in found] == self.truth.due_now()
        return found

    def slot(self, seen: Seen) -> Slot:
        return Slot(seen.name, self.ms(seen.due), seen.revision, seen.template.encode())

    def fire(
        self, slots: Slots, seen: Seen, *, skew: int = 0, every: bool = False, trouble: Trouble
    ) -> None:
        """Fire what was seen by a clock that is ``skew`` hours ahead."""
        last = seen.due if every else self.truth.now + skew
        job = {"template": seen.template, "slot": last, "meta": {"nonce": f"n{self.count()}"}}
        raw = json.dumps(job).encode()

        def act() -> Firing:
            return slots.fire(
                self.slot(seen),
                raw,
                last_ms=self.ms(last),
                next_ms=self.ms(last + 1),
                every_missed=every,
            )

        outcome = self.attempt(slots, trouble, act)
        if isinstance(outcome, Firing) and outcome.verdict is SlotFiring.FIRED:
            assert self.truth.known_ids[str(outcome.job_id)] == raw.decode(), "another's job"

    def write(
        self, slots: Slots, name: str, due: int, seen: Seen | None, trouble: Trouble
    ) -> Seen | None:
        """Write over what was seen; what the writer then believes to stand there."""
        template = f"template {self.count()}"
        before = None if seen is None else self.slot(seen)
        outcome = self.attempt(
            slots, trouble, lambda: slots.write(name, template.encode(), self.ms(due), before)
        )
        if not isinstance(outcome, Slot):
            return None
        assert outcome.revision in self.truth.writings, f"{outcome} was never written"
        return Seen(name, due, outcome.revision, template)

    def rival_fires(self) -> None:
        """Another scheduler looks, and fires all that it sees."""
        for one in self.seen(self.rival):
            self.fire(self.rival, one, trouble=Trouble())

    def rival_edits(self) -> None:
        """Somebody gives whatever is due another template."""
        for one in self.seen(self.rival):
            self.write(self.rival, one.name, one.due, one, Trouble())

    def rival_begins_anew(self) -> None:
        """Somebody removes what is due, and writes it again as it was due."""
        for one in self.seen(self.rival):
            self.rival.remove(one.name, one.revision)
            self.write(self.rival, one.name, one.due, None, Trouble())

    def jobs_run(self) -> None:
        """Workers run what was admitted; receipts stay."""
        for held in self.worker.claim_many(LEASE, 1000, new_label()):
            mark = json.loads(held.payload)["meta"]["nonce"]
            self.worker.complete(held, calls.Retention(mark=mark, receipt_ms=RECEIPT_MS))
