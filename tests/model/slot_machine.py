"""A Hypothesis state machine over schedules: many schedulers, stale eyes, edits in between, losses."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.model.lossy import Fate
from tests.model.odds import patience
from tests.model.scene import Trouble
from tests.model.slot_scene import NAMES, Seen, SlotScene
from tests.model.tally import Tally
from tests.servers.server import Server

OTHERS = (
    "nobody",
    "rival_fires",
    "rival_edits",
    "rival_begins_anew",
    "an_hour_passes",
    "jobs_run",
)
crew = st.integers(0, 2)
picks = st.integers(0, 5)
names = st.sampled_from(NAMES)
skews = st.sampled_from((0, 0, 0, -1, 1))
troubles = st.one_of(
    st.just(Trouble()),
    st.builds(
        Trouble,
        st.lists(
            st.tuples(st.sampled_from((*Fate, Fate.LOST_REPLY)), st.sampled_from(OTHERS)),
            min_size=1,
            max_size=2,
        ).map(tuple),
        patience,
    ),
)


class SlotMachine(RuleBasedStateMachine):
    def __init__(self, server: Server, tally: Tally) -> None:
        super().__init__()
        self.scene = SlotScene(server.client())
        self.tally = tally
        self.tally.examples += 1
        self.tally.steps = 0

    def teardown(self) -> None:
        self.scene.close()

    @invariant()
    def the_registry_is_as_it_must_be(self) -> None:
        self.tally.steps += 1
        scene, truth = self.scene, self.scene.truth
        scores = scene.client.zrange(scene.keys.slots, 0, -1, withscores=True)
        assert {name.decode(): scene.slot_at(due) for name, due in scores} == truth.due
        for name, standing in truth.stands.items():
            record = scene.client.hgetall(scene.keys.slot(name))
            assert record[b"template"].decode() == standing.template
            assert truth.writings[record[b"revision"].decode()] is standing
        kept = set(scene.client.keys(scene.keys.slot("*")))
        assert kept == {scene.keys.slot(name).encode() for name in truth.stands}

    def remembered(self, scheduler: int, pick: int) -> Seen | None:
        memory = self.scene.memory[scheduler]
        return memory[-1 - pick % len(memory)] if memory else None

    @rule(scheduler=crew)
    def look(self, scheduler: int) -> None:
        scene = self.scene
        scene.memory[scheduler] = scene.seen(scene.schedulers[scheduler])

    def write(
        self, scheduler: int, name: str, due: int, seen: Seen | None, trouble: Trouble
    ) -> None:
        scene = self.scene
        written = scene.write(scene.schedulers[scheduler], name, due, seen, trouble)
        if written is not None:
            scene.memory[scheduler].append(written)

    @rule(scheduler=crew, name=names, ahead=st.integers(-2, 1), trouble=troubles)
    def create(self, scheduler: int, name: str, ahead: int, trouble: Trouble) -> None:
        self.write(scheduler, name, self.scene.truth.now + ahead, None, trouble)

    @precondition(lambda self: any(self.scene.memory))
    @rule(scheduler=crew, pick=picks, later=st.integers(0, 2), trouble=troubles)
    def edit(self, scheduler: int, pick: int, later: int, trouble: Trouble) -> None:
        seen = self.remembered(scheduler, pick)
        if seen is not None:
            self.write(scheduler, seen.name, seen.due + later, seen, trouble)

    @precondition(lambda self: any(self.scene.memory))
    @rule(scheduler=crew, pick=picks, blindly=st.booleans(), trouble=troubles)
    def remove(self, scheduler: int, pick: int, blindly: bool, trouble: Trouble) -> None:
        scene, seen = self.scene, self.remembered(scheduler, pick)
        if seen is not None:
            slots, revision = scene.schedulers[scheduler], "" if blindly else seen.revision
            scene.attempt(slots, trouble, lambda: slots.remove(seen.name, revision))

    @precondition(lambda self: any(self.scene.memory))
    @rule(scheduler=crew, pick=picks, skew=skews, every=st.booleans(), trouble=troubles)
    def fire(self, scheduler: int, pick: int, skew: int, every: bool, trouble: Trouble) -> None:
        scene, seen = self.scene, self.remembered(scheduler, pick)
        if seen is not None:
            slots = scene.schedulers[scheduler]
            scene.fire(slots, seen, skew=skew, every=every, trouble=trouble)

    @rule(hours=st.integers(1, 2))
    def time_passes(self, hours: int) -> None:
        for _ in range(hours):
            self.scene.an_hour_passes()

    @rule()
    def others_edit(self) -> None:
        self.scene.rival_edits()

    @rule()
    def others_begin_anew(self) -> None:
        self.scene.rival_begins_anew()

    @rule()
    def jobs_run(self) -> None:
        self.scene.jobs_run()

    @precondition(lambda self: self.scene.late)
    @rule()
    def a_late_packet_arrives(self) -> None:
        self.scene.deliver_late()
