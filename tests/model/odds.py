"""What a rule of the machine may draw, and how often it meets trouble."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import precondition

from tests.model.lossy import Fate
from tests.model.scene import Trouble

NAMES_OF_OTHERS = (
    "nobody",
    "finish",
    "finish_plainly",
    "foreign_finish",
    "finish_in_lane",
    "hand_over",
    "reap",
    "bury",
    "collide",
    "foreign_collide",
    "restart",
)
WAYS_IN = ("now", "now", "now", "in nothing", "in an hour", "at a past instant", "at a far instant")
PAST, FAR = datetime(1971, 1, 1, tzinfo=UTC), datetime(2090, 1, 1, tzinfo=UTC)

Rule = TypeVar("Rule", bound=Callable[..., None])

picks = st.integers(0, 8)
sides = st.integers(0, 1)
crew = st.integers(0, 2)
fates = st.sampled_from((*Fate, Fate.LOST_REPLY))
blows = st.tuples(fates, st.sampled_from(NAMES_OF_OTHERS))
patience = st.sampled_from((True, True, False))
troubles = st.one_of(
    st.just(Trouble()),
    st.builds(Trouble, st.lists(blows, min_size=1, max_size=2).map(tuple), patience),
)
delays = st.sampled_from((timedelta(), timedelta(hours=1)))


def holding(*sets: str) -> Callable[[Rule], Rule]:
    """A rule that is worth taking when one of these sets has a member."""
    return precondition(lambda self: any(map(self.scene.truth.of, sets)))
