"""The cases of all scripts."""

from __future__ import annotations

from tests.protocol import (
    cases_admission,
    cases_flows,
    cases_housekeeping,
    cases_lanes,
    cases_queue,
    cases_repeating,
    cases_settling,
)
from tests.protocol.cases import CASES, Case

SOURCES = (
    cases_admission,
    cases_settling,
    cases_queue,
    cases_housekeeping,
    cases_lanes,
    cases_repeating,
    cases_flows,
)
EVERY_CASE: tuple[Case, ...] = tuple(CASES)
