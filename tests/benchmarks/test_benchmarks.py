from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import results
from benchmarks.__main__ import main
from benchmarks.contender import Contender
from benchmarks.contenders import CONTENDERS, OURS, RAW
from benchmarks.questions import QUESTIONS
from tests.servers.engines import DEFAULT

OWN = ("echomq", "echomq-service", "raw", "blpop")


@pytest.mark.part(DEFAULT)
def test_every_question_gets_its_numbers_from_every_contender_of_this_project(
    tmp_path: Path,
) -> None:
    code = main(["--scale", "0.02", "--rounds", "1", "--folder", str(tmp_path), "--peers", *OWN])

    (kept,) = tmp_path.glob("*.json")
    found = results.read(kept)
    assert (code, found.failures) == (0, [])
    for question in QUESTIONS:
        asked = {one.name for one in CONTENDERS if question.family in one.questions} & set(OWN)
        for row in question.rows:
            told = found.told(question, row)
            assert set(told) == ({OURS} if "check" in row.name else asked)
            assert all(number >= 0 for number in told.values())


def test_a_contender_that_is_not_installed_takes_no_part() -> None:
    absent = Contender(
        name="absent", title="", note="", module="", packages=("no-such-package-anywhere",)
    )

    assert not absent.installed
    assert next(one for one in CONTENDERS if one.name == RAW).installed


def test_a_percentile_lies_between_its_neighbours() -> None:
    assert results.percentile([4.0, 1.0, 3.0, 2.0], 50) == 2.5
    assert results.percentile([1.0], 99) == 1.0
    assert results.percentile(map(float, range(101)), 99) == 99.0
